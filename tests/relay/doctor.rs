//! `tabwire doctor`: what it finds, and what it advises.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;
use tabwire_tests::{Relay, run};
use tempfile::TempDir;

use crate::setup::start;

/// The findings about a home: severity, and text with advice.
fn findings(home: &std::path::Path) -> (Option<i32>, Vec<(String, String)>) {
    let exit = run(home, &["doctor", "--json"], &[]);
    let report: Value = serde_json::from_str(&exit.stdout).unwrap();
    let finding = |finding: &Value| {
        let part = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        (
            part("severity"),
            format!("{} {}", part("text"), part("fix")),
        )
    };
    let all = report["findings"].as_array().unwrap();
    (exit.code, all.iter().map(finding).collect())
}

#[track_caller]
fn assert_finding(findings: &[(String, String)], severity: &str, part: &str) {
    let found = findings
        .iter()
        .any(|(own, text)| own == severity && text.contains(part));
    assert!(found, "{severity} {part}: {findings:?}");
}

#[tokio::test]
async fn finds_nothing_wrong_while_everything_works() {
    let (relay, _extension, _client) = start(&[1]).await;
    let (code, findings) = findings(&relay.home());
    assert_eq!(code, Some(0), "{findings:?}");
    assert_finding(&findings, "ok", "chrome is connected");
    let exit = run(&relay.home(), &["doctor"], &[]);
    assert!(
        exit.stdout.contains("ok      chrome is connected."),
        "{exit:?}"
    );
}

#[tokio::test]
async fn names_the_next_step_for_each_problem() {
    let relay = Relay::start(&[]).await;
    let (code, none) = findings(&relay.home());
    assert_eq!(code, Some(1));
    assert_finding(&none, "problem", "install-extension");

    let (relay, extension, _client) = start(&[1]).await;
    extension.drop_connection().await;
    relay.until_extension(false).await;
    let (_, away) = findings(&relay.home());
    assert_finding(&away, "problem", "No browser is connected. Paired: chrome.");

    fs::write(relay.home().join("auth-token"), "short").unwrap();
    let (_, damaged) = findings(&relay.home());
    assert_finding(&damaged, "problem", "rm '");
}

#[test]
fn names_the_program_that_has_the_port() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    run(&home, &["status"], &[]);
    let squatter = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = squatter.local_addr().unwrap().port();
    let state = format!(r#"{{"port":{port},"pid":1}}"#);
    fs::write(home.join("state.json"), state).unwrap();
    let (_, findings) = findings(&home);
    let own = format!("process {}", std::process::id());
    assert_finding(&findings, "problem", &own);
    assert_finding(&findings, "note", "which was killed");
}
