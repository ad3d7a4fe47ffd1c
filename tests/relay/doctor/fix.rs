//! `tabwire doctor --fix`: what it repairs, and what it leaves alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire_tests::{Relay, StartOptions, until};

use super::{Findings, doctor};
use crate::machine::{Machine, listen_in};

fn fix(machine: &Machine, home: &Path) -> Findings {
    Findings::of(machine, home, &["--fix"])
}

#[test]
fn removes_the_files_of_a_killed_relay() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let home = machine.home();
    fs::write(home.join("state.json"), r#"{"port":1,"pid":1}"#).unwrap();
    fs::write(home.join("cdp-url"), "ws://127.0.0.1:1/cdp?token=x").unwrap();
    let exit = doctor(&machine, &home, &[]);
    let advice = "Run `tabwire doctor --fix` to repair what can be repaired safely.\n";
    assert!(exit.stdout.ends_with(advice), "{exit:?}");
    assert!(
        home.join("cdp-url").exists(),
        "nothing changes without --fix"
    );
    fix(&machine, &home).expect("fixed", "Removed");
    for name in ["state.json", "cdp-url"] {
        assert!(!home.join(name).exists(), "{name}");
    }
    fix(&machine, &home).expect_none("Removed");
}

#[tokio::test]
async fn leaves_the_files_of_a_running_relay_alone() {
    let relay = Relay::start(&[]).await;
    fix(&Machine::new(), &relay.home()).expect("ok", "The relay on port");
    for name in ["state.json", "cdp-url"] {
        assert!(relay.home().join(name).exists(), "{name}");
    }
}

/// A process that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn removes_temporary_folders_that_no_browser_uses() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let temporary = machine.home().join("temporary");
    let profile = |name: &str| temporary.join(name).join("profile");
    for name in ["browser-a", "browser-b"] {
        fs::create_dir_all(profile(name)).unwrap();
    }
    let precious = machine.path("precious");
    fs::write(&precious, "years").unwrap();
    symlink(&precious, profile("browser-b").join("link")).unwrap();
    let browser = Running(Command::new("sleep").arg("600").spawn().unwrap());
    let uname = rustix::system::uname();
    let lock = format!("{}-{}", uname.nodename().to_str().unwrap(), browser.0.id());
    symlink(lock, profile("browser-a").join("SingletonLock")).unwrap();
    let _listener = listen_in(&profile("browser-a"));
    let findings = fix(&machine, &machine.home());
    findings.expect(
        "note",
        &format!("still running (process {})", browser.0.id()),
    );
    findings.expect("fixed", "browser-b");
    assert!(profile("browser-a").exists() && !profile("browser-b").exists());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years");
    drop(browser);
    fix(&machine, &machine.home()).expect("fixed", "browser-a");
    fix(&machine, &machine.home()).expect_none("browser-a");
}

/// The next relay removes nothing of it either.
#[tokio::test]
async fn removes_nothing_that_others_put_among_temporary_folders() {
    let relay = Relay::start(&[]).await;
    let (machine, home, shared) = (Machine::new(), relay.home(), relay.shared_home());
    relay.stop(Signal::TERM).await;
    let temporary = home.join("temporary");
    fs::create_dir_all(temporary.join("mydata")).unwrap();
    fs::write(temporary.join("notes"), "years").unwrap();
    let findings = fix(&machine, &home);
    findings.expect_none("mydata");
    findings.expect_none("notes");

    let left = temporary.join("browser-left");
    fs::create_dir(&left).unwrap();
    let relay = Relay::start_with(StartOptions {
        home: Some(shared.clone()),
        ..StartOptions::default()
    });
    let relay = relay.await;
    until("what is left is removed", async || {
        (!left.exists()).then_some(())
    })
    .await;
    relay.stop(Signal::TERM).await;

    let documents = machine.path("documents");
    fs::rename(&temporary, &documents).unwrap();
    fs::create_dir(documents.join("browser-thesis")).unwrap();
    symlink(&documents, &temporary).unwrap();
    fix(&machine, &home).expect_none("thesis");
    for name in ["mydata", "notes", "browser-thesis"] {
        assert!(documents.join(name).exists(), "{name}");
    }
}

#[test]
fn replaces_a_token_that_cannot_be_used() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let file = machine.home().join("auth-token");
    fs::write(&file, "short").unwrap();
    let before = Findings::of(&machine, &machine.home(), &[]);
    before.expect("problem", "does not contain a token");
    fix(&machine, &machine.home()).expect("fixed", "Replaced");
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!(token.len(), 43);
    fix(&machine, &machine.home()).expect("ok", "The token is usable");
    assert_eq!(fs::read_to_string(&file).unwrap(), token, "it stays");

    let precious = machine.path("precious");
    fs::write(&precious, "years").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&precious, &file).unwrap();
    fix(&machine, &machine.home()).expect("fixed", "Replaced");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years");
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
}

/// What is neither a file nor a link was not made by Tabwire, and a relay handles its own token.
#[tokio::test]
async fn leaves_a_foreign_or_used_token_alone() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let file = machine.home().join("auth-token");
    fs::create_dir(&file).unwrap();
    fix(&machine, &machine.home()).expect("problem", "not a regular file");
    assert!(file.is_dir());

    let relay = Relay::start_with(StartOptions::default()).await;
    let file = relay.home().join("auth-token");
    fs::write(&file, "short").unwrap();
    fix(&machine, &relay.home()).expect("problem", "does not contain a token");
    assert_eq!(fs::read_to_string(&file).unwrap(), "short");
}

#[test]
fn rewrites_an_older_extension_with_its_own_secret_and_port() {
    let machine = Machine::new();
    machine.run(&["install-extension", "--port", "4321", "--no-welcome"]);
    let folder = machine.path("Tabwire Extension");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let pairing = read("pairing.json");
    let mut manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
    manifest["version"] = json!("0.0.9");
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(folder.join("popup.js"), "old").unwrap();
    let findings = fix(&machine, &machine.home());
    findings.expect("fixed", "Wrote version");
    findings.expect("fixed", "Reload the extension");
    assert_ne!(read("popup.js"), "old");
    assert_eq!(read("pairing.json"), pairing);
    fix(&machine, &machine.home()).expect_none("Wrote version");

    // A folder that another home has taken over is not this home's.
    manifest["version"] = json!("0.0.9");
    let other = machine.path("other");
    machine.run_in(
        &other,
        &["install-extension", "--to", folder.to_str().unwrap()],
    );
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fix(&machine, &machine.home()).expect("note", "It was not repaired");
}
