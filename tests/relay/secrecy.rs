//! Neither the token nor a browser's secret appears in the relay's output, at any log level, or in
//! its arguments.

use std::process::Stdio;

use rustix::process::Signal;
use tabwire_tests::{
    Client, Relay, ScriptedExtension, StartOptions, binary, http, run, tab, within,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

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

/// `tabwire pipe` sends the token to the relay, with a library that logs its requests.
#[tokio::test]
async fn trace_log_of_a_pipe_does_not_contain_the_token() {
    let relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut pipe = Command::new("sh")
        .args(["-c", "exec \"$0\" pipe --join 3<&0 4>&1"])
        .arg(binary())
        .env("TABWIRE_HOME", relay.home())
        .env("TABWIRE_LOG", "trace,tungstenite=trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut requests = pipe.stdin.take().unwrap();
    let request = b"{\"id\":1,\"method\":\"Browser.getVersion\"}\0";
    requests.write_all(request).await.unwrap();
    let mut replies = BufReader::new(pipe.stdout.take().unwrap());
    let mut reply = Vec::new();
    let passed = replies.read_until(0, &mut reply);
    within("the pipe passes the reply on", passed)
        .await
        .unwrap();
    drop(requests);
    let output = within("the pipe ends with its client", pipe.wait_with_output()).await;
    let log = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(log.contains("transportMode=\"pipe\""), "{log}");
    let token = relay.token();
    let line = log.lines().find(|line| line.contains(&token));
    assert_eq!(line, None);
}

#[tokio::test]
async fn process_arguments_do_not_contain_the_token() {
    let relay = Relay::start(&[]).await;
    let arguments = std::fs::read(format!("/proc/{}/cmdline", relay.pid())).unwrap();
    let arguments = String::from_utf8_lossy(&arguments);
    assert!(!arguments.contains(&relay.token()));
    assert!(!arguments.contains(&relay.installation().secret.reveal()));
}
