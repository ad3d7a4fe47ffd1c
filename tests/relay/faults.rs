//! Malformed input. None of it ends the process, and everyone else is still served.

use serde_json::json;
use tabwire_tests::{Client, EXTENSION_ID, Relay, http, until};
use tokio::io::AsyncWriteExt as _;

use crate::setup::{
    MULTI_CLIENT, assert_forwards_unchanged, assert_message, attach, default_context, echo,
    evaluate, start, start_relay, start_with_live_session, start_with_session,
};

fn malformed_requests(port: u16) -> Vec<Vec<u8>> {
    let host = format!("Host: 127.0.0.1:{port}");
    vec![
        b"\r\n\r\n".to_vec(),
        b"garbage".repeat(1000),
        (0..=255).collect(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        format!("GET // HTTP/1.1\r\n{host}\r\n\r\n").into_bytes(),
        format!("GET //example.com/ HTTP/1.1\r\n{host}\r\n\r\n").into_bytes(),
        format!("GET * HTTP/1.1\r\n{host}\r\n\r\n").into_bytes(),
        format!("GET /%ff%00?token=%zz HTTP/1.1\r\n{host}\r\n\r\n").into_bytes(),
        format!("GET /cdp?token={} HTTP/1.1\r\n{host}\r\n\r\n", "x".repeat(200_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{host}\r\nX: {}\r\n\r\n", "y".repeat(1 << 20)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{host}\r\n{}\r\n", "A: b\r\n".repeat(10_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{host}\r\nContent-Length: -1\r\n\r\n").into_bytes(),
        format!("GET / HTTP/1.1\r\n{host}\r\nContent-Length: 99999999999\r\n\r\n").into_bytes(),
        format!("CONNECT example.com:443 HTTP/1.1\r\n{host}\r\n\r\n").into_bytes(),
        format!("GET /extension HTTP/1.1\r\n{host}\r\nOrigin: chrome-extension://{EXTENSION_ID}\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n").into_bytes(),
    ]
}

#[tokio::test]
async fn survives_malformed_http() {
    let mut relay = Relay::start(&[]).await;
    let port = relay.port;
    for request in malformed_requests(port) {
        let mut stream = http::connect(port).await;
        // The relay may close the connection before it has read everything.
        let _ = stream.write_all(&request).await;
        let _ = stream.shutdown().await;
        let response = http::read_to_end(&mut stream).await;
        let start = String::from_utf8_lossy(&response[..response.len().min(12)]).into_owned();
        let expected = response.is_empty()
            || start.starts_with("HTTP/1.1 4")
            || start.starts_with("HTTP/1.1 2")
            || start.starts_with("HTTP/1.0 4");
        assert!(
            expected,
            "{start} to {:?}",
            String::from_utf8_lossy(&request[..request.len().min(60)])
        );
    }
    let (_, response) = http::exchange(port, http::head(port, "GET", "//", &[])).await;
    assert_eq!(response.status, 404);
    assert!(relay.is_alive().await);
    let _next = Client::connect(&relay).await;
}

#[tokio::test]
async fn survives_malformed_websocket_frames() {
    let mut relay = Relay::start(&[]).await;
    let path = relay.cdp_path();
    let frames: [&[u8]; 8] = [
        b"\xff\xff\xff\xff\xff\xff\xff\xff", // reserved bits and an unknown opcode
        b"\x81\x05hello",                    // not masked
        b"\x81\x82\x00\x00\x00\x00\xc3\x28", // not UTF-8
        b"\x89\xfe\x00\x80\x00\x00\x00\x00", // a ping over 125 bytes
        b"\x88\x81\x00\x00\x00\x00\x01",     // a close frame with half a code
        b"\x80\x80\x00\x00\x00\x00",         // a continuation of nothing
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", // a length beyond any memory
        b"\x81\xfe",                         // half a header
    ];
    for frame in frames {
        let (mut stream, _) = until("get the client slot", async || {
            Some(http::upgrade(relay.port, &path, &[]).await)
                .filter(|(_, response)| response.status == 101)
        })
        .await;
        stream.write_all(frame).await.unwrap();
        stream.shutdown().await.unwrap();
        http::read_to_end(&mut stream).await;
    }
    relay.until_clients(0).await;
    assert!(relay.is_alive().await);
    assert!(relay.memory() < 100, "{} MiB", relay.memory());
}

/// Valid JSON that makes no sense in the extension protocol.
const INVALID_EXTENSION_MESSAGES: [&str; 28] = [
    "null",
    "7",
    "[]",
    "{}",
    "[null]",
    "[[[]]]",
    r#"{"id":1}"#,
    r#"{"id":-1,"result":{}}"#,
    r#"{"id":123456789,"result":{}}"#,
    r#"{"id":123456789,"error":{"code":"x"}}"#,
    r#"{"method":7}"#,
    r#"{"method":"unknown","params":{}}"#,
    r#"{"method":"hello","params":{"protocol":2}}"#,
    r#"{"method":"browser","params":{}}"#,
    r#"{"method":"cdpEvent"}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":99,"method":"Page.loadEventFired"}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Target.attachedToTarget","params":{}}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Target.attachedToTarget","params":7}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Target.detachedFromTarget","params":{"sessionId":3}}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Runtime.executionContextCreated","params":{"context":{}}}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Runtime.executionContextDestroyed","params":[]}}"#,
    r#"{"method":"cdpEvent","params":{"tabId":1,"method":"Page.loadEventFired","params":{},"childSessionId":"unknown"}}"#,
    r#"{"method":"tabUpdated","params":{"tabId":99,"url":"x"}}"#,
    r#"{"method":"tabUpdated","params":{"tabId":1,"status":"strange"}}"#,
    r#"{"method":"tabRemoved","params":{"tabId":99}}"#,
    r#"{"method":"tabDetached","params":{"tabId":99}}"#,
    r#"{"method":"tabReplaced","params":{}}"#,
];

#[tokio::test]
async fn ignores_invalid_messages_from_the_extension() {
    let (mut relay, extension, mut client, session) = start_with_session().await;
    client.ok_in(&session, "Runtime.enable", json!({})).await;
    evaluate(&mut client, &session).await;
    for text in INVALID_EXTENSION_MESSAGES {
        extension.send_text(text).await;
    }
    let params = json!({ "expression": "2" });
    let result = client
        .ok_in(&session, "Runtime.evaluate", params.clone())
        .await;
    assert_eq!(result, echo("Runtime.evaluate", &params));
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn drops_an_extension_that_sends_no_json_and_fails_its_commands() {
    let (mut relay, extension, mut client, session) = start_with_live_session().await;
    extension.hold("Page.navigate");
    let in_flight = client
        .send(Some(&session), "Page.navigate", json!({}))
        .await;
    extension.send_text("nonsense").await;
    let error = client.error_of(in_flight).await;
    assert_message(&error, "outcome is unknown");
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn accepts_several_extension_messages_in_one_frame() {
    let (_relay, mut extension, mut client, session) = start_with_session().await;
    extension.hold("Runtime.evaluate");
    client.ok_in(&session, "Log.enable", json!({})).await;
    let (mut ids, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let id = client
            .send(Some(&session), "Runtime.evaluate", json!({}))
            .await;
        ids.push(id);
    }
    for _ in 0..2 {
        calls.push(extension.held_call("Runtime.evaluate").await.id);
    }
    let entry = json!({ "method": "cdpEvent", "params": { "tabId": 1, "method": "Log.entryAdded", "params": { "entry": 1 } } });
    let frame = json!([{ "id": calls[1], "result": { "n": 2 } }, entry, { "id": calls[0], "result": { "n": 1 } }]);
    extension.send_text(frame.to_string()).await;
    assert_eq!(client.reply_to(ids[0]).await.unwrap()["n"], 1);
    assert_eq!(client.reply_to(ids[1]).await.unwrap()["n"], 2);
    assert_eq!(
        client.event_in(&session, "Log.entryAdded").await["params"],
        json!({ "entry": 1 })
    );
}

/// Deep DOM trees are legitimate, so the relay must not limit the depth of payloads it forwards.
#[tokio::test]
async fn forwards_deep_payloads_unchanged_in_both_directions() {
    let (mut relay, mut extension, mut client, session) = start_with_live_session().await;
    extension.hold("Runtime.callFunctionOn");
    client.drain().await;
    for depth in [100, 100_000] {
        let deep = format!("{{\"deep\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_forwards_unchanged(&mut extension, &mut client, &session, &deep).await;
    }
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn forwards_deep_payloads_when_it_removes_a_parameter() {
    let (mut relay, mut extension, mut client, _session) = start_with_live_session().await;
    let context = default_context(&mut client).await;
    extension.hold("Storage.setCookies");
    for (id, depth) in [(501, 100), (502, 100_000)] {
        let deep = format!("{{\"deep\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let with_context = deep.replacen('{', &format!(r#"{{"browserContextId":{context},"#), 1);
        client
            .send_text(format!(
                r#"{{"id":{id},"method":"Storage.setCookies","params":{with_context}}}"#
            ))
            .await;
        let call = extension.held_call("Storage.setCookies").await;
        assert!(call.params == deep, "{depth} levels");
        extension.reply(&call, json!({})).await;
        client.reply_to(id).await.unwrap();
    }
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn rejects_deep_nesting_in_fields_that_it_reads() {
    let (mut relay, extension, mut client) = start(&[1]).await;
    for depth in [100, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for text in [
            "[".repeat(depth),
            deep.clone(),
            format!(r#"{{"id":{deep},"method":"x"}}"#),
        ] {
            client.send_text(text).await;
            let reply = client.reply_without_id().await;
            let code = reply["error"]["code"].as_i64().unwrap();
            assert!(code == -32700 || code == -32600, "{code}");
        }
        for method in [
            "Target.getTargets",
            "Target.setAutoAttach",
            "Target.createTarget",
            "Browser.getVersion",
        ] {
            client
                .send_text(format!(
                    r#"{{"id":700,"method":"{method}","params":{{"filter":{deep},"url":{deep}}}}}"#
                ))
                .await;
            let reply = client.reply_to(700).await;
            let reads_no_params = method == "Browser.getVersion";
            assert_eq!(reply.is_ok(), reads_no_params, "{method}: {reply:?}");
        }
        for text in [
            deep.clone(),
            format!(r#"{{"method":"tabUpdated","params":{deep}}}"#),
            format!(r#"{{"id":{deep}}}"#),
        ] {
            extension.send_text(text).await;
        }
        client.ok("Browser.getVersion", json!({})).await;
    }
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn cleans_up_after_clients_that_disconnect_in_mid_command() {
    let (mut relay, extension) = start_relay(MULTI_CLIENT, &[1, 2]).await;
    for round in 0..40 {
        let mut client = Client::connect(&relay).await;
        let session = attach(&mut client, 1 + round % 2).await;
        client
            .send(Some(&session), "Runtime.enable", json!({}))
            .await;
        let params = json!({ "round": round });
        client
            .send(Some(&session), "Runtime.evaluate", params)
            .await;
        if round % 3 == 0 {
            client.reset();
        }
    }
    relay.until_clients(0).await;
    extension
        .until_calls("every attached tab is detached", |calls| {
            let count = |name| calls.iter().filter(|call| call.name == name).count();
            count("attachTab") == count("detachTab")
        })
        .await;
    let mut client = Client::connect(&relay).await;
    let session = attach(&mut client, 1).await;
    evaluate(&mut client, &session).await;
    assert!(relay.is_alive().await);
}
