//! Profiles that are open already: their browser is used as it is, and nobody gets another one in its
//! place unless the user wants that.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tabwire_home::control::{self, LaunchOptions, Ownership, ProfileChoice};
use tabwire_home::{Home, Secret};
use tabwire_tests::{
    EXTENSION_ID, Installation, Relay, ScriptedBrowser, ScriptedExtension, http, tab, until, within,
};

use crate::launching::{Program, token};
use crate::machine::{Machine, listen_in};

/// A browser that has a profile open, and is not a child of the relay.
struct Opened {
    profile: PathBuf,
    process: Child,
    _listener: UnixListener,
}

impl Opened {
    fn new(profile: PathBuf) -> Self {
        Self::with(profile, "--no-first-run")
    }

    fn with(profile: PathBuf, argument: &str) -> Self {
        fs::create_dir_all(&profile).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "read line", "sh", argument]);
        let process = command.stdin(Stdio::piped()).spawn().unwrap();
        let arguments = format!("/proc/{}/cmdline", process.id());
        // The kernel shows them a moment later.
        while !fs::read_to_string(&arguments).unwrap().contains(argument) {
            std::thread::yield_now();
        }
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
        let profile = program.machine.path("profile");
        let opened = Opened::with(profile, "--remote-debugging-pipe");
        // Nobody listens there any more.
        opened.has_port(1);
        let options = options(&program, opened.profile.clone(), direct);
        let (port, token) = (relay.port, token(&relay));
        let outcome = tokio::spawn(async move { control::launch(port, &token, &options).await });
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!outcome.is_finished(), "{:?}", outcome.await);
        assert!(program.pids().is_empty());
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

/// Writes the extension for the relay of this home. Returns its secret.
fn install_extension(machine: &Machine, home: &Path, folder: &Path) -> Secret {
    let exit = machine.run_in(
        home,
        &["install-extension", "--to", folder.to_str().unwrap()],
    );
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let text = fs::read_to_string(folder.join("pairing.json")).unwrap();
    let pairing: Value = serde_json::from_str(&text).unwrap();
    Secret::parse(pairing["secret"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn browser_of_the_user_is_used_with_the_extension_that_it_has() {
    let relay = Relay::start(&[]).await;
    let program = Program::new("sleep 600 & wait");
    let folder = program.machine.path("extension");
    let secret = install_extension(&program.machine, &relay.home(), &folder);
    program.machine.load_extension(&folder, &json!({}));
    let opened = Opened::new(program.machine.path("ann/.config/chromium"));
    let options = options(&program, opened.profile.clone(), false);
    let (port, token) = (relay.port, token(&relay));
    let launching = tokio::spawn(async move { control::launch(port, &token, &options).await });
    let own = Installation {
        install_id: String::new(),
        secret,
    };
    let _extension =
        ScriptedExtension::open_as(&relay, &own.with_id(1), EXTENSION_ID, &[tab(1)]).await;
    let report = within("it is joined", launching).await.unwrap().unwrap();
    let found = (report.ownership, report.pid, report.tabs);
    assert_eq!(found, (Ownership::Attached, opened.process.id(), 1));
    let pairings = Home::open_at(relay.home()).unwrap().pairings().unwrap();
    assert_eq!(
        pairings.folders().collect::<Vec<_>>(),
        [folder.canonicalize().unwrap()]
    );
    assert!(program.pids().is_empty());
}

#[tokio::test]
async fn launch_fails_at_once_if_the_browser_that_has_the_profile_cannot_be_used() {
    let relay = Relay::start(&[]).await;
    let program = Program::new("sleep 600 & wait");
    let machine = &program.machine;
    let opened = Opened::new(machine.path("ann/.config/chromium"));
    let options = options(&program, opened.profile.clone(), false);
    let [own, other] = ["own", "other"].map(|name| machine.path(name));
    let launch = async || {
        let started = Instant::now();
        let outcome = control::launch(relay.port, &token(&relay), &options).await;
        assert!(started.elapsed() < Duration::from_secs(5), "at once");
        outcome.unwrap_err().to_string()
    };
    let error = launch().await;
    assert!(error.contains("without the Tabwire extension"), "{error}");
    install_extension(machine, &relay.home(), &own);
    machine.load_extension(&own, &json!({ "disable_reasons": [1] }));
    let error = launch().await;
    assert!(error.contains("is switched off"), "{error}");
    install_extension(machine, &machine.home(), &other);
    machine.load_extension(&other, &json!({}));
    let error = launch().await;
    assert!(
        error.contains("is not paired with this relay. Pair it with"),
        "{error}"
    );
    let pairings = Home::open_at(relay.home()).unwrap().pairings().unwrap();
    assert_eq!(
        pairings.folders().collect::<Vec<_>>(),
        [own.canonicalize().unwrap()]
    );
    assert!(program.pids().is_empty());
}
