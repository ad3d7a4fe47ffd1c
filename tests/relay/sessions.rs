//! Which session gets which event: several clients on one tab, and child targets of a page.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, target_of};

use crate::setup::{
    MULTI_CLIENT, assert_message, assert_no_messages, assert_no_session, attach,
    auto_attach_params, default_context, evaluate, session_of, start_relay,
};

const FRAME: &str = "FEDCBA9876543210FEDCBA9876543210";

/// A client and its session on tab 1, which is live.
async fn client_on_tab(relay: &Relay) -> (Client, String) {
    let mut client = Client::connect(relay).await;
    let session = attach(&mut client, 1).await;
    client.ok_in(&session, "Page.enable", json!({})).await;
    evaluate(&mut client, &session).await;
    (client, session)
}

/// The parameters of Chrome's `Target.attachedToTarget` for a child target.
fn attached(child: &str, kind: &str, waiting: bool) -> Value {
    let info = json!({
        "targetId": FRAME, "type": kind, "title": "", "url": "https://other.example/", "attached": true, "canAccessOpener": false,
        "browserContextId": "chromes own",
    });
    json!({ "sessionId": child, "targetInfo": info, "waitingForDebugger": waiting })
}

#[tokio::test]
async fn two_clients_on_one_tab_get_only_their_own_events() {
    let (relay, extension) = start_relay(MULTI_CLIENT, &[1, 2]).await;
    let (mut one, session_one) = client_on_tab(&relay).await;
    let (mut two, session_two) = client_on_tab(&relay).await;
    assert_eq!(extension.calls("attachTab").len(), 1, "one debugger");
    one.ok_in(&session_one, "Network.enable", json!({})).await;
    one.drain().await;
    two.drain().await;

    let request = json!({ "requestId": "1" });
    extension
        .send_cdp_event(1, "Network.requestWillBeSent", request)
        .await;
    for tab in [1, 2] {
        extension
            .send_cdp_event(tab, "Page.loadEventFired", json!({ "timestamp": tab }))
            .await;
    }
    for method in ["Network.requestWillBeSent", "Page.loadEventFired"] {
        assert_eq!(one.event(method).await["sessionId"], session_one.as_str());
    }
    let event = two.event("Page.loadEventFired").await;
    assert_eq!(
        (&event["sessionId"], &event["params"]),
        (&json!(session_two), &json!({ "timestamp": 1 }))
    );
    assert_no_messages(&mut one, "no events of the other tab").await;
    assert_no_messages(&mut two, "no events of a domain it did not enable").await;
}

#[tokio::test]
async fn replies_go_to_the_sender_when_two_clients_use_the_same_id() {
    let (relay, mut extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut one, session_one) = client_on_tab(&relay).await;
    let (mut two, session_two) = client_on_tab(&relay).await;
    extension.hold("Runtime.callFunctionOn");
    for (client, session, name) in [
        (&mut one, &session_one, "one"),
        (&mut two, &session_two, "two"),
    ] {
        client
            .send_text(json!({ "id": 77, "method": "Runtime.callFunctionOn", "sessionId": session, "params": { "of": name } }).to_string())
            .await;
    }
    let calls = [
        extension.held_call("Runtime.callFunctionOn").await,
        extension.held_call("Runtime.callFunctionOn").await,
    ];
    for call in calls.iter().rev() {
        extension.reply(call, call.params()).await;
    }
    assert_eq!(one.reply_to(77).await.unwrap(), json!({ "of": "one" }));
    assert_eq!(two.reply_to(77).await.unwrap(), json!({ "of": "two" }));
}

#[tokio::test]
async fn tab_stays_attached_until_its_last_client_disconnects() {
    let (relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (one, _) = client_on_tab(&relay).await;
    let (mut two, session_two) = client_on_tab(&relay).await;
    one.reset();
    relay.until_clients(1).await;
    evaluate(&mut two, &session_two).await;
    assert!(extension.calls("detachTab").is_empty());
    extension
        .send_cdp_event(1, "Page.loadEventFired", json!({}))
        .await;
    two.event_in(&session_two, "Page.loadEventFired").await;
    two.close().await;
    extension.until_called("detachTab", 1).await;
}

/// A client that attaches to the children of tab 1, with its page session.
async fn client_with_children(relay: &Relay) -> (Client, String) {
    let (mut client, page) = client_on_tab(relay).await;
    client
        .ok_in(&page, "Target.setAutoAttach", auto_attach_params())
        .await;
    (client, page)
}

/// Waits until a child target is announced to a page session, and returns the child's session.
async fn attached_child(client: &mut Client, page: &str) -> String {
    let context = default_context(client).await;
    let event = client.event_in(page, "Target.attachedToTarget").await;
    let params = &event["params"];
    assert_eq!(params["waitingForDebugger"], true);
    assert_eq!(
        (
            &params["targetInfo"]["targetId"],
            &params["targetInfo"]["type"],
            &params["targetInfo"]["browserContextId"]
        ),
        (&json!(FRAME), &json!("iframe"), &context)
    );
    assert_ne!(params["sessionId"], "CHILD", "Chrome's own session id");
    session_of(params)
}

#[tokio::test]
async fn each_client_gets_its_own_session_for_a_child_target() {
    let (relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut one, page_one) = client_with_children(&relay).await;
    let (mut two, page_two) = client_with_children(&relay).await;
    let (mut bystander, _) = client_on_tab(&relay).await;
    bystander.drain().await;
    let announcement = attached("CHILD", "iframe", true);
    extension
        .send_cdp_event(1, "Target.attachedToTarget", announcement)
        .await;
    let child_one = attached_child(&mut one, &page_one).await;
    let child_two = attached_child(&mut two, &page_two).await;
    assert_ne!(child_one, child_two);
    for (client, child) in [(&mut one, &child_one), (&mut two, &child_two)] {
        client.ok_in(child, "Network.enable", json!({})).await;
    }
    let call = &extension.calls("Network.enable")[0];
    assert_eq!(call.child.as_deref(), Some("CHILD"));

    let request = json!({ "requestId": "7" });
    extension
        .send_child_event(1, "CHILD", "Network.requestWillBeSent", request)
        .await;
    for (client, child) in [(&mut one, &child_one), (&mut two, &child_two)] {
        let event = client.event("Network.requestWillBeSent").await;
        assert_eq!(event["sessionId"], child.as_str());
    }
    assert_no_session(&mut one, &child_two).await;

    let ended = json!({ "sessionId": "CHILD", "targetId": FRAME });
    extension
        .send_cdp_event(1, "Target.detachedFromTarget", ended)
        .await;
    for (client, page, child) in [
        (&mut one, &page_one, &child_one),
        (&mut two, &page_two, &child_two),
    ] {
        let event = client.event_in(page, "Target.detachedFromTarget").await;
        let expected = json!({ "sessionId": child, "targetId": FRAME });
        assert_eq!(event["params"], expected);
        assert_no_session(client, child).await;
    }
    assert_no_messages(&mut bystander, "it did not attach to children").await;
}

#[tokio::test]
async fn announces_nested_targets_to_their_parent_session() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let (mut client, page) = client_with_children(&relay).await;
    let announcement = attached("FRAME", "iframe", false);
    extension
        .send_cdp_event(1, "Target.attachedToTarget", announcement)
        .await;
    let event = client.event_in(&page, "Target.attachedToTarget").await;
    let frame = session_of(&event["params"]);
    client
        .ok_in(&frame, "Target.setAutoAttach", auto_attach_params())
        .await;
    let announcement = attached("WORKER", "worker", false);
    extension
        .send_child_event(1, "FRAME", "Target.attachedToTarget", announcement)
        .await;
    let event = client.event_in(&frame, "Target.attachedToTarget").await;
    let worker = session_of(&event["params"]);
    evaluate(&mut client, &worker).await;
    let calls = extension.calls("Runtime.evaluate");
    assert_eq!(calls.last().unwrap().child.as_deref(), Some("WORKER"));
    // The worker is detached together with its parent frame.
    let ended = json!({ "sessionId": "FRAME" });
    extension
        .send_cdp_event(1, "Target.detachedFromTarget", ended)
        .await;
    client.event_in(&frame, "Target.detachedFromTarget").await;
    client.event_in(&page, "Target.detachedFromTarget").await;
    assert_no_session(&mut client, &worker).await;
}

#[tokio::test]
async fn resumes_a_paused_target_that_no_client_attaches_to() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    let mut params = auto_attach_params();
    params["filter"] = json!([{ "type": "iframe" }]);
    client.ok_in(&page, "Target.setAutoAttach", params).await;
    client.drain().await;
    let announcement = attached("WORKER", "worker", true);
    extension
        .send_cdp_event(1, "Target.attachedToTarget", announcement)
        .await;
    let resume = "Runtime.runIfWaitingForDebugger";
    extension.until_called(resume, 1).await;
    assert_eq!(extension.calls(resume)[0].child.as_deref(), Some("WORKER"));
    let messages = client.drain().await;
    assert!(
        !messages
            .iter()
            .any(|message| message["method"] == "Target.attachedToTarget"),
        "{messages:?}"
    );
}

#[tokio::test]
async fn closing_a_tab_fails_its_commands_and_ends_its_sessions() {
    let (relay, mut extension) = start_relay(&[], &[1, 2]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    extension.hold("Runtime.evaluate");
    let params = json!({ "awaitPromise": true });
    let in_flight = client.send(Some(&page), "Runtime.evaluate", params).await;
    extension.held_call("Runtime.evaluate").await;
    extension
        .send_event("tabRemoved", json!({ "tabId": 1 }))
        .await;
    assert_message(&client.error_of(in_flight).await, "closed");
    let event = client.event("Target.detachedFromTarget").await;
    assert_eq!(
        event["params"],
        json!({ "sessionId": page, "targetId": target_of(1) })
    );
    assert_no_session(&mut client, &page).await;
}

#[tokio::test]
async fn events_of_a_session_stay_in_order() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    client.ok_in(&page, "Network.enable", json!({})).await;
    client.drain().await;
    for number in 0..500 {
        let method = ["Network.dataReceived", "Page.frameResized"][number % 2];
        extension
            .send_cdp_event(1, method, json!({ "number": number }))
            .await;
    }
    for number in 0..500 {
        let event = client.next_message().await;
        assert_eq!(event["params"]["number"], number, "{event}");
    }
}
