//! `tabwire wrap`: a program that needs the relay's address.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tabwire_tests::{Exit, Relay, binary, run, until};
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
        "{port} --at=http://localhost:{port}/x ws://127.0.0.1:{port}/cdp?token={token} {token} {{other}}\n"
    );
    assert_eq!((exit.code, exit.stdout), (Some(0), expected));
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
            .spawn()
            .unwrap();
        until("the program runs", async || ready.exists().then_some(())).await;
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = until("it exits", async || child.try_wait().unwrap()).await;
        assert_eq!(status.code(), Some(9), "{name}");
    }
}
