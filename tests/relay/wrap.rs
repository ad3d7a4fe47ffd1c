//! `tabwire wrap`: a program that needs the relay's address.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use tabwire_tests::{Exit, Relay, StartOptions, binary, http, run, until};
use tempfile::TempDir;

fn wrap(relay: &Relay, program: &[&str]) -> Exit {
    run(&relay.home(), &[&["wrap", "--"], program].concat(), &[])
}

#[tokio::test]
async fn placeholders_are_replaced() {
    let relay = Relay::start(&[]).await;
    let exit = wrap(
        &relay,
        &[
            "echo",
            "{cdp_port}",
            "--at={cdp_endpoint}/x",
            "{cdp_url}",
            "{token}",
            "{other}",
        ],
    );
    let (port, token) = (relay.port, relay.token());
    let expected = format!(
        "{port} --at=http://127.0.0.1:{port}/x ws://127.0.0.1:{port}/cdp?token={token} {token} {{other}}\n"
    );
    assert_eq!((exit.code, exit.stdout), (Some(0), expected));
}

#[tokio::test]
async fn arguments_may_be_invalid_utf_8() {
    let relay = Relay::start(&[]).await;
    let argument = OsStr::from_bytes(b"\xff{cdp_port}\xfe");
    let output = std::process::Command::new(binary())
        .args(["wrap", "--", "printf", "%s"])
        .arg(argument)
        .env("TABWIRE_HOME", relay.home())
        .output()
        .unwrap();
    let port = relay.port.to_string();
    assert_eq!(output.stdout, [b"\xff", port.as_bytes(), b"\xfe"].concat());
}

#[tokio::test]
async fn url_chooses_the_browser() {
    let relay = Relay::start(&[]).await;
    let arguments = ["wrap", "--browser", "work", "--", "echo", "{cdp_url}"];
    let exit = run(&relay.home(), &arguments, &[]);
    let token = relay.token();
    let expected = format!(
        "ws://127.0.0.1:{}/cdp?token={token}&browser=work\n",
        relay.port
    );
    assert_eq!((exit.code, exit.stdout), (Some(0), expected));
}

#[tokio::test]
async fn endpoint_is_accepted_by_the_relay() {
    let relay = Relay::start(&[]).await;
    let exit = wrap(&relay, &["echo", "{cdp_endpoint}"]);
    let host = exit.stdout.trim().strip_prefix("http://").unwrap();
    let bearer = format!("Bearer {}", relay.token());
    let headers = [("Host", host), ("Authorization", &bearer)];
    let response = http::get(relay.port, "/browsers", &headers).await;
    assert_eq!(response.status, 200, "{response:?}");
}

#[tokio::test]
async fn waits_for_a_relay_that_starts_later() {
    let folder = Arc::new(TempDir::new().unwrap());
    let output = TempDir::new().unwrap();
    let printed = output.path().join("printed");
    let mut child = std::process::Command::new(binary())
        .args(["wrap", "--", "echo", "{cdp_port}"])
        .env("TABWIRE_HOME", folder.path().join("home"))
        .stdin(Stdio::null())
        .stdout(File::create(&printed).unwrap())
        .spawn()
        .unwrap();
    let home = folder.path().join("home");
    until("it looks for a relay", async || home.exists().then_some(())).await;
    assert!(child.try_wait().unwrap().is_none());
    let options = StartOptions {
        home: Some(folder),
        ..StartOptions::default()
    };
    let relay = Relay::start_with(options).await;
    let status = until("it exits", async || child.try_wait().unwrap()).await;
    assert!(status.success());
    assert_eq!(
        fs::read_to_string(printed).unwrap().trim(),
        relay.port.to_string()
    );
}

#[tokio::test]
async fn stdin_stdout_and_stderr_are_passed_through() {
    let relay = Relay::start(&[]).await;
    let mut child = std::process::Command::new(binary())
        .args(["wrap", "--", "sh", "-c", "cat; echo problem >&2"])
        .env("TABWIRE_HOME", relay.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = b"no text: \xff\0\n";
    // Closed at the end of the statement, which ends the program.
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, bytes);
    assert_eq!(output.stderr, b"problem\n");
}

#[tokio::test]
async fn token_is_in_no_argument_unless_a_placeholder_asks_for_it() {
    let relay = Relay::start(&[]).await;
    let exit = wrap(
        &relay,
        &[
            "sh",
            "-c",
            "tr '\\0' ' ' < /proc/$$/cmdline; echo; echo $TABWIRE_CDP_URL",
        ],
    );
    let (arguments, url) = exit.stdout.split_once('\n').unwrap();
    assert!(!arguments.contains(&relay.token()), "{arguments}");
    assert!(url.contains(&relay.token()), "{url}");
}

#[tokio::test]
async fn exits_as_the_program_does() {
    let relay = Relay::start(&[]).await;
    assert_eq!(wrap(&relay, &["sh", "-c", "exit 7"]).code, Some(7));
    assert_eq!(wrap(&relay, &["sh", "-c", "kill -TERM $$"]).code, Some(143));
    assert_eq!(wrap(&relay, &["sh", "-c", "kill -KILL $$"]).code, Some(137));
    let exit = wrap(&relay, &["no-such-program"]);
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains("Cannot start no-such-program"),
        "{exit:?}"
    );
}

#[tokio::test]
async fn signals_reach_the_program() {
    let relay = Relay::start(&[]).await;
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
    ] {
        let folder = TempDir::new().unwrap();
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'exit 9' {name}; : > '{}'; while :; do sleep 0.02; done",
            ready.display()
        );
        let mut child = std::process::Command::new(binary())
            .args(["wrap", "--", "sh", "-c", &script])
            .env("TABWIRE_HOME", relay.home())
            .stdin(Stdio::null())
            // A terminal sends Ctrl-C to the program itself, and the tests may run in one.
            .process_group(0)
            .spawn()
            .unwrap();
        until("the program runs", async || ready.exists().then_some(())).await;
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = until("it exits", async || child.try_wait().unwrap()).await;
        assert_eq!(status.code(), Some(9), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn hangup_is_ignored_under_nohup() {
    let relay = Relay::start(&[]).await;
    let folder = TempDir::new().unwrap();
    let ready = folder.path().join("ready");
    let script = format!(": > '{}'; exec sleep 60", ready.display());
    let mut child = std::process::Command::new("nohup")
        .arg(binary())
        .args(["wrap", "--", "sh", "-c", &script])
        .env("TABWIRE_HOME", relay.home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the program runs", async || ready.exists().then_some(())).await;
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::HUP).unwrap();
    // Received after the other one.
    kill_process(pid, Signal::TERM).unwrap();
    let status = until("it exits", async || child.try_wait().unwrap()).await;
    assert_eq!(status.code(), Some(128 + Signal::TERM.as_raw()));
}

/// The terminal is that of `script`, which passes on what is typed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn ctrl_c_in_a_terminal_reaches_the_program_once() {
    let relay = Relay::start(&[]).await;
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    // A shell would count signals in quick succession as one.
    let program = "const { appendFileSync } = require('node:fs');
        process.on('SIGINT', () => appendFileSync('received', 'INT '));
        process.on('SIGTERM', () => process.exit(9));
        setInterval(() => {}, 1000);
        appendFileSync('ready', String(process.ppid));";
    fs::write(path("program.cjs"), program).unwrap();
    let command = format!("exec '{}' wrap -- node program.cjs", binary().display());
    let mut terminal = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(folder.path())
        .env("TABWIRE_HOME", relay.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let read = |name: &str| fs::read_to_string(path(name)).ok();
    let pid = until("the program runs", async || {
        read("ready").filter(|pid| !pid.is_empty())
    })
    .await;
    let mut keyboard = terminal.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    until("the program is interrupted", async || read("received")).await;
    // Passed on after what was received before.
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let status = until("it exits", async || terminal.try_wait().unwrap()).await;
    assert_eq!(
        (status.code(), read("received")),
        (Some(9), Some("INT ".to_owned()))
    );
}
