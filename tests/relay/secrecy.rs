//! The token is in no output of the relay, whatever it is asked to log.

use rustix::process::Signal;
use serde_json::json;
use tabwire_tests::{Client, Relay, ScriptedExtension, Start, http, tab};

#[tokio::test]
async fn the_token_is_in_no_log_at_the_highest_level() {
    let relay = Relay::start_as(Start {
        environment: &[("TABWIRE_LOG", "trace")],
        ..Start::default()
    })
    .await;
    let (port, token) = (relay.port, relay.token());
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client
        .ok_in(&session, "Runtime.evaluate", json!({ "expression": "1" }))
        .await;
    // Every way that the token can be presented, and every way that it can be refused.
    let (cdp, version) = (
        format!("/cdp?token={token}"),
        format!("/json/version?token={token}"),
    );
    let bearer = format!("Bearer {token}");
    http::upgrade(port, &cdp, &[]).await;
    http::upgrade(port, &cdp, &[("Origin", "https://example.com")]).await;
    http::upgrade(port, &cdp, &[("Host", "example.com")]).await;
    http::get(port, &cdp, &[]).await;
    http::get(port, &version, &[]).await;
    http::get(port, "/json/list", &[("Authorization", &bearer)]).await;
    http::get(
        port,
        &format!("/nothing/{token}?token={token}"),
        &[("Authorization", &bearer)],
    )
    .await;
    http::request(port, "POST", &version, &[("Content-Length", "0")]).await;
    http::exchange(
        port,
        format!("GET {cdp} HTTP/1.1\r\nBad Header: {token}\r\n\r\n"),
    )
    .await;
    client.send_text("nonsense").await;
    client.reply_without_id().await;
    client.close().await;
    let (ended, ..) = relay.stop(Signal::TERM).await;
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("TRACE"),
        "logging at trace was asked for: {}",
        ended.stderr
    );
    for (name, text) in [("stdout", ended.stdout), ("stderr", ended.stderr)] {
        let line = text.lines().find(|line| line.contains(&token));
        assert_eq!(line, None, "in {name}");
    }
}

#[tokio::test]
async fn the_token_is_not_in_the_arguments_of_the_process() {
    let relay = Relay::start(&[]).await;
    let arguments = std::fs::read(format!("/proc/{}/cmdline", relay.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&arguments).contains(&relay.token()));
}
