//! Neither the token nor a browser's secret appears in the relay's output, at any log level, or in
//! its arguments.

use rustix::process::Signal;
use tabwire_tests::{Client, Relay, ScriptedExtension, StartOptions, http, run, tab};

use crate::setup::{attach, evaluate};

/// Presents the token in every way that the relay accepts or refuses.
async fn present_token(port: u16, token: &str) {
    let cdp = format!("/cdp?token={token}");
    let version = format!("/json/version?token={token}");
    let bearer = format!("Bearer {token}");
    let authorized = [("Authorization", bearer.as_str())];
    http::upgrade(port, &cdp, &[]).await;
    http::upgrade(port, &cdp, &[("Origin", "https://example.com")]).await;
    http::upgrade(port, &cdp, &[("Host", "example.com")]).await;
    http::get(port, &cdp, &[]).await;
    http::get(port, &version, &[]).await;
    http::get(port, "/json/list", &authorized).await;
    let nowhere = format!("/nothing/{token}?token={token}");
    http::get(port, &nowhere, &authorized).await;
    http::request(port, "POST", &version, &[("Content-Length", "0")]).await;
    let malformed = format!("GET {cdp} HTTP/1.1\r\nBad Header: {token}\r\n\r\n");
    http::exchange(port, malformed).await;
}

#[tokio::test]
async fn trace_logs_do_not_contain_the_token_or_a_secret() {
    let relay = Relay::start_with(StartOptions {
        environment: &[("TABWIRE_LOG", "trace")],
        ..StartOptions::default()
    })
    .await;
    let token = relay.token();
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = attach(&mut client, 1).await;
    evaluate(&mut client, &session).await;
    present_token(relay.port, &token).await;
    client.send_text("nonsense").await;
    client.reply_without_id().await;
    client.close().await;
    let code = run(&relay.home(), &["pair"], &[("TABWIRE_LOG", "trace")]);
    assert!(!code.stderr.contains(code.stdout.trim()), "{}", code.stderr);
    let secrets = [token, relay.installation().secret.reveal()];
    let exit = relay.stop(Signal::TERM).await.exit;
    assert_eq!(exit.code, Some(0));
    assert!(exit.stderr.contains("TRACE"), "{}", exit.stderr);
    for (name, text) in [("stdout", exit.stdout), ("stderr", exit.stderr)] {
        for secret in &secrets {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "in {name}");
        }
    }
}

#[tokio::test]
async fn process_arguments_do_not_contain_the_token() {
    let relay = Relay::start(&[]).await;
    let arguments = std::fs::read(format!("/proc/{}/cmdline", relay.pid())).unwrap();
    let arguments = String::from_utf8_lossy(&arguments);
    assert!(!arguments.contains(&relay.token()));
    assert!(!arguments.contains(&relay.installation().secret.reveal()));
}
