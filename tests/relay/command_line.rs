//! The other commands, as a user runs them beside a relay.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire_tests::{Client, EXTENSION_ID, Relay, ScriptedExtension, Start, http, run, tab};
use tempfile::TempDir;

#[tokio::test]
async fn status_tells_what_is_connected() {
    let relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let _client = Client::connect(&relay).await;
    let told = run(&relay.home(), &["status"], &[]);
    assert_eq!(told.code, Some(0));
    for part in [
        format!("127.0.0.1:{}", relay.port),
        relay.pid().to_string(),
        "single-active".to_owned(),
        "connected".to_owned(),
    ] {
        assert!(told.stdout.contains(&part), "{part}: {}", told.stdout);
    }
    assert!(!told.stdout.contains(&relay.token()), "{}", told.stdout);
    let told = run(&relay.home(), &["status", "--json"], &[]);
    assert_eq!(told.code, Some(0));
    let status: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&status["running"], &status["port"], &status["pid"]),
        (&json!(true), &json!(relay.port), &json!(relay.pid()))
    );
    assert_eq!(
        status["relay"],
        json!({ "status": "ok", "extension": true, "targets": 2, "clients": 1 })
    );
    assert_eq!(
        (&status["clientSlot"]["busy"], &status["clientSlot"]["mode"]),
        (&json!(true), &json!("single-active"))
    );
}

#[tokio::test]
async fn status_without_a_relay_says_how_to_start_one() {
    let folder = TempDir::new().unwrap();
    let told = run(&folder.path().join("home"), &["status"], &[]);
    assert_eq!(told.code, Some(1));
    assert!(told.stdout.contains("tabwire serve"), "{told:?}");
    let told = run(&folder.path().join("home"), &["status", "--json"], &[]);
    assert_eq!(told.code, Some(1));
    assert_eq!(
        serde_json::from_str::<Value>(&told.stdout).unwrap()["running"],
        false
    );
}

#[tokio::test]
async fn a_relay_that_was_killed_does_not_run_whoever_has_its_number_and_its_port_now() {
    let relay = Relay::start(&[]).await;
    let port = relay.port;
    let (_, home, _folder) = relay.stop(Signal::KILL).await;
    // It left its files. The number is that of a process which lives, and at the port somebody answers as a relay does.
    fs::write(
        home.join("state.json"),
        json!({ "port": port, "pid": std::process::id() }).to_string(),
    )
    .unwrap();
    let _squatter = Relay::start_as(Start {
        arguments: &["--port", &port.to_string()],
        ..Start::default()
    })
    .await;
    let told = run(&home, &["status", "--json"], &[]);
    assert_eq!(told.code, Some(1));
    let status: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(status["running"], false);
    assert!(
        status["error"]
            .as_str()
            .unwrap()
            .contains(&format!("port {port} ")),
        "{status}"
    );
    let told = run(&home, &["cdp-url"], &[]);
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (Some(1), ""),
        "the token is for nobody there"
    );
}

#[test]
fn a_command_line_that_is_wrong_is_told_as_json_where_that_was_asked() {
    let folder = TempDir::new().unwrap();
    for arguments in [
        ["exec", "--json", "--timeout", "soon"],
        ["tabs", "--json", "--port", "0"],
    ] {
        let told = run(&folder.path().join("home"), &arguments, &[]);
        assert_eq!(told.code, Some(2));
        let answer: Value = serde_json::from_str(&told.stdout).unwrap();
        assert_eq!(
            (&answer["ok"], &answer["error"]["kind"]),
            (&json!(false), &json!("command-line")),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn the_cdp_url_is_printed_on_request_and_is_a_way_in() {
    let relay = Relay::start(&[]).await;
    let told = run(&relay.home(), &["cdp-url"], &[]);
    assert_eq!(told.code, Some(0));
    let address = told
        .stdout
        .trim()
        .strip_prefix(&format!("ws://127.0.0.1:{}", relay.port))
        .unwrap();
    assert_eq!(http::upgrade(relay.port, address, &[]).await.1.status, 101);
    let (_, home, _folder) = relay.stop(Signal::TERM).await;
    let told = run(&home, &["cdp-url"], &[]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""));
    assert!(told.stderr.contains("no relay is running"), "{told:?}");
}

#[test]
fn the_extension_is_installed_where_it_is_asked_for_and_pointed_at_the_port() {
    let folder = TempDir::new().unwrap();
    let (home, to) = (
        folder.path().join("home"),
        folder.path().join("my extension"),
    );
    let told = run(
        &home,
        &[
            "install-extension",
            "--to",
            to.to_str().unwrap(),
            "--port",
            "4321",
        ],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    for part in [to.to_str().unwrap(), "4321", "chrome://extensions"] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    let read = |name: &str| {
        serde_json::from_str::<Value>(&fs::read_to_string(to.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("relay.json"), json!({ "port": 4321 }));
    let manifest = read("manifest.json");
    assert_eq!(manifest["manifest_version"], 3);
    let worker = manifest["background"]["service_worker"].as_str().unwrap();
    assert!(to.join(worker).is_file(), "{worker}");
    assert!(!home.exists(), "nothing else is written");

    let told = run(&home, &["install-extension"], &[]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(home.join("extension/manifest.json").is_file());
}

#[test]
fn the_extension_is_not_installed_over_other_files() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("thesis.txt"), "years").unwrap();
    let told = run(
        &folder.path().join("home"),
        &["install-extension", "--to", folder.path().to_str().unwrap()],
        &[],
    );
    assert_eq!(told.code, Some(1));
    assert!(told.stderr.contains("other files"), "{told:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_browsers_on_the_search_path_are_listed() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("chromium");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("google-chrome"), "not a program").unwrap();
    let environment = [("PATH", folder.path().to_str().unwrap())];
    let home = folder.path().join("home");
    let told = run(&home, &["browsers", "--json"], &environment);
    assert_eq!(told.code, Some(0));
    let found: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(found, json!([{ "name": "chromium", "path": program }]));
    let told = run(&home, &["browsers"], &environment);
    assert!(
        told.stdout.starts_with("chromium") && told.stdout.contains(program.to_str().unwrap()),
        "{told:?}"
    );
}

#[test]
fn a_wrong_command_line_is_explained() {
    let folder = TempDir::new().unwrap();
    let cases: [&[&str]; 5] = [
        &[],
        &["sevre"],
        &["serve", "--port", "70000"],
        &["serve", "--extension-id", "*"],
        &["serve", "--port", "0", "--max-message-mib", "0"],
    ];
    for arguments in cases {
        let told = run(folder.path(), arguments, &[]);
        assert_eq!(told.code, Some(2), "{arguments:?}: {told:?}");
        assert!(!told.stderr.is_empty(), "{arguments:?}");
    }
    let told = run(
        folder.path(),
        &["serve", "--extension-id", &EXTENSION_ID[1..]],
        &[],
    );
    assert!(told.stderr.contains("32 letters"), "{told:?}");
}

#[tokio::test]
async fn a_reader_that_has_read_enough_ends_no_command_with_a_fault() {
    let relay = Relay::start(&[]).await;
    let folder = TempDir::new().unwrap();
    let to = folder.path().join("extension").display().to_string();
    let commands: [&[&str]; 4] = [
        &["status"],
        &["status", "--json"],
        &["cdp-url"],
        &["install-extension", "--to", &to],
    ];
    for command in commands {
        let mut child = std::process::Command::new(tabwire_tests::program())
            .args(command)
            .env("TABWIRE_HOME", relay.home())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}");
    }
}
