//! The commands that a user runs beside a relay: their output and exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tabwire_tests::{Client, EXTENSION_ID, Exit, Relay, StartOptions, binary, http, run, until};
use tempfile::TempDir;

use crate::setup::start_relay;

/// Runs a command that prints JSON.
fn run_json(home: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let exit = run(home, arguments, &[]);
    let value = serde_json::from_str(&exit.stdout);
    (
        exit.code,
        value.unwrap_or_else(|error| panic!("{error}: {exit:?}")),
    )
}

fn read_json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn status_shows_connections() {
    let (relay, _extension) = start_relay(&[], &[1, 2]).await;
    let _client = Client::connect(&relay).await;
    let exit = run(&relay.home(), &["status"], &[]);
    assert_eq!(exit.code, Some(0));
    for part in [
        format!("127.0.0.1:{}", relay.port),
        relay.pid().to_string(),
        "single-active".to_owned(),
        "connected".to_owned(),
    ] {
        assert!(exit.stdout.contains(&part), "{part}: {}", exit.stdout);
    }
    assert!(!exit.stdout.contains(&relay.token()), "{}", exit.stdout);
}

#[tokio::test]
async fn status_shows_connections_as_json() {
    let (relay, _extension) = start_relay(&[], &[1, 2]).await;
    let _client = Client::connect(&relay).await;
    let (code, status) = run_json(&relay.home(), &["status", "--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        (&status["running"], &status["port"], &status["pid"]),
        (&json!(true), &json!(relay.port), &json!(relay.pid()))
    );
    assert_eq!(
        status["relay"],
        json!({ "status": "ok", "mode": "single-active", "extension": true, "browsers": 1, "targets": 2, "clients": 1 })
    );
    assert_eq!(
        (&status["clientSlot"]["busy"], &status["clientSlot"]["mode"]),
        (&json!(true), &json!("single-active"))
    );
}

#[test]
fn status_without_a_relay_names_the_command_to_start_one() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let exit = run(&home, &["status"], &[]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stdout.contains("tabwire serve"), "{exit:?}");
    let (code, status) = run_json(&home, &["status", "--json"]);
    assert_eq!(code, Some(1));
    assert_eq!(status["running"], false);
}

#[tokio::test]
async fn does_not_take_another_process_for_a_killed_relay() {
    let relay = Relay::start(&[]).await;
    let port = relay.port;
    let stopped = relay.stop(Signal::KILL).await;
    let home = &stopped.home;
    // Its watchdog removes its files, and must not remove the one below.
    until("the watchdog is done", async || {
        let is_left = |name: &str| home.join(name).exists();
        (!is_left("state.json") && !is_left("cdp-url")).then_some(())
    })
    .await;
    // The killed relay left its state file. Its pid and its port now belong to others, and the port
    // even to a relay.
    fs::write(
        home.join("state.json"),
        json!({ "port": port, "pid": std::process::id() }).to_string(),
    )
    .unwrap();
    let _squatter = Relay::start_with(StartOptions {
        arguments: &["--port", &port.to_string()],
        ..StartOptions::default()
    })
    .await;
    let (code, status) = run_json(home, &["status", "--json"]);
    assert_eq!((code, &status["running"]), (Some(1), &json!(false)));
    let error = status["error"].as_str().unwrap();
    assert!(error.contains(&format!("port {port} ")), "{status}");
    let exit = run(home, &["cdp-url"], &[]);
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (Some(1), ""),
        "the token is not for the other relay"
    );
}

#[tokio::test]
async fn stop_explains_that_a_relay_is_suspended() {
    let relay = Relay::start(&[]).await;
    let pid = Pid::from_raw(relay.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = [&["stop"][..], &["stop", "--relay"], &["restart"]]
        .map(|arguments| run(&relay.home(), arguments, &[]));
    kill_process(pid, Signal::CONT).unwrap();
    let remedy = format!("`kill -CONT {}`", relay.pid());
    for exit in stopped {
        assert_eq!(exit.code, Some(1));
        assert!(exit.stderr.contains(&remedy), "{exit:?}");
    }
}

#[test]
fn json_output_includes_usage_errors() {
    let folder = TempDir::new().unwrap();
    for arguments in [
        ["exec", "--json", "--timeout", "soon"],
        ["tabs", "--json", "--port", "0"],
    ] {
        let (code, result) = run_json(&folder.path().join("home"), &arguments);
        assert_eq!(code, Some(2));
        assert_eq!(
            (&result["ok"], &result["error"]["kind"]),
            (&json!(false), &json!("command-line")),
            "{result}"
        );
    }
}

#[tokio::test]
async fn cdp_url_prints_a_url_that_accepts_clients() {
    let relay = Relay::start(&[]).await;
    let exit = run(&relay.home(), &["cdp-url"], &[]);
    assert_eq!(exit.code, Some(0));
    let path = exit
        .stdout
        .trim()
        .strip_prefix(&format!("ws://127.0.0.1:{}", relay.port))
        .unwrap();
    assert_eq!(http::upgrade(relay.port, path, &[]).await.1.status, 101);
    let stopped = relay.stop(Signal::TERM).await;
    let exit = run(&stopped.home, &["cdp-url"], &[]);
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(1), ""));
    assert!(exit.stderr.contains("No relay is running"), "{exit:?}");
}

fn install_extension(home: &Path, to: &Path, more: &[&str]) -> Exit {
    let arguments = ["install-extension", "--to", to.to_str().unwrap()];
    run(home, &[&arguments, more].concat(), &[])
}

#[test]
fn install_extension_writes_a_folder_configured_for_the_port() {
    let folder = TempDir::new().unwrap();
    let (home, to) = (
        folder.path().join("home"),
        folder.path().join("my extension"),
    );
    let exit = install_extension(&home, &to, &["--port", "4321"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    for part in [to.to_str().unwrap(), "4321", "chrome://extensions"] {
        assert!(exit.stdout.contains(part), "{part}: {}", exit.stdout);
    }
    let pairing = read_json(&to.join("pairing.json"));
    assert_eq!(pairing["port"], 4321);
    assert_eq!(pairing["secret"].as_str().unwrap().len(), 43);
    let manifest = read_json(&to.join("manifest.json"));
    assert_eq!(manifest["manifest_version"], 3);
    let worker = manifest["background"]["service_worker"].as_str().unwrap();
    assert!(to.join(worker).is_file(), "{worker}");
    assert!(
        to.read_dir()
            .unwrap()
            .all(|file| file.unwrap().path().is_file()),
        "it is flat"
    );
    // Writing a newer version over it keeps the pairing.
    install_extension(&home, &to, &["--port", "4322"]);
    let again = read_json(&to.join("pairing.json"));
    assert_eq!(
        (&again["port"], &again["secret"]),
        (&json!(4322), &pairing["secret"])
    );
}

#[test]
fn install_extension_writes_a_visible_folder_by_default() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let exit = run(&home, &["install-extension"], &[]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let to = folder.path().join("Tabwire Extension");
    assert!(to.join("manifest.json").is_file());
    assert!(exit.stdout.contains(to.to_str().unwrap()), "{exit:?}");
}

#[test]
fn install_extension_refuses_a_folder_with_other_files() {
    let (folder, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(folder.path().join("thesis.txt"), "years").unwrap();
    let exit = install_extension(&home.path().join("home"), folder.path(), &[]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("other files"), "{exit:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn manual_pages_are_printed_or_written_to_a_folder() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let exit = run(&home, &["man"], &[]);
    assert!(exit.stdout.contains(".TH tabwire 1"), "{exit:?}");
    let to = folder.path().join("man1");
    let exit = run(&home, &["man", "--to", to.to_str().unwrap()], &[]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(to.join("tabwire-browsers-rename.1").is_file());
    let file = to.join("tabwire.1");
    let exit = run(&home, &["man", "--to", file.to_str().unwrap()], &[]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("Cannot write to"), "{exit:?}");
    assert!(!home.exists(), "documentation needs no home");
}

#[test]
fn completions_are_accepted_by_bash() {
    let folder = TempDir::new().unwrap();
    let exit = run(folder.path(), &["completions", "bash"], &[]);
    let check = Command::new("bash")
        .args(["-n", "-c", &exit.stdout])
        .status();
    assert!(check.unwrap().success());
    let exit = run(folder.path(), &["completions", "tcsh"], &[]);
    assert_eq!(exit.code, Some(2));
    assert!(exit.stderr.contains("zsh"), "{exit:?}");
}

#[test]
fn explains_usage_errors() {
    let folder = TempDir::new().unwrap();
    let cases: [&[&str]; 5] = [
        &[],
        &["sevre"],
        &["serve", "--port", "70000"],
        &["serve", "--extension-id", "*"],
        &["serve", "--port", "0", "--max-message-mib", "0"],
    ];
    for arguments in cases {
        let exit = run(folder.path(), arguments, &[]);
        assert_eq!(exit.code, Some(2), "{arguments:?}: {exit:?}");
        assert!(!exit.stderr.is_empty(), "{arguments:?}");
    }
    let too_short = &EXTENSION_ID[1..];
    let exit = run(folder.path(), &["serve", "--extension-id", too_short], &[]);
    assert!(exit.stderr.contains("32 letters"), "{exit:?}");
}

#[tokio::test]
async fn succeeds_when_the_reader_of_its_output_is_gone() {
    let relay = Relay::start(&[]).await;
    let folder = TempDir::new().unwrap();
    let to = folder.path().join("extension").display().to_string();
    let commands: [&[&str]; 6] = [
        &["completions", "bash"],
        &["man"],
        &["status"],
        &["status", "--json"],
        &["cdp-url"],
        &["install-extension", "--to", &to],
    ];
    for command in commands {
        let mut child = Command::new(binary())
            .args(command)
            .env("TABWIRE_HOME", relay.home())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}");
    }
}
