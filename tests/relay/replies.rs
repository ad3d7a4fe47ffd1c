//! Every request gets exactly one reply, and the reply says what is wrong.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tabwire_tests::{Client, EXTENSION_ID, Relay, ScriptedExtension, tab};
use tokio_tungstenite::tungstenite::Message;

const MULTI: &[&str] = &["--client-mode", "multi-client"];

#[tokio::test]
async fn an_unknown_method_of_the_browser_is_not_found() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    for method in [
        "Browser.crash",
        "Target.exposeDevToolsProtocol",
        "Tabwire.nothing",
        "NoDomain",
        "SystemInfo.getInfo",
    ] {
        let error = client.request(method, json!({})).await.unwrap_err();
        assert_eq!(error["code"], -32601, "{method}");
        assert!(crate::message_of(&error).contains(method), "{error}");
    }
    assert_eq!(
        extension.call_names(),
        ["listTabs"],
        "the browser hears nothing of it"
    );
}

#[tokio::test]
async fn what_is_not_a_request_is_answered_with_the_code_that_says_why() {
    let mut relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
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
    // Where an id can be read, the reply has it.
    for text in [
        r#"{"id":901}"#,
        r#"{"id":901,"method":7}"#,
        r#"{"id":901,"method":"Browser.getVersion","params":[]}"#,
    ] {
        client.send_text(text).await;
        assert_eq!(
            client.reply_to(901).await.unwrap_err()["code"],
            -32600,
            "{text}"
        );
    }
    client.ok("Browser.getVersion", json!({})).await;
    assert_eq!(
        client.said_so_far().await,
        Vec::<Value>::new(),
        "nothing is answered twice"
    );
    assert!(relay.lives().await);
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let cases = [
        ("Target.setDiscoverTargets", json!({})),
        ("Target.setAutoAttach", json!({ "autoAttach": "yes" })),
        ("Target.createTarget", json!({})),
        ("Target.getTargets", json!({ "filter": 3 })),
    ];
    for (method, params) in cases {
        let error = client.request(method, params).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{method}");
        assert!(crate::message_of(&error).contains(method), "{error}");
    }
}

#[tokio::test]
async fn a_session_that_is_unknown_or_of_another_client_is_not_found() {
    let relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut owner, mut other) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let session = crate::attach(&mut owner, 1).await;
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
            let reply = other.said_so_far().await;
            assert_eq!(reply.len(), 1, "{reply:?}");
            assert_eq!(
                (
                    &reply[0]["id"],
                    &reply[0]["error"]["code"],
                    &reply[0]["sessionId"]
                ),
                (&json!(id), &json!(-32001), &json!(name))
            );
        }
    }
    let error = other
        .request("Target.detachFromTarget", json!({ "sessionId": session }))
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32001);
    assert!(extension.calls("Runtime.evaluate").is_empty());
    owner.ok_in(&session, "Runtime.evaluate", json!({})).await;
    // A session that was detached is as unknown as one that never was.
    owner
        .ok("Target.detachFromTarget", json!({ "sessionId": session }))
        .await;
    assert_eq!(
        owner
            .request_in(&session, "Runtime.evaluate", json!({}))
            .await
            .unwrap_err()["code"],
        -32001
    );
}

#[tokio::test]
async fn without_an_extension_every_command_says_so_at_once() {
    let relay = Relay::start(&[]).await;
    let mut client = Client::connect(&relay).await;
    let started = Instant::now();
    for method in [
        "Browser.getVersion",
        "Target.getTargets",
        "Target.createTarget",
        "Target.setAutoAttach",
        "Storage.getCookies",
    ] {
        let params = json!({ "url": "about:blank", "autoAttach": true, "flatten": true });
        let error = client.request(method, params).await.unwrap_err();
        assert_eq!(error["code"], -32000, "{method}");
        let message = crate::message_of(&error);
        assert!(
            message.contains("Tabwire extension") && message.contains("install-extension"),
            "{message}"
        );
    }
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn what_is_said_while_the_extension_greets_is_answered_when_it_is_known() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::open(&relay, EXTENSION_ID, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let ids = [
        client.send(None, "Target.getTargets", json!({})).await,
        client.send(None, "Browser.getVersion", json!({})).await,
    ];
    extension.greet().await;
    assert_eq!(
        client.reply_to(ids[0]).await.unwrap()["targetInfos"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        client.reply_to(ids[1]).await.unwrap()["product"],
        "Chrome/156.0.8078.79"
    );
}

#[tokio::test]
async fn an_extension_that_goes_while_it_greets_lets_nobody_wait() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::open(&relay, EXTENSION_ID, &[tab(1)]).await;
    extension.hold("listTabs");
    extension.greet().await;
    extension.until_called("listTabs", 1).await;
    let mut client = Client::connect(&relay).await;
    let id = client.send(None, "Target.getTargets", json!({})).await;
    extension.vanish().await;
    assert!(crate::message_of(&client.reply_to(id).await.unwrap_err()).contains("extension"));
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
}

#[tokio::test]
async fn commands_under_way_when_the_extension_goes_have_an_unknown_outcome_and_are_not_sent_again()
{
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let mut client = Client::connect(&relay).await;
    let (live, waking) = (
        crate::attach(&mut client, 1).await,
        crate::attach(&mut client, 2).await,
    );
    client
        .ok_in(&live, "Runtime.evaluate", json!({ "expression": "1" }))
        .await;
    for name in ["Runtime.evaluate", "attachTab", "createTab", "closeTab"] {
        extension.hold(name);
    }
    let ids = [
        client
            .send(
                Some(&live),
                "Runtime.evaluate",
                json!({ "expression": "click()" }),
            )
            .await,
        client
            .send(
                Some(&waking),
                "Runtime.evaluate",
                json!({ "expression": "click()" }),
            )
            .await,
        client
            .send(None, "Target.createTarget", json!({ "url": "about:blank" }))
            .await,
        client
            .send(
                None,
                "Target.closeTarget",
                json!({ "targetId": tabwire_tests::target_of(1) }),
            )
            .await,
    ];
    extension.held_call("closeTab").await;
    extension.vanish().await;
    for id in ids {
        let error = client.reply_to(id).await.unwrap_err();
        assert!(
            crate::message_of(&error).contains("outcome is unknown"),
            "{error}"
        );
    }
    let error = client
        .request_in(&live, "Runtime.evaluate", json!({}))
        .await
        .unwrap_err();
    assert!(
        crate::message_of(&error).contains("No browser connected"),
        "{error}"
    );

    let next = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    // The client's sessions are still its own: the next command wakes the tab anew.
    client
        .ok_in(&live, "Runtime.evaluate", json!({ "expression": "2" }))
        .await;
    assert_eq!(next.calls("Runtime.evaluate").len(), 1);
    assert!(
        !next
            .call_names()
            .iter()
            .any(|name| name == "createTab" || name == "closeTab"),
        "{:?}",
        next.call_names()
    );
    assert!(
        client
            .said_so_far()
            .await
            .iter()
            .all(|message| message.get("id").is_none()),
        "nothing is answered twice"
    );
}

#[tokio::test]
async fn chromes_own_errors_are_passed_on_to_the_letter() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("DOM.describeNode");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    let coded = json!({ "code": -32602, "message": "Invalid parameters", "data": "nodeId: integer value expected" });
    for (said, heard) in [
        (coded.clone(), coded),
        (
            json!("plain text"),
            json!({ "code": -32000, "message": "plain text" }),
        ),
    ] {
        let id = client
            .send(Some(&session), "DOM.describeNode", json!({}))
            .await;
        let call = extension.held_call("DOM.describeNode").await;
        extension.fail(&call, said).await;
        assert_eq!(client.reply_to(id).await.unwrap_err(), heard);
    }
}

#[tokio::test]
async fn a_binary_frame_ends_the_link_of_who_sent_it_and_no_other() {
    let mut relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut binary, mut other) = (Client::connect(&relay).await, Client::connect(&relay).await);
    binary.send_message(Message::binary(vec![0; 64])).await;
    let (code, reason) = binary.closed().await.unwrap();
    assert_eq!(code, 1003);
    assert!(reason.contains("text"), "{reason}");
    relay.until_clients(1).await;
    extension.send_message(Message::binary(vec![0; 64])).await;
    assert_eq!(extension.closed().await.unwrap().0, 1003);
    other
        .request("Browser.getVersion", json!({}))
        .await
        .unwrap_err();
    let _next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    other.ok("Browser.getVersion", json!({})).await;
    assert!(relay.lives().await);
}
