//! Large messages, slow readers, slow senders: what passes, what is ended, and that memory stays bounded.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tabwire_tests::{Client, Relay, ScriptedExtension, http, tab, until};
use tokio::io::AsyncWriteExt as _;

const MULTI: &[&str] = &["--client-mode", "multi-client"];
const HUNDRED_MB: usize = 100_000_000;
/// The relay holds 256 MiB for a link that does not read; these are more than that and the sockets' buffers together.
const PART: usize = 8 << 20;
const PARTS: usize = 36;

/// On threads of their own, so that the extension answers pings while the client is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_a_hundred_megabytes_passes_both_ways() {
    let mut relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("Runtime.callFunctionOn");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    client.said_so_far().await;
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(HUNDRED_MB));
    client.send_text(format!(r#"{{"id":901,"method":"Runtime.callFunctionOn","sessionId":"{session}","params":{large}}}"#)).await;
    let call = extension.held_call("Runtime.callFunctionOn").await;
    assert!(call.params == large);
    extension
        .send_text(format!(r#"{{"id":{},"result":{large}}}"#, call.id))
        .await;
    let reply = client.next_text().await;
    assert!(
        reply == format!(r#"{{"id":901,"result":{large},"sessionId":"{session}"}}"#),
        "{}…",
        &reply[..reply.len().min(300)]
    );
    client.ok("Browser.getVersion", json!({})).await;
    assert!(relay.lives().await);
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_link_of_who_sent_it() {
    let mut relay = Relay::start(&["--max-message-mib", "1"]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let under = format!(
        r#"{{"id":901,"method":"Browser.getVersion","params":{{"a":"{}"}}}}"#,
        "x".repeat((1 << 20) - 100)
    );
    client.send_text(under).await;
    client.reply_to(901).await.unwrap();
    for size in [1 << 20, 40 << 20] {
        client
            .send_text(format!(
                r#"{{"id":902,"method":"Browser.getVersion","params":{{"a":"{}"}}}}"#,
                "x".repeat(size)
            ))
            .await;
        let (code, reason) = client.closed().await.unwrap();
        assert_eq!(code, 1009);
        assert!(reason.contains("--max-message-mib"), "{reason}");
        relay.until_clients(0).await;
        client = Client::connect(&relay).await;
        client.ok("Browser.getVersion", json!({})).await;
    }
    extension
        .event(
            "tabUpdated",
            json!({ "tabId": 1, "title": "x".repeat(2 << 20) }),
        )
        .await;
    assert_eq!(extension.closed().await.unwrap().0, 1009);
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    client.ok("Browser.getVersion", json!({})).await;
    assert!(relay.lives().await);
}

#[tokio::test]
async fn clients_that_do_not_read_are_ended_and_others_are_served_meanwhile() {
    let mut relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let (mut deaf, mut late, mut other) = (
        Client::connect(&relay).await,
        Client::connect(&relay).await,
        Client::connect(&relay).await,
    );
    for client in [&mut deaf, &mut late] {
        let session = crate::attach(client, 1).await;
        client.ok_in(&session, "Network.enable", json!({})).await;
        client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    }
    let session = crate::attach(&mut other, 2).await;
    let params = json!({ "tabId": 1, "method": "Network.dataReceived", "params": { "data": "x".repeat(PART) } });
    let event = json!({ "method": "cdpEvent", "params": params }).to_string();
    let mut highest = 0;
    for _ in 0..PARTS {
        extension.send_text(event.clone()).await;
        let answer = tokio::time::timeout(
            Duration::from_secs(5),
            other.ok_in(&session, "Runtime.evaluate", json!({})),
        )
        .await;
        answer.expect("the other client is served");
        highest = highest.max(relay.memory());
        if relay.stderr().matches("does not read").count() >= 2 {
            break;
        }
    }
    until("the relay gives both up", async || {
        (relay.stderr().matches("does not read").count() >= 2).then_some(())
    })
    .await;
    // One that reads after all is told why; one that never does is ended all the same.
    let (code, reason) = late.closed().await.unwrap();
    assert_eq!(code, 1013);
    assert!(reason.contains("unread"), "{reason}");
    relay.until_clients(1).await;
    assert!(highest < 800, "{highest} MiB for two times 256");
    other.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert!(relay.lives().await);
}

#[tokio::test]
async fn an_extension_that_does_not_read_is_ended_and_every_command_is_answered() {
    let mut relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    extension.deafen();
    // Something to read, so that the link notices that it is not to read any more.
    let mut ids = vec![
        client
            .send(Some(&session), "Runtime.evaluate", json!({}))
            .await,
    ];
    let large = "x".repeat(PART);
    for id in 900..900 + PARTS {
        let text = format!(
            r#"{{"id":{id},"method":"Runtime.evaluate","sessionId":"{session}","params":{{"expression":"{large}"}}}}"#
        );
        client.send_text(text).await;
        ids.push(i64::try_from(id).unwrap());
        // It is there, it only does not read.
        extension.event("pong", json!({})).await;
        if relay.stderr().contains("does not read") {
            break;
        }
    }
    until("the relay gives it up", async || {
        relay.stderr().contains("does not read").then_some(())
    })
    .await;
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    // It may have been answered before the link fell silent, or not: either way once.
    let _ = client.reply_to(ids.remove(0)).await;
    for id in ids {
        let error = client.reply_to(id).await.unwrap_err();
        assert!(
            crate::message_of(&error).contains("outcome is unknown"),
            "{error}"
        );
    }
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert!(relay.lives().await);
}

/// Waits for the relay's clock: a request's head is due within 5 seconds.
#[tokio::test]
async fn half_sent_requests_are_ended_in_time_and_do_not_keep_others_out() {
    let mut relay = Relay::start(&[]).await;
    let port = relay.port;
    // More than the relay takes at once, so that the last ones have to wait until the first ones are ended.
    let mut streams = Vec::new();
    for _ in 0..600 {
        let mut stream = http::connect(port).await;
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: 127")
            .await
            .unwrap();
        streams.push(stream);
    }
    let answer = http::get(port, "/", &[]).await;
    assert_eq!(answer.status, 200);
    let ends = join_all(streams.iter_mut().map(http::read_to_end)).await;
    assert!(ends.iter().all(|end| !end.starts_with(b"HTTP/1.1 200")));
    assert!(relay.lives().await);
}
