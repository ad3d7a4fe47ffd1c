//! Large messages, slow readers and slow senders: what is forwarded, what is closed, and that
//! memory stays bounded.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tabwire_tests::{Client, Relay, ScriptedExtension, binary, http, tab, until};
use tokio::io::AsyncWriteExt as _;

use crate::setup::{
    MULTI_CLIENT, assert_forwards_unchanged, assert_message, attach, evaluate, start_relay,
    start_with_live_session,
};

const HUNDRED_MB: usize = 100_000_000;
/// The relay queues up to 256 MiB for one peer. These parts exceed that and the socket buffers.
const PART: usize = 8 << 20;
const PARTS: usize = 36;

/// How many slow readers the relay has closed, according to its log.
fn closed_slow_readers(relay: &Relay) -> usize {
    relay.stderr().matches("does not read").count()
}

async fn until_closed_slow_readers(relay: &Relay, count: usize) {
    until("the relay closes the slow readers", async || {
        (closed_slow_readers(relay) >= count).then_some(())
    })
    .await;
}

/// Runs on several threads, so that the extension answers pings while the client is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forwards_a_100_mb_message_in_both_directions() {
    let (mut relay, mut extension, mut client, session) = start_with_live_session().await;
    extension.hold("Runtime.callFunctionOn");
    client.drain().await;
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(HUNDRED_MB));
    assert_forwards_unchanged(&mut extension, &mut client, &session, &large).await;
    client.ok("Browser.getVersion", json!({})).await;
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn closes_the_sender_of_a_message_over_the_limit() {
    let (mut relay, extension) = start_relay(&["--max-message-mib", "1"], &[1]).await;
    let mut client = Client::connect(&relay).await;
    let request = |id: i64, size: usize| {
        let padding = "x".repeat(size);
        format!(r#"{{"id":{id},"method":"Browser.getVersion","params":{{"a":"{padding}"}}}}"#)
    };
    client.send_text(request(901, (1 << 20) - 100)).await;
    client.reply_to(901).await.unwrap();
    for size in [1 << 20, 40 << 20] {
        client.send_text(request(902, size)).await;
        let (code, reason) = client.wait_for_close().await.unwrap();
        assert_eq!(code, 1009);
        assert!(reason.contains("--max-message-mib"), "{reason}");
        relay.until_clients(0).await;
        client = Client::connect(&relay).await;
        client.ok("Browser.getVersion", json!({})).await;
    }
    let update = json!({ "tabId": 1, "title": "x".repeat(2 << 20) });
    extension.send_event("tabUpdated", update).await;
    assert_eq!(extension.wait_for_close().await.unwrap().0, 1009);
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    client.ok("Browser.getVersion", json!({})).await;
    assert!(relay.is_alive().await);
}

/// A client that gets the network events of tab 1.
async fn client_with_network_events(relay: &Relay) -> Client {
    let mut client = Client::connect(relay).await;
    let session = attach(&mut client, 1).await;
    client.ok_in(&session, "Network.enable", json!({})).await;
    evaluate(&mut client, &session).await;
    client
}

#[tokio::test]
async fn closes_clients_that_do_not_read_and_serves_others_meanwhile() {
    const MAX_UNREAD: usize = 64;
    let (mut relay, extension) = start_relay(MULTI_CLIENT, &[1, 2]).await;
    let mut other = Client::connect(&relay).await;
    let session = attach(&mut other, 2).await;
    let params = json!({ "tabId": 1, "method": "Network.dataReceived", "params": { "data": "x".repeat(PART) } });
    let event = json!({ "method": "cdpEvent", "params": params }).to_string();
    let before = relay.memory();
    // In the second that it takes to see that a client does not read, this sends it less than the limit.
    let mut flood = async |closed: usize| {
        let mut peak = 0;
        while closed_slow_readers(&relay) < closed {
            extension.send_text(event.clone()).await;
            evaluate(&mut other, &session).await;
            peak = peak.max(relay.memory());
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
        peak
    };
    let mut reads_late = client_with_network_events(&relay).await;
    flood(1).await;
    let (code, reason) = reads_late.wait_for_close().await.unwrap();
    assert_eq!(code, 1013);
    assert!(reason.contains("unread"), "{reason}");
    let _never_read = join_all((0..2).map(|_| client_with_network_events(&relay))).await;
    let peak = flood(3).await;
    // Each may have a message that is being written, and one that has just arrived.
    assert!(peak < before + MAX_UNREAD + 8 * (PART >> 20), "{peak} MiB");
    relay.until_clients(1).await;
    evaluate(&mut other, &session).await;
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn silent_client_frees_its_slot() {
    let relay = Relay::start(&["--client-timeout", "2"]).await;
    let mut client = Client::connect(&relay).await;
    // Reading answers pings.
    let mut answering = async |seconds| {
        let silence = client.next_message();
        let reading = tokio::time::timeout(Duration::from_secs(seconds), silence);
        assert!(reading.await.is_err());
    };
    answering(4).await;
    relay.until_clients(0).await;
    Client::connect(&relay).await;
}

#[tokio::test]
async fn closes_an_extension_that_does_not_read_and_fails_its_commands() {
    let (mut relay, extension, mut client, session) = start_with_live_session().await;
    extension.stop_reading();
    let large = "x".repeat(PART);
    let mut ids = Vec::new();
    for id in (900..).take(PARTS) {
        let text = format!(
            r#"{{"id":{id},"method":"Runtime.evaluate","sessionId":"{session}","params":{{"expression":"{large}"}}}}"#
        );
        client.send_text(text).await;
        ids.push(id);
        // Otherwise the relay would close it because of the missing pong.
        extension.send_event("pong", json!({})).await;
        if closed_slow_readers(&relay) > 0 {
            break;
        }
    }
    until_closed_slow_readers(&relay, 1).await;
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    // The relay may have read the last ones only when the next extension was there.
    let mut late = 0;
    for id in ids {
        match client.reply_to(id).await {
            Ok(_) => late += 1,
            Err(error) if late == 0 => assert_message(&error, "outcome is unknown"),
            Err(error) => panic!("{error} after {late} successes"),
        }
    }
    assert!(late < PARTS / 4, "{late}");
    evaluate(&mut client, &session).await;
    assert!(relay.is_alive().await);
}

/// Depends on the relay's clock: the head of a request must arrive within 5 seconds.
#[tokio::test]
async fn ends_half_sent_requests_and_serves_others() {
    let mut relay = Relay::start(&[]).await;
    let port = relay.port;
    // More than the relay's connection limit: the last ones are accepted only after it has ended
    // the first ones.
    let mut streams = Vec::new();
    for _ in 0..600 {
        let mut stream = http::connect(port).await;
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: 127")
            .await
            .unwrap();
        streams.push(stream);
    }
    let response = http::get(port, "/", &[]).await;
    assert_eq!(response.status, 200);
    let received = join_all(streams.iter_mut().map(http::read_to_end)).await;
    assert!(
        received
            .iter()
            .all(|bytes| !bytes.starts_with(b"HTTP/1.1 200"))
    );
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn limits_the_number_of_websockets() {
    const MAX_WEBSOCKETS: usize = 512;
    let mut relay = Relay::start(MULTI_CLIENT).await;
    let (port, path) = (relay.port, relay.cdp_path());
    let mut open = Vec::new();
    for _ in 0..MAX_WEBSOCKETS {
        let (stream, response) = http::upgrade(port, &path, &[]).await;
        assert_eq!(response.status, 101, "after {}", open.len());
        open.push(stream);
    }
    // More clients are refused. The extension has places of its own, and other requests are served.
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (_, response) = http::upgrade(port, &path, &[]).await;
    assert_eq!(response.status, 503);
    assert!(
        response.body.contains("Too many WebSockets"),
        "{response:?}"
    );
    assert_eq!(relay.get("/").await["clients"], MAX_WEBSOCKETS);
    drop(open.pop());
    until("a place is free", async || {
        let (stream, response) = http::upgrade(port, &path, &[]).await;
        (response.status == 101).then_some(stream)
    })
    .await;
    assert!(relay.is_alive().await);
}

/// The usual limit is lower than what all clients of a browser with a debugging port may need.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn relay_raises_the_limit_of_open_files() {
    let home = tempfile::TempDir::new().unwrap();
    let mut relay = tokio::process::Command::new("sh")
        .args(["-c", "ulimit -Sn 256; exec \"$0\" serve --port 0"])
        .arg(binary())
        .env("TABWIRE_HOME", home.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let limits = format!("/proc/{}/limits", relay.id().unwrap());
    let state = home.path().join("state.json");
    until("the relay runs", async || state.exists().then_some(())).await;
    let limits = std::fs::read_to_string(limits).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let mut numbers = line.unwrap().split_whitespace().skip(3);
    let [soft, hard] =
        [numbers.next(), numbers.next()].map(|number| number.unwrap().parse::<u64>());
    assert_eq!(soft, Ok(hard.unwrap_or(u64::MAX).min(4096)));
    relay.kill().await.unwrap();
}
