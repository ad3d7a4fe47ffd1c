//! What `doctor` finds in the profiles of installed browsers, and in the folders of the extension.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tabwire_tests::{Relay, StartOptions};

use super::Findings;
use crate::machine::Machine;

/// The folder that `install-extension` writes to by default.
fn installed(machine: &Machine, options: &[&str]) -> PathBuf {
    let exit = machine.run(&[&["install-extension"], options].concat());
    assert_eq!(exit.code, Some(0), "{exit:?}");
    machine.path("Tabwire Extension")
}

fn findings(machine: &Machine) -> Findings {
    Findings::of(machine, &machine.home(), &[])
}

#[test]
fn says_in_which_profile_the_extension_is_loaded() {
    let machine = Machine::new();
    let folder = installed(&machine, &[]);
    machine.load_extension(&folder, &json!({}));
    let findings = findings(&machine);
    let loaded = "The extension is loaded in chromium, profile Work, but";
    findings.expect("note", &format!("{loaded} that browser is not running."));
    findings.expect("note", "bin/chromium' --profile-directory='Profile 1'`");
}

#[test]
fn says_why_the_extension_is_switched_off() {
    let machine = Machine::new();
    let folder = installed(&machine, &[]);
    for (reason, text) in [
        (1, "it is switched off. Turn it on at chrome://extensions."),
        (1 << 24, "because Developer mode is off there"),
        (1 << 16, "a policy has switched it off"),
    ] {
        machine.load_extension(&folder, &json!({ "disable_reasons": [reason] }));
        findings(&machine).expect("problem", text);
    }
}

#[test]
fn finds_an_extension_that_is_not_paired_or_gone() {
    let machine = Machine::new();
    let folder = machine.path("copy");
    machine.load_extension(&folder, &json!({}));
    let gone = findings(&machine);
    gone.expect("problem", "copy is gone");
    gone.expect("problem", "tabwire install-extension --to '");
    // It belongs to another home.
    let other = machine.path("other");
    let install = ["install-extension", "--to", folder.to_str().unwrap()];
    machine.run_in(&other, &install);
    findings(&machine).expect("problem", "it is not paired with this home's relay");
    machine.run(&install);
    findings(&machine).expect_none("not paired");
}

fn set_version(folder: &std::path::Path, version: &str) {
    let file = folder.join("manifest.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["version"] = json!(version);
    fs::write(file, manifest.to_string()).unwrap();
}

#[test]
fn finds_a_folder_with_another_version() {
    let machine = Machine::new();
    let folder = installed(&machine, &["--port", "4321"]);
    set_version(&folder, "0.0.9");
    let older = findings(&machine);
    older.expect("note", "has version 0.0.9 of the extension");
    older.expect("note", "`tabwire install-extension --port 4321`");
    set_version(&folder, "999.0");
    findings(&machine).expect("note", "newer than this `tabwire`");
    let fixed = Findings::of(&machine, &machine.home(), &["--fix"]);
    fixed.expect("note", "newer than this `tabwire`");
}

#[tokio::test]
async fn finds_an_extension_that_connects_to_another_port() {
    let relay = Relay::start_with(StartOptions::default()).await;
    let machine = Machine::new();
    let port = relay.port.wrapping_add(1).max(1024);
    let port = port.to_string();
    let install = ["install-extension", "--port", &port];
    machine.run_in(&relay.home(), &install);
    let findings = Findings::of(&machine, &relay.home(), &[]);
    findings.expect("problem", &format!("connects to port {port}"));
    findings.expect("problem", &format!("--port {}`", relay.port));
}
