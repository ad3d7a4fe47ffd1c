//! What arrives broken: nothing of it ends the process, and everyone else is served on.

use serde_json::json;
use tabwire_tests::{Client, EXTENSION_ID, Relay, ScriptedExtension, http, tab, until, within};
use tokio::io::AsyncWriteExt as _;

#[tokio::test]
async fn broken_http_ends_a_connection_and_not_the_relay() {
    let mut relay = Relay::start(&[]).await;
    let port = relay.port;
    let host = format!("Host: 127.0.0.1:{port}");
    let pieces: Vec<Vec<u8>> = vec![
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
    ];
    for piece in pieces {
        let mut stream = http::connect(port).await;
        // The relay may have closed before all of it is said.
        let _ = stream.write_all(&piece).await;
        let _ = stream.shutdown().await;
        let answer = http::read_to_end(&mut stream).await;
        let start = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
        let refused = answer.is_empty()
            || start.starts_with("HTTP/1.1 4")
            || start.starts_with("HTTP/1.1 2")
            || start.starts_with("HTTP/1.0 4");
        assert!(
            refused,
            "{start} to {:?}",
            String::from_utf8_lossy(&piece[..piece.len().min(60)])
        );
    }
    let (_, answer) = http::exchange(port, format!("GET // HTTP/1.1\r\n{host}\r\n\r\n")).await;
    assert_eq!(answer.status, 404);
    assert!(relay.lives().await);
    let _next = Client::connect(&relay).await;
}

#[tokio::test]
async fn broken_websocket_frames_end_a_link_and_not_the_relay() {
    let mut relay = Relay::start(&[]).await;
    let path = format!("/cdp?token={}", relay.token());
    let frames: [&[u8]; 8] = [
        b"\xff\xff\xff\xff\xff\xff\xff\xff", // reserved bits and an unknown kind
        b"\x81\x05hello",                    // a client's frame without a mask
        b"\x81\x82\x00\x00\x00\x00\xc3\x28", // not UTF-8
        b"\x89\xfe\x00\x80\x00\x00\x00\x00", // a ping longer than pings are
        b"\x88\x81\x00\x00\x00\x00\x01",     // a close with half a code
        b"\x80\x80\x00\x00\x00\x00",         // the end of a message that never began
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", // a length no memory holds
        b"\x81\xfe",                         // the first half of a header
    ];
    for frame in frames {
        let (mut stream, answer) = until("the slot", async || {
            Some(http::upgrade(relay.port, &path, &[]).await)
                .filter(|(_, answer)| answer.status == 101)
        })
        .await;
        assert_eq!(answer.status, 101);
        stream.write_all(frame).await.unwrap();
        stream.shutdown().await.unwrap();
        http::read_to_end(&mut stream).await;
    }
    relay.until_clients(0).await;
    assert!(relay.lives().await);
    assert!(relay.memory() < 100, "{} MiB", relay.memory());
}

#[tokio::test]
async fn nonsense_of_the_extension_harms_nobody() {
    let mut relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.enable", json!({})).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    let texts = [
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
        r#"{"method":"hello","params":{"protocol":1}}"#,
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
    for text in texts {
        extension.send_text(text).await;
    }
    let result = client
        .ok_in(&session, "Runtime.evaluate", json!({ "expression": "2" }))
        .await;
    assert_eq!(
        result,
        crate::echo("Runtime.evaluate", &json!({ "expression": "2" }))
    );
    assert!(relay.lives().await);
}

#[tokio::test]
async fn an_extension_that_does_not_speak_json_is_dropped_and_its_clients_are_answered() {
    let mut relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    extension.hold("Page.navigate");
    let on_the_way = client
        .send(Some(&session), "Page.navigate", json!({}))
        .await;
    extension.send_text("nonsense").await;
    let error = client.reply_to(on_the_way).await.unwrap_err();
    assert!(
        crate::message_of(&error).contains("outcome is unknown"),
        "{error}"
    );
    assert!(relay.lives().await);
}

#[tokio::test]
async fn a_frame_of_the_extension_may_carry_several_messages() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("Runtime.evaluate");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Log.enable", json!({})).await;
    let ids = [
        client
            .send(Some(&session), "Runtime.evaluate", json!({}))
            .await,
        client
            .send(Some(&session), "Runtime.evaluate", json!({}))
            .await,
    ];
    let calls = [
        extension.held_call("Runtime.evaluate").await,
        extension.held_call("Runtime.evaluate").await,
    ];
    let entry = json!({ "method": "cdpEvent", "params": { "tabId": 1, "method": "Log.entryAdded", "params": { "entry": 1 } } });
    let frame = json!([{ "id": calls[1].id, "result": { "n": 2 } }, entry, { "id": calls[0].id, "result": { "n": 1 } }]);
    extension.send_text(frame.to_string()).await;
    assert_eq!(client.reply_to(ids[0]).await.unwrap()["n"], 1);
    assert_eq!(client.reply_to(ids[1]).await.unwrap()["n"], 2);
    assert_eq!(
        client.event_in(&session, "Log.entryAdded").await["params"],
        json!({ "entry": 1 })
    );
}

#[tokio::test]
async fn an_extension_of_another_protocol_is_told_what_to_do() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::open(&relay, EXTENSION_ID, &[]).await;
    extension.event("hello", json!({ "protocol": 7, "version": "9", "browser": "x", "userAgent": "x", "installId": "x" })).await;
    let (code, reason) = extension.closed().await.unwrap();
    assert_eq!(code, 1008);
    assert!(
        reason.contains("protocol 7") && reason.contains("update"),
        "{reason}"
    );
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
}

/// Deep documents are legitimate: what the relay need not read passes at any depth, both ways.
#[tokio::test]
async fn nesting_of_any_depth_passes_both_ways_to_the_letter() {
    let mut relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("Runtime.callFunctionOn");
    extension.hold("Storage.setCookies");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    client.said_so_far().await;
    for (id, depth) in [(501, 100), (502, 100_000)] {
        let deep = format!("{{\"deep\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        client.send_text(format!(r#"{{"id":{id},"method":"Runtime.callFunctionOn","sessionId":"{session}","params":{deep}}}"#)).await;
        let call = extension.held_call("Runtime.callFunctionOn").await;
        assert!(call.params == deep, "{depth} levels to the browser");
        extension
            .send_text(format!(r#"{{"id":{},"result":{deep}}}"#, call.id))
            .await;
        let reply = client.next_text().await;
        assert!(
            reply == format!(r#"{{"id":{id},"result":{deep},"sessionId":"{session}"}}"#),
            "{depth} levels to the client"
        );
        // Also where the relay takes one parameter out.
        let with_context = deep.replacen('{', r#"{"browserContextId":"x","#, 1);
        client
            .send_text(format!(
                r#"{{"id":{id},"method":"Storage.setCookies","params":{with_context}}}"#
            ))
            .await;
        let call = extension.held_call("Storage.setCookies").await;
        assert!(call.params == deep, "{depth} levels of cookies");
        extension.answer(&call, json!({})).await;
        client.reply_to(id).await.unwrap();
    }
    assert!(relay.lives().await);
}

#[tokio::test]
async fn nesting_where_it_makes_no_sense_is_answered_and_harmless() {
    let mut relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    for depth in [100, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        for text in [
            open.clone(),
            format!("{open}{close}"),
            format!(r#"{{"id":{open}{close},"method":"x"}}"#),
        ] {
            client.send_text(text).await;
            let code = client.reply_without_id().await["error"]["code"]
                .as_i64()
                .unwrap();
            assert!(code == -32700 || code == -32600, "{code}");
        }
        for method in [
            "Target.getTargets",
            "Target.setAutoAttach",
            "Target.createTarget",
            "Browser.getVersion",
        ] {
            client.send_text(format!(r#"{{"id":700,"method":"{method}","params":{{"filter":{open}{close},"url":{open}{close}}}}}"#)).await;
            let reply = client.reply_to(700).await;
            assert_eq!(
                reply.is_ok(),
                method == "Browser.getVersion",
                "{method}: {reply:?}"
            );
        }
        for text in [
            format!("{open}{close}"),
            format!(r#"{{"method":"tabUpdated","params":{open}{close}}}"#),
            format!(r#"{{"id":{open}{close}}}"#),
        ] {
            extension.send_text(text).await;
        }
        client.ok("Browser.getVersion", json!({})).await;
    }
    assert!(relay.lives().await);
}

#[tokio::test]
async fn clients_that_come_and_go_in_the_middle_of_everything_leave_nothing_behind() {
    let mut relay = Relay::start(&["--client-mode", "multi-client"]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    for round in 0..40 {
        let mut client = Client::connect(&relay).await;
        let session = crate::attach(&mut client, 1 + round % 2).await;
        client
            .send(Some(&session), "Runtime.enable", json!({}))
            .await;
        client
            .send(
                Some(&session),
                "Runtime.evaluate",
                json!({ "round": round }),
            )
            .await;
        if round % 3 == 0 {
            client.cut();
        }
    }
    relay.until_clients(0).await;
    within("every attachment is taken back", async {
        until("as many detached as attached", async || {
            let (attached, detached) = (
                extension.calls("attachTab").len(),
                extension.calls("detachTab").len(),
            );
            (attached == detached).then_some(())
        })
        .await;
    })
    .await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert!(relay.lives().await);
}
