//! What the profiles of faked machines say about the extension.

use serde_json::{Value, json};

use super::Machine;
use crate::browser::bundle::EXTENSION_ID;
use crate::browser::detect::{LoadedExtension, Off};

const USER_DATA: &str = "home/ann/.config/chromium";

/// A machine with a Chromium, whose profile `Work` has this entry for the extension.
fn machine(file: &str, entry: &Value) -> Machine {
    let machine = Machine::linux();
    machine.program("usr/bin/chromium");
    let state = json!({ "profile": { "info_cache": {
        "Default": { "name": "Ann" }, "Profile 1": { "name": "Work" },
    } } });
    machine.write(&format!("{USER_DATA}/Local State"), &state.to_string());
    let other = json!({ "path": "/elsewhere", "location": 4 });
    let settings = json!({ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": other, EXTENSION_ID: entry });
    let preferences = json!({ "extensions": { "settings": settings } });
    machine.write(
        &format!("{USER_DATA}/Profile 1/{file}"),
        &preferences.to_string(),
    );
    // Chromium writes both files, and uses one of them.
    for folder in ["Default", "Profile 1"] {
        for name in ["Preferences", "Secure Preferences"] {
            let path = format!("{USER_DATA}/{folder}/{name}");
            if !machine.path(&path).exists() {
                machine.write(&path, r#"{"extensions":{"alerts":{}}}"#);
            }
        }
    }
    machine
}

/// The extension in each profile.
fn found(machine: &Machine) -> Vec<Option<LoadedExtension>> {
    let profiles = machine.only().profiles.into_iter();
    profiles.map(|profile| profile.extension).collect()
}

fn off(entry: &Value) -> Option<Off> {
    let machine = machine("Preferences", entry);
    let extension = found(&machine).remove(1);
    extension.expect("it is loaded").off
}

#[test]
fn finds_the_profile_in_which_the_extension_is_loaded() {
    for file in ["Preferences", "Secure Preferences"] {
        let entry =
            json!({ "path": "/x", "location": 4, "creation_flags": 38, "disable_reasons": [] });
        let found = found(&machine(file, &entry));
        let expected = LoadedExtension {
            folder: "/x".into(),
            version: None,
            off: None,
        };
        assert_eq!(found, [None, Some(expected)], "{file}");
    }
}

#[test]
fn reads_the_version_from_the_folder() {
    let machine = machine("Preferences", &json!({}));
    let manifest = include_str!("../../../../../extension/manifest.json");
    let manifest = manifest.replace("0.1.0", "0.0.9");
    let manifest = machine.write("ann/Tabwire Extension/manifest.json", &manifest);
    let folder = manifest.parent().unwrap();
    let settings = json!({ EXTENSION_ID: { "path": folder, "location": 4 } });
    let preferences = json!({ "extensions": { "settings": settings } }).to_string();
    machine.write(&format!("{USER_DATA}/Profile 1/Preferences"), &preferences);
    let extension = found(&machine).remove(1).unwrap();
    assert_eq!(extension.version.as_deref(), Some("0.0.9"));
}

/// As Chromium 156 writes it, and as older versions did.
#[test]
fn says_why_the_extension_is_switched_off() {
    let entry = |fields: Value| {
        let mut entry = json!({ "path": "/x", "location": 4 });
        let fields = fields.as_object().unwrap().clone();
        entry.as_object_mut().unwrap().extend(fields);
        entry
    };
    for (fields, expected) in [
        (json!({ "disable_reasons": [] }), None),
        (json!({ "disable_reasons": [4] }), None),
        (json!({ "disable_reasons": [1] }), Some(Off::User)),
        (
            json!({ "disable_reasons": [1, 16_777_216] }),
            Some(Off::DeveloperMode),
        ),
        (
            json!({ "disable_reasons": [65_536, 16_777_216] }),
            Some(Off::Policy),
        ),
        (json!({ "disable_reasons": [32] }), Some(Off::Other)),
        (json!({ "state": 1 }), None),
        (json!({ "state": 0, "disable_reasons": 1 }), Some(Off::User)),
        (json!({ "state": 0 }), Some(Off::Other)),
    ] {
        assert_eq!(off(&entry(fields.clone())), expected, "{fields}");
    }
}

#[test]
fn an_extension_that_was_loaded_for_one_run_does_not_count() {
    for entry in [
        json!({ "path": "/x", "location": 8, "creation_flags": 38 }),
        json!({ "path": "/x", "location": 4, "creation_flags": 32_806 }),
        json!({ "location": 4 }),
        json!("nonsense"),
    ] {
        let found = found(&machine("Preferences", &entry));
        assert_eq!(found, [None, None], "{entry}");
    }
}

#[test]
fn unreadable_preferences_show_no_extension() {
    let machine = machine("Preferences", &json!({}));
    for text in ["", "{", "[]", r#"{"extensions":{"settings":[]}}"#] {
        machine.write(&format!("{USER_DATA}/Profile 1/Preferences"), text);
        assert_eq!(found(&machine), [None, None], "{text}");
    }
}
