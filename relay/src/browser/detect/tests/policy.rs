//! What the policy files of faked machines forbid. The expected effects are those that Chromium 156
//! showed with the same policies.

use serde_json::{Value, json};

use super::Machine;
use crate::browser::bundle::EXTENSION_ID;
use crate::browser::detect::catalog::{Kind, Package};
use crate::browser::detect::{Effect, restrictions};

const CHROMIUM: &str = "etc/chromium/policies/managed";

fn effects(machine: &Machine, kind: Kind) -> Vec<(Effect, &'static str)> {
    let found = restrictions(&machine.environment, kind, Package::Native);
    found.iter().map(|own| (own.effect, own.policy)).collect()
}

/// The effects of one policy.
fn effect(policy: &Value) -> Vec<Effect> {
    let machine = Machine::linux();
    machine.write(&format!("{CHROMIUM}/test.json"), &policy.to_string());
    let found = effects(&machine, Kind::Chromium).into_iter();
    found.map(|(effect, _)| effect).collect()
}

#[test]
fn recognizes_what_stops_the_extension() {
    let all = json!({ "installation_mode": "blocked" });
    let own = json!({ "installation_mode": "allowed" });
    let list = format!("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,{EXTENSION_ID}");
    let debugger = json!({ "blocked_permissions": ["debugger"] });
    let usb = json!({ "blocked_permissions": ["usb"] });
    for (policy, expected) in [
        (
            json!({ "ExtensionInstallBlocklist": ["*"] }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionInstallBlocklist": [EXTENSION_ID] }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionInstallBlocklist": ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] }),
            None,
        ),
        (
            json!({ "ExtensionInstallBlocklist": ["*"], "ExtensionInstallAllowlist": [EXTENSION_ID] }),
            Some(Effect::Loading),
        ),
        (
            json!({ "ExtensionSettings": { "*": all } }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionSettings": { "*": all, EXTENSION_ID: own } }),
            Some(Effect::Loading),
        ),
        (
            json!({ "ExtensionSettings": { list: all } }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionSettings": { EXTENSION_ID: { "installation_mode": "removed" } } }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionSettings": { "*": debugger } }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionSettings": { EXTENSION_ID: debugger } }),
            Some(Effect::Extension),
        ),
        (json!({ "ExtensionSettings": { "*": usb } }), None),
        (
            json!({ "ExtensionSettings": { "*": debugger, EXTENSION_ID: own } }),
            None,
        ),
        (
            json!({ "ExtensionAllowedTypes": ["theme"] }),
            Some(Effect::Extension),
        ),
        (
            json!({ "ExtensionAllowedTypes": ["theme", "extension"] }),
            None,
        ),
        (
            json!({ "ExtensionDeveloperModeSettings": 1 }),
            Some(Effect::LoadedByUser),
        ),
        (json!({ "ExtensionDeveloperModeSettings": 0 }), None),
        (
            json!({ "ExtensionInstallTypeBlocklist": ["command_line"] }),
            Some(Effect::LoadingByFlag),
        ),
    ] {
        assert_eq!(effect(&policy), Vec::from_iter(expected), "{policy}");
    }
}

#[test]
fn recognizes_what_stops_the_debugger_or_its_port() {
    let hosts = json!({ "runtime_blocked_hosts": ["*://*.example.com"] });
    let own = json!({ "installation_mode": "allowed" });
    for (policy, expected) in [
        (
            json!({ "DeveloperToolsAvailability": 2 }),
            Some(Effect::Debugger),
        ),
        (json!({ "DeveloperToolsAvailability": 0 }), None),
        (
            json!({ "DeveloperToolsDisabled": true }),
            Some(Effect::Debugger),
        ),
        (
            json!({ "DeveloperToolsDisabled": true, "DeveloperToolsAvailability": 1 }),
            None,
        ),
        (
            json!({ "ExtensionSettings": { "*": hosts } }),
            Some(Effect::Debugger),
        ),
        (
            json!({ "ExtensionSettings": { EXTENSION_ID: hosts } }),
            Some(Effect::Debugger),
        ),
        (
            json!({ "ExtensionSettings": { "*": hosts, EXTENSION_ID: own } }),
            None,
        ),
        (
            json!({ "RemoteDebuggingAllowed": false }),
            Some(Effect::DebuggingPort),
        ),
        (
            json!({ "RemoteDebuggingAllowed": true, "HomepageLocation": "x" }),
            None,
        ),
    ] {
        assert_eq!(effect(&policy), Vec::from_iter(expected), "{policy}");
    }
}

#[test]
fn each_browser_has_a_folder_of_its_own() {
    for (kind, folder) in [
        (Kind::Chromium, CHROMIUM),
        (Kind::Chrome, "etc/opt/chrome/policies/managed"),
        (Kind::Edge, "etc/opt/edge/policies/managed"),
        (Kind::Brave, "etc/brave/policies/managed"),
    ] {
        let machine = Machine::linux();
        let file = machine.write(
            &format!("{folder}/a.json"),
            r#"{"DeveloperToolsAvailability":2}"#,
        );
        for other in [Kind::Chromium, Kind::Chrome, Kind::Edge, Kind::Brave] {
            let found = restrictions(&machine.environment, other, Package::Native);
            let files: Vec<_> = found.iter().map(|own| own.file.clone()).collect();
            let expected = (other == kind).then(|| file.clone());
            assert_eq!(files, Vec::from_iter(expected), "{other:?} of {kind:?}");
        }
        assert!(restrictions(&machine.environment, kind, Package::Flatpak).is_empty());
    }
}

#[test]
fn last_file_counts_and_a_damaged_one_is_reported() {
    let machine = Machine::linux();
    machine.write(
        &format!("{CHROMIUM}/10.json"),
        r#"{"DeveloperToolsAvailability":2}"#,
    );
    machine.write(
        &format!("{CHROMIUM}/20.json"),
        r#"{"DeveloperToolsAvailability":1}"#,
    );
    assert!(effects(&machine, Kind::Chromium).is_empty());
    machine.write(&format!("{CHROMIUM}/30.json"), "not JSON");
    assert_eq!(effects(&machine, Kind::Chromium), [(Effect::Unknown, "")]);
}

#[test]
fn subfolder_of_policies_is_ignored() {
    let machine = Machine::linux();
    machine.write(
        &format!("{CHROMIUM}/old/10.json"),
        r#"{"DeveloperToolsAvailability":2}"#,
    );
    assert!(effects(&machine, Kind::Chromium).is_empty());
}

#[test]
fn reads_managed_preferences_on_macos() {
    let machine = Machine::macos();
    let write = |path: &str, policies: &[(&str, plist::Value)]| {
        let fields = policies.iter();
        let fields: plist::Dictionary = fields
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let file = machine.write(path, "");
        plist::Value::Dictionary(fields)
            .to_file_binary(file)
            .unwrap();
    };
    let all = plist::Value::Array(vec!["*".into()]);
    write(
        "Library/Managed Preferences/com.google.Chrome.plist",
        &[
            ("ExtensionInstallBlocklist", all),
            ("DeveloperToolsAvailability", 1.into()),
            ("Certificate", plist::Value::Data(vec![1, 2])),
        ],
    );
    write(
        "Library/Managed Preferences/ann/com.google.Chrome.plist",
        &[
            ("RemoteDebuggingAllowed", false.into()),
            ("DeveloperToolsAvailability", 2.into()),
        ],
    );
    let expected = [
        (Effect::Extension, "ExtensionInstallBlocklist"),
        (Effect::DebuggingPort, "RemoteDebuggingAllowed"),
    ];
    assert_eq!(effects(&machine, Kind::Chrome), expected);
    assert!(effects(&machine, Kind::Edge).is_empty());
}
