//! Profiles that are open already: their browser is used as it is, and nobody gets another one in its
//! place unless the user wants that.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use tabwire_home::control::{self, LaunchOptions, Ownership, ProfileChoice};
use tabwire_tests::{Relay, ScriptedBrowser, http, until};

use crate::launching::{Program, token};
use crate::machine::listen_in;

/// A browser that has a profile open, and is not a child of the relay.
struct Opened {
    profile: PathBuf,
    process: Child,
    _listener: UnixListener,
}

impl Opened {
    fn new(profile: PathBuf) -> Self {
        fs::create_dir_all(&profile).unwrap();
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let lock = format!("{}-{}", host.trim(), process.id());
        symlink(lock, profile.join("SingletonLock")).unwrap();
        Self {
            _listener: listen_in(&profile),
            profile,
            process,
        }
    }

    fn has_port(&self, port: u16) {
        let text = format!("{port}\n/devtools/browser/0b1c");
        fs::write(self.profile.join("DevToolsActivePort"), text).unwrap();
    }

    /// The browser exits.
    fn exit(self) {
        drop(self);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn options(program: &Program, profile: PathBuf, direct: bool) -> LaunchOptions {
    LaunchOptions {
        browser: Some(program.path.display().to_string()),
        profile: ProfileChoice::Folder(profile),
        headless: true,
        direct,
        ..LaunchOptions::default()
    }
}

#[tokio::test]
async fn browser_that_is_just_exiting_is_launched_when_it_has() {
    for direct in [false, true] {
        let relay = Relay::start(&[]).await;
        let program = Program::new("sleep 600 & wait");
        let opened = Opened::new(program.machine.path("profile"));
        // Nobody listens there any more.
        opened.has_port(1);
        let options = options(&program, opened.profile.clone(), direct);
        let (port, token) = (relay.port, token(&relay));
        let outcome = tokio::spawn(async move { control::launch(port, &token, &options).await });
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(program.pids().is_empty() && !outcome.is_finished());
        opened.exit();
        until("the browser is launched", async || {
            program.pids().first().copied()
        })
        .await;
        outcome.abort();
    }
}

#[tokio::test]
async fn client_does_not_launch_a_browser_that_the_user_had_opened() {
    let relay = Relay::start(&[]).await;
    let program = Program::new("sleep 600 & wait");
    let opened = Opened::new(program.machine.path("profile"));
    let browser = ScriptedBrowser::start().await;
    opened.has_port(browser.port);
    let options = options(&program, opened.profile.clone(), true);
    let (port, token) = (relay.port, token(&relay));
    let joined = control::launch(port, &token, &options).await.unwrap();
    assert_eq!(joined.ownership, Ownership::Attached);
    opened.exit();
    browser.stop().await;
    let authorization = format!("Bearer {}", relay.token());
    let headers = [("Authorization", authorization.as_str())];
    let response = http::get(relay.port, "/json/version", &headers).await;
    assert_eq!(response.status, 503);
    assert!(response.body.contains("was closed"), "{}", response.body);
    assert!(program.pids().is_empty());
    let launching = tokio::spawn(async move { control::launch(port, &token, &options).await });
    program.until_started().await;
    launching.abort();
}
