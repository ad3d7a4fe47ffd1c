//! What clients do with targets: attach, create, activate and close them.

use serde_json::{Value, json};
use tabwire_tests::{Client, ScriptedExtension, tab, target_of};

use crate::setup::{
    MULTI_CLIENT, assert_message, assert_no_messages, attach, auto_attach_params, evaluate,
    methods, session_of, start, start_relay,
};

#[tokio::test]
async fn client_can_attach_to_a_target_more_than_once() {
    let (_relay, extension, mut client) = start(&[1]).await;
    let params = json!({ "targetId": target_of(1), "flatten": true });
    let messages = client
        .messages_until_reply(None, "Target.attachToTarget", params)
        .await;
    assert_eq!(methods(&messages), ["Target.attachedToTarget", "reply"]);
    let first = session_of(&messages[1]["result"]);
    assert_eq!(messages[0]["params"]["sessionId"], first.as_str());
    let second = attach(&mut client, 1).await;
    assert_ne!(first, second);
    evaluate(&mut client, &first).await;
    evaluate(&mut client, &second).await;
    assert_eq!(extension.calls("attachTab").len(), 1);

    client
        .ok("Target.detachFromTarget", json!({ "sessionId": first }))
        .await;
    let detached = client.event("Target.detachedFromTarget").await;
    assert_eq!(detached["params"]["sessionId"], first.as_str());
    evaluate(&mut client, &second).await;
    assert!(
        extension.calls("detachTab").is_empty(),
        "the second session still uses the tab"
    );
    client
        .ok("Target.detachFromTarget", json!({ "sessionId": second }))
        .await;
    extension.until_called("detachTab", 1).await;
}

#[tokio::test]
async fn rejects_attaching_to_an_unknown_target_or_without_flatten() {
    let (_relay, _extension, mut client) = start(&[1]).await;
    for params in [
        json!({ "targetId": "nothing", "flatten": true }),
        json!({ "targetId": target_of(1) }),
    ] {
        let error = client.error("Target.attachToTarget", params).await;
        assert_eq!(error["code"], -32000, "{error}");
    }
}

#[tokio::test]
async fn browser_session_works_like_the_root_session() {
    let (_relay, _extension, mut client) = start(&[1]).await;
    let session = session_of(&client.ok("Target.attachToBrowserTarget", json!({})).await);
    let version = client
        .ok_in(&session, "Browser.getVersion", json!({}))
        .await;
    assert_eq!(version["product"], "Chrome/156.0.8078.79");
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true });
    let messages = client
        .messages_until_reply(Some(&session), "Target.setAutoAttach", params)
        .await;
    assert_eq!(methods(&messages), ["Target.attachedToTarget", "reply"]);
    for message in &messages {
        assert_eq!(message["sessionId"], session.as_str(), "{message}");
    }
}

/// Creates a target while the extension announces its tab before or after the reply, and returns
/// the session on it.
async fn create_target(
    extension: &mut ScriptedExtension,
    client: &mut Client,
    event_first: bool,
) -> String {
    let params = json!({ "url": "https://example.com/new" });
    let id = client.send(None, "Target.createTarget", params).await;
    let call = extension.held_call("createTab").await;
    assert_eq!(
        call.params(),
        json!({ "url": "https://example.com/new", "newWindow": false, "active": false, "attach": true }),
        "the tab opens in the background"
    );
    let mut created = tab(9);
    created["attached"] = true.into();
    if event_first {
        extension.send_event("tabCreated", tab(9)).await;
        extension.reply(&call, created).await;
    } else {
        extension.reply(&call, created).await;
        extension.send_event("tabCreated", tab(9)).await;
    }
    let attached = client.event("Target.attachedToTarget").await;
    assert_eq!(attached["params"]["targetInfo"]["targetId"], target_of(9));
    assert_eq!(client.reply_to(id).await.unwrap()["targetId"], target_of(9));
    session_of(&attached["params"])
}

#[tokio::test]
async fn announces_a_created_target_once_whether_event_or_reply_comes_first() {
    for event_first in [false, true] {
        let (_relay, mut extension, mut client) = start(&[1]).await;
        extension.hold("createTab");
        client
            .ok("Target.setDiscoverTargets", json!({ "discover": true }))
            .await;
        client
            .ok("Target.setAutoAttach", auto_attach_params())
            .await;
        client.drain().await;
        let session = create_target(&mut extension, &mut client, event_first).await;
        // Once this change has arrived, so has everything about the new tab.
        let update = json!({ "tabId": 1, "title": "the end" });
        extension.send_event("tabUpdated", update).await;
        client.event("Target.targetInfoChanged").await;
        assert_eq!(
            methods(&client.drain().await),
            ["Target.targetCreated"],
            "event first: {event_first}"
        );
        evaluate(&mut client, &session).await;
    }
}

#[tokio::test]
async fn announces_a_created_target_before_the_reply() {
    let (_relay, mut extension, mut client) = start(&[1]).await;
    extension.hold("createTab");
    client
        .ok("Target.setAutoAttach", auto_attach_params())
        .await;
    let creating = client.messages_until_reply(None, "Target.createTarget", json!({ "url": "" }));
    let replying = async {
        let call = extension.held_call("createTab").await;
        assert_eq!(call.params()["url"], "about:blank");
        extension.reply(&call, tab(9)).await;
    };
    let (messages, ()) = tokio::join!(creating, replying);
    assert_eq!(methods(&messages), ["Target.attachedToTarget", "reply"]);
}

#[tokio::test]
async fn reports_why_a_target_cannot_be_created() {
    let (_relay, mut extension, mut client) = start(&[1]).await;
    extension.hold("createTab");
    let params = json!({ "url": "chrome://crash" });
    let id = client.send(None, "Target.createTarget", params).await;
    let call = extension.held_call("createTab").await;
    extension
        .reply_error(&call, json!("this address is not opened for clients"))
        .await;
    assert_message(&client.error_of(id).await, "not opened");
    let params = json!({ "url": "about:blank", "browserContextId": "other" });
    let error = client.error("Target.createTarget", params).await;
    assert_message(&error, "other");
}

#[tokio::test]
async fn rejects_browser_contexts_other_than_the_default() {
    let (_relay, _extension, mut client) = start(&[1]).await;
    for method in [
        "Target.createBrowserContext",
        "Target.disposeBrowserContext",
    ] {
        let error = client
            .error(method, json!({ "browserContextId": "x" }))
            .await;
        assert_message(&error, "the user's profile");
    }
}

#[tokio::test]
async fn announces_a_closed_target_after_the_reply() {
    let (_relay, extension, mut client) = start(&[1, 2]).await;
    client
        .ok("Target.setDiscoverTargets", json!({ "discover": true }))
        .await;
    let session = attach(&mut client, 1).await;
    let params = json!({ "targetId": target_of(1) });
    let messages = client
        .messages_until_reply(None, "Target.closeTarget", params.clone())
        .await;
    assert_eq!(methods(&messages), ["reply"]);
    assert_eq!(messages[0]["result"], json!({ "success": true }));
    let detached = json!({ "sessionId": session, "targetId": target_of(1) });
    let event = client.event("Target.detachedFromTarget").await;
    assert_eq!(event["params"], detached);
    client.event("Target.targetDestroyed").await;
    extension
        .send_event("tabRemoved", json!({ "tabId": 1 }))
        .await;
    assert_eq!(extension.calls("closeTab")[0].tab, Some(1));
    let targets = client.ok("Target.getTargets", json!({})).await;
    let infos = targets["targetInfos"].as_array().unwrap();
    let ids: Vec<&Value> = infos.iter().map(|info| &info["targetId"]).collect();
    assert_eq!(ids, [&json!(target_of(2))]);
    assert_no_messages(&mut client, "the target is announced as closed only once").await;
    let error = client.error("Target.closeTarget", params).await;
    assert_eq!(error["code"], -32000);
}

#[tokio::test]
async fn browser_close_disconnects_only_the_client_that_sent_it() {
    let (relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut leaving, mut staying) = (Client::connect(&relay).await, Client::connect(&relay).await);
    leaving.ok("Browser.close", json!({})).await;
    let (code, reason) = leaving.wait_for_close().await.unwrap();
    assert_eq!(code, 1000);
    assert!(reason.contains("browser stays open"), "{reason}");
    relay.until_clients(1).await;
    let session = attach(&mut staying, 1).await;
    evaluate(&mut staying, &session).await;
    assert!(extension.calls("closeTab").is_empty());
    assert_eq!(relay.get("/").await["targets"], 1);
}

#[tokio::test]
async fn activates_a_tab_only_on_request() {
    let (_relay, extension, mut client) = start(&[1, 2]).await;
    let session = attach(&mut client, 2).await;
    evaluate(&mut client, &session).await;
    assert!(extension.calls("activateTab").is_empty());
    client
        .ok("Target.activateTarget", json!({ "targetId": target_of(2) }))
        .await;
    assert_eq!(extension.calls("activateTab")[0].tab, Some(2));
}
