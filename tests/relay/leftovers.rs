//! The temporary profiles of launched browsers, when relays are killed or share a home. The browser
//! is a script that never gets ready.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use tabwire_tests::{Relay, StartOptions, until};

use crate::launching::{Launching, temporary_folders};

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
    let doctor = browser.program.machine.run_in(&home, &["doctor", "--fix"]);
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
