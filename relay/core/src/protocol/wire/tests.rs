//! The extension protocol against the files in `fixtures/wire/`, which the extension is tested
//! against too.

mod handshake;
mod incoming;
mod outgoing;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The child session id in the fixtures.
const CHILD: &str = "0F1E2D3C4B5A69788796A5B4C3D2E1F0";

/// Every fixture. A test fails if a file is missing here or in the folder.
const TO_RELAY: &[&str] = &[
    "batch",
    "browser",
    "cdpEvent-child",
    "cdpEvent-page",
    "closePort",
    "downloadChanged",
    "downloadCreated",
    "error-coded",
    "error-text",
    "hello",
    "pause",
    "pong",
    "reply-browserCommand",
    "reply-cdpCommand",
    "reply-empty",
    "reply-listTabs",
    "reply-listTabs-paused",
    "reply-listTabs-permissions",
    "resume",
    "tabCreated",
    "tabDetached",
    "tabNavigated",
    "tabRemoved",
    "tabReplaced",
    "tabThrottled",
    "tabThrottled-end",
    "tabUpdated",
    "tabUpdated-frames",
    "tabUpdated-pdf",
    "tabUpdated-restricted",
];
const TO_EXTENSION: &[&str] = &[
    "activateTab",
    "attachTab",
    "browserCommand",
    "busy",
    "cdpCommand-child",
    "cdpCommand-page",
    "challenge",
    "closeTab",
    "controlDownload",
    "createTab",
    "createTab-group",
    "createTab-window",
    "detachTab",
    "listTabs",
    "listTabs-focus",
    "ping",
    "setPermissions",
    "status",
    "status-openPort",
    "watchDownloads",
    "welcome",
];

#[derive(Deserialize)]
struct Fixture {
    direction: String,
    message: Box<RawValue>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "fixtures", "wire"]
        .iter()
        .collect()
}

fn fixture(name: &str) -> Fixture {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_fixture_is_listed_with_its_direction() {
    let files = fs::read_dir(folder()).unwrap();
    let in_folder: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed = TO_RELAY.iter().chain(TO_EXTENSION);
    let listed: BTreeSet<String> = listed.map(|name| format!("{name}.json")).collect();
    assert_eq!(in_folder, listed);
    for (names, direction) in [(TO_RELAY, "to-relay"), (TO_EXTENSION, "to-extension")] {
        for name in names {
            assert_eq!(fixture(name).direction, direction, "{name}");
        }
    }
}
