//! Relays that a command starts in the background: where their logs and their output go.

use std::fs;
use std::net::TcpListener;

use tabwire_tests::{run, until};
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
