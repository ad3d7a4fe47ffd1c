//! Relays that a command starts in the background: where their logs and their output go.

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use tabwire_tests::{binary, run, until};
use tempfile::TempDir;

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[test]
fn reports_why_a_relay_in_the_background_does_not_start() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let launch = ["launch", "--port", &free_port()];
    let exit = run(&home, &launch, &[("TABWIRE_CLIENT_MODE", "nonsense")]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.contains("'nonsense'"), "{exit:?}");
    let output = home.join("relay.out");
    assert!(
        exit.stderr.contains(output.to_str().unwrap()),
        "names the file with the whole output: {exit:?}"
    );
    let output = fs::read_to_string(output).unwrap();
    assert!(output.contains("'nonsense'"), "{output}");
}

/// A shell that reads the output of a command would otherwise wait until the relay ends.
#[tokio::test]
async fn relay_in_the_background_keeps_nothing_that_its_starter_inherited() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let script = r#""$0" launch /missing/browser --port "$1" 3>&1 4>&1 7>&1 9>&1 >/dev/null 2>&1"#;
    let output = tokio::process::Command::new("sh")
        .args(["-c", script, binary().to_str().unwrap(), &free_port()])
        .env("TABWIRE_HOME", &home)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .output();
    // Ends when nobody has the pipe any more.
    let ended = tokio::time::timeout(Duration::from_secs(30), output).await;
    let status = run(&home, &["status", "--json"], &[]);
    let stopped = run(&home, &["stop", "--relay"], &[]);
    ended
        .expect("the relay and its watchdog close the pipe")
        .unwrap();
    assert_eq!(
        (status.code, stopped.code),
        (Some(0), Some(0)),
        "the relay was still running: {status:?}"
    );
}

/// Each start empties the output of the one before, and the log goes on.
#[tokio::test]
async fn log_of_a_relay_in_the_background_is_not_in_its_output() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    for run_number in 1..=2 {
        // The relay starts, and then there is no such browser.
        let launch = ["launch", "/missing/browser", "--port", &free_port()];
        let exit = run(&home, &launch, &[]);
        assert!(exit.stderr.contains("/missing/browser"), "{exit:?}");
        let exit = run(&home, &["stop", "--relay"], &[]);
        assert_eq!(exit.code, Some(0), "{exit:?}");
        until("the relay has ended", async || {
            let log = fs::read_to_string(home.join("relay.log")).unwrap_or_default();
            (log.matches("stopping").count() == run_number).then_some(())
        })
        .await;
        let output = fs::read_to_string(home.join("relay.out")).unwrap();
        assert_eq!(output.matches("Tabwire relay on").count(), 1, "{output}");
        assert!(!output.contains("INFO"), "{output}");
    }
}
