//! `serve --record`: a transcript with every message, in a file of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedBrowser, ScriptedExtension, StartOptions, tab, until};
use tempfile::TempDir;

use crate::setup::attach;

fn read(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether a message of this kind went from one end to the other.
fn has(entries: &[Value], from: &str, to: &str, is_it: impl Fn(&Value) -> bool) -> bool {
    let mut matching = entries
        .iter()
        .filter(|entry| entry["from"] == from && entry["to"] == to);
    matching.any(|entry| is_it(&entry["message"]))
}

#[tokio::test]
async fn has_every_message_with_both_ends_and_no_handshake() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.jsonl");
    let relay = Relay::start_with(StartOptions {
        arguments: &["--port", "0", "--record", file.to_str().unwrap()],
        umask: Some("000"),
        ..StartOptions::default()
    })
    .await;
    assert!(relay.stdout().contains("passwords"), "{}", relay.stdout());
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = attach(&mut client, 1).await;
    let params = json!({ "expression": "MARKER" });
    client.ok_in(&session, "Runtime.evaluate", params).await;
    client.send_text("not\nJSON").await;
    client.reply_without_id().await;
    let has_client = |status: &Value| status["clients"][0]["tabs"] == json!([1]);
    extension
        .until_status("the client uses its tab", has_client)
        .await;
    let slot = relay.get("/client-slot").await;
    let id = slot["activeClientId"].as_str().unwrap().to_owned();
    let secrets = [relay.token(), relay.installation().secret.reveal()];
    relay.stop(Signal::TERM).await;
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let entries = read(&file);
    let evaluates = |message: &Value| message["params"]["expression"] == "MARKER";
    assert!(has(&entries, &id, "relay", evaluates));
    assert!(has(&entries, "relay", "extension", |message| {
        message["params"]["params"]["expression"] == "MARKER"
    }));
    let replies = |message: &Value| message["result"]["params"]["expression"] == "MARKER";
    assert!(has(&entries, "extension", "relay", replies));
    assert!(has(&entries, "relay", &id, replies));
    assert!(has(&entries, "relay", "extension", |message| {
        message["method"] == "status"
    }));
    assert!(entries.iter().any(|entry| entry["text"] == "not\nJSON"));
    assert!(entries.iter().all(|entry| entry["browser"] == "chrome"));
    let text = fs::read_to_string(&file).unwrap();
    for hidden in ["\"proof\"", "\"hello\"", &secrets[0], &secrets[1]] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

#[tokio::test]
async fn direct_backend_is_recorded_too() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.jsonl");
    let mut browser = ScriptedBrowser::start().await;
    let url = browser.url();
    let record = ["--browser-url", &url, "--record", file.to_str().unwrap()];
    let relay = Relay::start(&record).await;
    let mut client = Client::connect(&relay).await;
    let id = client.send(None, "Some.method", json!({})).await;
    browser.link().await.answer("Some.method").await;
    client.reply_to(id).await.unwrap();
    // What is recorded is in the file soon, also while the relay runs.
    let entries = until("both directions are recorded", async || {
        let entries = read(&file);
        (entries.len() >= 4).then_some(entries)
    })
    .await;
    let ends: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry["from"].as_str().unwrap(),
                entry["to"].as_str().unwrap(),
            )
        })
        .collect();
    let name = ends[0].0;
    assert!(name.starts_with("client-"), "{ends:?}");
    assert_eq!(
        ends,
        [
            (name, "relay"),
            ("relay", "port"),
            ("port", "relay"),
            ("relay", name)
        ]
    );
    assert_eq!(entries[1]["client"], name);
}

#[tokio::test]
async fn existing_file_is_refused_and_kept() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.jsonl");
    fs::write(&file, "mine").unwrap();
    let arguments = ["--port", "0", "--record", file.to_str().unwrap()];
    let start = || StartOptions {
        arguments: &arguments,
        ..StartOptions::default()
    };
    let exit = Relay::try_start(start()).await.err().unwrap();
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("already exists"), "{exit:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
    assert!(Relay::try_start(start()).await.is_err());
    assert!(!folder.path().join("elsewhere").exists());
}

/// Otherwise the file would be in the way of the next attempt.
#[tokio::test]
async fn relay_that_cannot_start_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("record.jsonl");
    let other = Relay::start(&[]).await;
    let port = other.port.to_string();
    let exit = Relay::try_start(StartOptions {
        arguments: &["--port", &port, "--record", file.to_str().unwrap()],
        ..StartOptions::default()
    })
    .await;
    assert!(exit.is_err());
    assert!(!file.exists());
}
