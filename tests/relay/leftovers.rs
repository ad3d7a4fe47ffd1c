//! The temporary profiles of launched browsers, when relays are killed or share a home. The browser
//! is a script that never gets ready.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tabwire_home::control::{self, LaunchOptions, ProfileChoice};
use tabwire_home::{Home, Token};
use tabwire_tests::{Relay, StartOptions, until};

use crate::machine::Machine;

/// A relay's browser that is being launched.
struct Launching {
    pid: u32,
    /// Has the browser's program.
    machine: Machine,
}

impl Launching {
    async fn start(relay: &Relay) -> Self {
        let machine = Machine::new();
        let file = machine.path("pid");
        let script = format!("echo $$ > {}; sleep 600 & wait", file.display());
        let options = LaunchOptions {
            browser: Some(machine.program("browser", &script).display().to_string()),
            profile: ProfileChoice::Temporary,
            headless: true,
            ..LaunchOptions::default()
        };
        let token = Token::load(&Home::open_at(relay.home()).unwrap()).unwrap();
        let port = relay.port;
        tokio::spawn(async move { control::launch(port, &token, &options).await });
        let pid = until("the browser runs", async || {
            let text = fs::read_to_string(&file).ok()?;
            text.strip_suffix('\n')?.parse().ok()
        })
        .await;
        until("the relay has noted its process", async || {
            let folders = temporary_folders(&relay.home());
            let mut files = folders.iter().map(|folder| folder.join("process.json"));
            files.any(|file| file.exists()).then_some(())
        })
        .await;
        Self { pid, machine }
    }

    /// A process that has exited is not running, even if nobody has waited for it.
    fn is_running(&self) -> bool {
        let state = Command::new("ps")
            .args(["-o", "stat=", "-p", &self.pid.to_string()])
            .output()
            .unwrap()
            .stdout;
        !state.is_empty() && !state.starts_with(b"Z")
    }
}

fn temporary_folders(home: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.join("temporary")).into_iter().flatten();
    folders.map(|folder| folder.unwrap().path()).collect()
}

async fn until_nothing_is_left(browser: &Launching, home: &Path) {
    until("nothing is left of the browser", async || {
        (!browser.is_running() && temporary_folders(home).is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn relay_killed_before_its_browser_is_ready_leaves_none_behind() {
    let relay = Relay::start(&[]).await;
    let browser = Launching::start(&relay).await;
    assert_eq!(temporary_folders(&relay.home()).len(), 1);
    let stopped = relay.stop(Signal::KILL).await;
    until_nothing_is_left(&browser, &stopped.home).await;
}

#[tokio::test]
async fn doctor_and_the_next_relay_leave_the_browsers_of_a_second_one_alone() {
    let first = Relay::start(&[]).await;
    let sharing = || StartOptions {
        home: Some(first.shared_home()),
        ..StartOptions::default()
    };
    let second = Relay::start_with(sharing()).await;
    let browser = Launching::start(&second).await;
    let (third, home) = (sharing(), first.home());
    first.stop(Signal::TERM).await;
    let doctor = browser.machine.run_in(&home, &["doctor", "--fix"]);
    assert!(!doctor.stdout.contains("temporary"), "{doctor:?}");
    let third = Relay::start_with(third).await;
    let state = fs::read_to_string(home.join("state.json")).unwrap();
    assert!(
        state.contains(&third.port.to_string()),
        "it owns the home: {state}"
    );
    assert!(browser.is_running());
    assert_eq!(temporary_folders(&home).len(), 1);
    second.stop(Signal::KILL).await;
    until_nothing_is_left(&browser, &home).await;
}
