//! Every request gets exactly one reply, and an error reply names the cause.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, tab, target_of};
use tokio_tungstenite::tungstenite::Message;

use crate::setup::{
    MULTI_CLIENT, assert_message, assert_no_messages, assert_no_session, attach, evaluate, start,
    start_relay, start_with_session,
};

#[tokio::test]
async fn rejects_unknown_browser_methods() {
    let (_relay, extension, mut client) = start(&[1]).await;
    for method in [
        "Browser.crash",
        "Target.exposeDevToolsProtocol",
        "Tabwire.nothing",
        "NoDomain",
        "SystemInfo.getInfo",
    ] {
        let error = client.error(method, json!({})).await;
        assert_eq!(error["code"], -32601, "{method}");
        assert_message(&error, method);
    }
    assert_eq!(
        extension.call_names(),
        ["listTabs"],
        "the browser gets none of them"
    );
}

#[tokio::test]
async fn rejects_messages_that_are_not_requests() {
    let (mut relay, _extension, mut client) = start(&[1]).await;
    let cases = [
        ("nonsense", -32700),
        ("", -32700),
        ("{", -32700),
        (r#"{"id":1,"method":"Browser.getVersion""#, -32700),
        ("{\"id\":1,\"method\":\"Browser.getVersion\"}x", -32700),
        ("null", -32600),
        ("7", -32600),
        ("\"Browser.getVersion\"", -32600),
        ("[]", -32600),
        (r#"[{"id":1,"method":"Browser.getVersion"}]"#, -32600),
        ("{}", -32600),
        (r#"{"method":"Browser.getVersion"}"#, -32600),
        (r#"{"id":"1","method":"Browser.getVersion"}"#, -32600),
        (r#"{"id":1.5,"method":"Browser.getVersion"}"#, -32600),
        (
            r#"{"id":99999999999999999999,"method":"Browser.getVersion"}"#,
            -32600,
        ),
    ];
    for (text, code) in cases {
        client.send_text(text).await;
        let reply = client.reply_without_id().await;
        assert_eq!(reply["error"]["code"], code, "{text}: {reply}");
    }
    // If the message has a valid id, so has the reply.
    for text in [
        r#"{"id":901}"#,
        r#"{"id":901,"method":7}"#,
        r#"{"id":901,"method":"Browser.getVersion","params":5}"#,
    ] {
        client.send_text(text).await;
        assert_eq!(client.error_of(901).await["code"], -32600, "{text}");
    }
    client.ok("Browser.getVersion", json!({})).await;
    assert_no_messages(&mut client, "no second reply").await;
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn names_the_method_with_invalid_parameters() {
    let (_relay, _extension, mut client) = start(&[1]).await;
    let cases = [
        ("Target.setDiscoverTargets", json!({})),
        ("Target.setAutoAttach", json!({ "autoAttach": "yes" })),
        ("Target.createTarget", json!({})),
        ("Target.getTargets", json!({ "filter": 3 })),
    ];
    for (method, params) in cases {
        let error = client.error(method, params).await;
        assert_eq!(error["code"], -32602, "{method}");
        assert_message(&error, method);
    }
}

#[tokio::test]
async fn rejects_sessions_that_are_unknown_or_belong_to_another_client() {
    let (relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut owner, mut other) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let session = attach(&mut owner, 1).await;
    for name in [
        session.as_str(),
        "0123456789ABCDEF0123456789ABCDEF",
        "nonsense",
        &session.to_lowercase(),
    ] {
        for method in [
            "Runtime.evaluate",
            "Target.getTargetInfo",
            "Browser.getVersion",
        ] {
            let id = other.send(Some(name), method, json!({})).await;
            let messages = other.drain().await;
            assert_eq!(messages.len(), 1, "{messages:?}");
            let reply = &messages[0];
            assert_eq!(
                (&reply["id"], &reply["error"]["code"], &reply["sessionId"]),
                (&json!(id), &json!(-32001), &json!(name))
            );
        }
    }
    let error = other
        .error("Target.detachFromTarget", json!({ "sessionId": session }))
        .await;
    assert_eq!(error["code"], -32001);
    assert!(extension.calls("Runtime.evaluate").is_empty());
    evaluate(&mut owner, &session).await;
    owner
        .ok("Target.detachFromTarget", json!({ "sessionId": session }))
        .await;
    assert_no_session(&mut owner, &session).await;
}

#[tokio::test]
async fn fails_commands_without_delay_while_no_extension_is_connected() {
    let relay = Relay::start(&[]).await;
    let mut client = Client::connect(&relay).await;
    for method in [
        "Browser.getVersion",
        "Target.getTargets",
        "Target.createTarget",
        "Target.setAutoAttach",
        "Storage.getCookies",
    ] {
        let params = json!({ "url": "about:blank", "autoAttach": true, "flatten": true });
        let id = client.send(None, method, params).await;
        // The relay replies to this one right away. A command that it kept back would be overtaken.
        client.send_text("nonsense").await;
        let reply = client.next_message().await;
        assert_eq!(reply["id"], id, "{method}: {reply}");
        assert_eq!(reply["error"]["code"], -32000, "{method}");
        assert_message(&reply["error"], "Tabwire extension");
        assert_message(&reply["error"], "install-extension");
        assert_eq!(client.reply_without_id().await["error"]["code"], -32700);
    }
}

#[tokio::test]
async fn holds_commands_until_the_extension_has_listed_its_tabs() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::open(&relay, &[]).await;
    extension.hold("listTabs");
    let list = extension.held_call("listTabs").await;
    let mut client = Client::connect(&relay).await;
    let targets = client.send(None, "Target.getTargets", json!({})).await;
    let version = client.send(None, "Browser.getVersion", json!({})).await;
    extension.reply(&list, json!({ "tabs": [tab(1)] })).await;
    let targets = client.reply_to(targets).await.unwrap();
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    let version = client.reply_to(version).await.unwrap();
    assert_eq!(version["product"], "Chrome/156.0.8078.79");
}

#[tokio::test]
async fn held_commands_wait_on_if_the_extension_disconnects_before_it_is_ready() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::open(&relay, &[tab(1)]).await;
    extension.hold("listTabs");
    extension.until_called("listTabs", 1).await;
    let mut client = Client::connect(&relay).await;
    let id = client.send(None, "Target.getTargets", json!({})).await;
    extension.drop_connection().await;
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    client.reply_to(id).await.unwrap();
}

#[tokio::test]
async fn fails_commands_in_flight_when_the_extension_disconnects_and_does_not_retry_them() {
    let (relay, mut extension, mut client) = start(&[1, 2]).await;
    let live = attach(&mut client, 1).await;
    let waking = attach(&mut client, 2).await;
    evaluate(&mut client, &live).await;
    for name in ["Runtime.evaluate", "attachTab", "createTab", "closeTab"] {
        extension.hold(name);
    }
    let click = json!({ "expression": "click()" });
    let in_flight = [
        (Some(live.as_str()), "Runtime.evaluate", click.clone()),
        (Some(&waking), "Runtime.evaluate", click),
        (None, "Target.createTarget", json!({ "url": "about:blank" })),
        (
            None,
            "Target.closeTarget",
            json!({ "targetId": target_of(1) }),
        ),
    ];
    let mut ids = Vec::new();
    for (session, method, params) in in_flight {
        ids.push(client.send(session, method, params).await);
    }
    extension.held_call("closeTab").await;
    extension.drop_connection().await;
    for id in ids {
        assert_message(&client.error_of(id).await, "outcome is unknown");
    }
    let waiting = client
        .send(
            Some(&live),
            "Runtime.evaluate",
            json!({ "expression": "1" }),
        )
        .await;

    let next = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    // The sessions still exist. A command that arrived meanwhile has waited, and was sent once.
    client.reply_to(waiting).await.unwrap();
    assert_eq!(next.calls("Runtime.evaluate").len(), 1);
    for name in ["createTab", "closeTab"] {
        assert!(next.calls(name).is_empty(), "{:?}", next.call_names());
    }
    let is_event = |message: &Value| message.get("id").is_none();
    assert!(client.drain().await.iter().all(is_event), "no second reply");
}

#[tokio::test]
async fn forwards_errors_from_chrome_unchanged() {
    let (_relay, mut extension, mut client, session) = start_with_session().await;
    extension.hold("DOM.describeNode");
    let with_code = json!({ "code": -32602, "message": "Invalid parameters", "data": "nodeId: integer value expected" });
    for (from_chrome, expected) in [
        (with_code.clone(), with_code),
        (
            json!("plain text"),
            json!({ "code": -32000, "message": "plain text" }),
        ),
    ] {
        let id = client
            .send(Some(&session), "DOM.describeNode", json!({}))
            .await;
        let call = extension.held_call("DOM.describeNode").await;
        extension.reply_error(&call, from_chrome).await;
        assert_eq!(client.error_of(id).await, expected);
    }
}

#[tokio::test]
async fn closes_only_the_sender_of_a_binary_frame() {
    let (mut relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut binary, mut other) = (Client::connect(&relay).await, Client::connect(&relay).await);
    binary.send_message(Message::binary(vec![0; 64])).await;
    let (code, reason) = binary.wait_for_close().await.unwrap();
    assert_eq!(code, 1003);
    assert!(reason.contains("text"), "{reason}");
    relay.until_clients(1).await;
    extension.send_message(Message::binary(vec![0; 64])).await;
    assert_eq!(extension.wait_for_close().await.unwrap().0, 1003);
    other.error("Browser.getVersion", json!({})).await;
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    other.ok("Browser.getVersion", json!({})).await;
    assert!(relay.is_alive().await);
}
