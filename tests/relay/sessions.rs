//! Whose events are whose: several clients on one tab, and targets below a page.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, tab, target_of};

const MULTI: &[&str] = &["--client-mode", "multi-client"];
const FRAME: &str = "FEDCBA9876543210FEDCBA9876543210";

fn events_of<'m>(messages: &'m [Value], method: &str) -> Vec<&'m Value> {
    messages
        .iter()
        .filter(|message| message["method"] == method)
        .collect()
}

/// A client with a session on tab 1, which is live.
async fn client_on_tab(relay: &Relay) -> (Client, String) {
    let mut client = Client::connect(relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Page.enable", json!({})).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    (client, session)
}

fn attached(child: &str, kind: &str, waiting: bool) -> Value {
    let info = json!({
        "targetId": FRAME, "type": kind, "title": "", "url": "https://other.example/", "attached": true, "canAccessOpener": false,
        "browserContextId": "chromes own",
    });
    json!({ "sessionId": child, "targetInfo": info, "waitingForDebugger": waiting })
}

#[tokio::test]
async fn two_clients_on_one_tab_get_only_what_is_their_own() {
    let relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let ((mut one, session_one), (mut two, session_two)) =
        (client_on_tab(&relay).await, client_on_tab(&relay).await);
    assert_eq!(
        extension.calls("attachTab").len(),
        1,
        "the browser knows one debugger"
    );
    one.ok_in(&session_one, "Network.enable", json!({})).await;
    one.said_so_far().await;
    two.said_so_far().await;

    extension
        .cdp_event(1, "Network.requestWillBeSent", json!({ "requestId": "1" }))
        .await;
    extension
        .cdp_event(1, "Page.loadEventFired", json!({ "timestamp": 1 }))
        .await;
    extension
        .cdp_event(2, "Page.loadEventFired", json!({ "timestamp": 2 }))
        .await;
    let seen_by_one = [
        one.event("Network.requestWillBeSent").await,
        one.event("Page.loadEventFired").await,
    ];
    assert!(
        seen_by_one
            .iter()
            .all(|event| event["sessionId"] == session_one.as_str()),
        "{seen_by_one:?}"
    );
    let seen_by_two = two.event("Page.loadEventFired").await;
    assert_eq!(
        (&seen_by_two["sessionId"], &seen_by_two["params"]),
        (&json!(session_two), &json!({ "timestamp": 1 }))
    );
    assert_eq!(one.said_so_far().await, Vec::<Value>::new());
    assert_eq!(
        two.said_so_far().await,
        Vec::<Value>::new(),
        "a domain that only the other enabled"
    );
}

#[tokio::test]
async fn replies_go_to_who_asked_though_both_use_the_same_ids() {
    let relay = Relay::start(MULTI).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let ((mut one, session_one), (mut two, session_two)) =
        (client_on_tab(&relay).await, client_on_tab(&relay).await);
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
        extension.answer(call, call.params()).await;
    }
    assert_eq!(one.reply_to(77).await.unwrap(), json!({ "of": "one" }));
    assert_eq!(two.reply_to(77).await.unwrap(), json!({ "of": "two" }));
}

#[tokio::test]
async fn a_client_that_goes_takes_nothing_from_the_other() {
    let relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let ((one, _), (mut two, session_two)) =
        (client_on_tab(&relay).await, client_on_tab(&relay).await);
    one.cut();
    relay.until_clients(1).await;
    two.ok_in(&session_two, "Runtime.evaluate", json!({})).await;
    assert!(extension.calls("detachTab").is_empty());
    extension
        .cdp_event(1, "Page.loadEventFired", json!({}))
        .await;
    two.event_in(&session_two, "Page.loadEventFired").await;
    two.close().await;
    extension.until_called("detachTab", 1).await;
}

#[tokio::test]
async fn a_target_below_a_page_has_a_session_of_its_own_for_each_client_that_wants_it() {
    let relay = Relay::start(MULTI).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let ((mut one, page_one), (mut two, page_two)) =
        (client_on_tab(&relay).await, client_on_tab(&relay).await);
    let (mut third, _page_three) = client_on_tab(&relay).await;
    for (client, page) in [(&mut one, &page_one), (&mut two, &page_two)] {
        client
            .ok_in(
                page,
                "Target.setAutoAttach",
                json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
            )
            .await;
    }
    let context =
        one.ok("Target.getBrowserContexts", json!({})).await["defaultBrowserContextId"].clone();
    third.said_so_far().await;
    extension
        .cdp_event(
            1,
            "Target.attachedToTarget",
            attached("CHILD", "iframe", true),
        )
        .await;

    let mut sessions = Vec::new();
    for (client, page) in [(&mut one, &page_one), (&mut two, &page_two)] {
        let event = client.event_in(page, "Target.attachedToTarget").await;
        assert_eq!(event["params"]["waitingForDebugger"], true);
        assert_eq!(
            (
                &event["params"]["targetInfo"]["targetId"],
                &event["params"]["targetInfo"]["type"]
            ),
            (&json!(FRAME), &json!("iframe"))
        );
        assert_eq!(
            event["params"]["targetInfo"]["browserContextId"], context,
            "the profile has one name"
        );
        let session = event["params"]["sessionId"].as_str().unwrap().to_owned();
        assert_ne!(session, "CHILD");
        client.ok_in(&session, "Network.enable", json!({})).await;
        sessions.push(session);
    }
    assert_ne!(sessions[0], sessions[1]);
    assert_eq!(
        extension.calls("Network.enable")[0].child.as_deref(),
        Some("CHILD")
    );

    extension
        .child_event(
            1,
            "CHILD",
            "Network.requestWillBeSent",
            json!({ "requestId": "7" }),
        )
        .await;
    for (client, session) in [(&mut one, &sessions[0]), (&mut two, &sessions[1])] {
        let event = client.event("Network.requestWillBeSent").await;
        assert_eq!(event["sessionId"], session.as_str());
    }
    let error = one
        .request_in(&sessions[1], "Runtime.evaluate", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32001, "the other client's session");

    extension
        .cdp_event(
            1,
            "Target.detachedFromTarget",
            json!({ "sessionId": "CHILD", "targetId": FRAME }),
        )
        .await;
    for (client, page, session) in [
        (&mut one, &page_one, &sessions[0]),
        (&mut two, &page_two, &sessions[1]),
    ] {
        let event = client.event_in(page, "Target.detachedFromTarget").await;
        assert_eq!(
            event["params"],
            json!({ "sessionId": session, "targetId": FRAME })
        );
        assert_eq!(
            client
                .request_in(session, "Runtime.evaluate", json!({}))
                .await
                .unwrap_err()["code"],
            -32001
        );
    }
    assert_eq!(
        third.said_so_far().await,
        Vec::<Value>::new(),
        "who did not ask for it hears nothing of it"
    );
}

#[tokio::test]
async fn targets_below_targets_are_announced_where_they_belong() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    let auto_attach =
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    client
        .ok_in(&page, "Target.setAutoAttach", auto_attach.clone())
        .await;
    extension
        .cdp_event(
            1,
            "Target.attachedToTarget",
            attached("FRAME", "iframe", false),
        )
        .await;
    let frame = client.event_in(&page, "Target.attachedToTarget").await["params"]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    client
        .ok_in(&frame, "Target.setAutoAttach", auto_attach)
        .await;
    extension
        .child_event(
            1,
            "FRAME",
            "Target.attachedToTarget",
            attached("WORKER", "worker", false),
        )
        .await;
    let event = client.event_in(&frame, "Target.attachedToTarget").await;
    let worker = event["params"]["sessionId"].as_str().unwrap();
    client.ok_in(worker, "Runtime.evaluate", json!({})).await;
    assert_eq!(
        extension
            .calls("Runtime.evaluate")
            .last()
            .unwrap()
            .child
            .as_deref(),
        Some("WORKER")
    );
    // With the frame goes the worker below it.
    extension
        .cdp_event(
            1,
            "Target.detachedFromTarget",
            json!({ "sessionId": "FRAME" }),
        )
        .await;
    client.event_in(&frame, "Target.detachedFromTarget").await;
    client.event_in(&page, "Target.detachedFromTarget").await;
    assert_eq!(
        client
            .request_in(worker, "Runtime.evaluate", json!({}))
            .await
            .unwrap_err()["code"],
        -32001
    );
}

#[tokio::test]
async fn a_target_that_nobody_wants_is_resumed_so_that_the_page_goes_on() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    let only_frames = json!([{ "type": "iframe" }]);
    client
        .ok_in(
            &page,
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": only_frames }),
        )
        .await;
    client.said_so_far().await;
    extension
        .cdp_event(
            1,
            "Target.attachedToTarget",
            attached("WORKER", "worker", true),
        )
        .await;
    extension
        .until_called("Runtime.runIfWaitingForDebugger", 1)
        .await;
    assert_eq!(
        extension.calls("Runtime.runIfWaitingForDebugger")[0]
            .child
            .as_deref(),
        Some("WORKER")
    );
    assert!(events_of(&client.said_so_far().await, "Target.attachedToTarget").is_empty());
}

#[tokio::test]
async fn a_tab_that_goes_answers_what_is_under_way_and_ends_its_sessions() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    extension.hold("Runtime.evaluate");
    let id = client
        .send(
            Some(&page),
            "Runtime.evaluate",
            json!({ "awaitPromise": true }),
        )
        .await;
    extension.held_call("Runtime.evaluate").await;
    extension.event("tabRemoved", json!({ "tabId": 1 })).await;
    assert!(crate::message_of(&client.reply_to(id).await.unwrap_err()).contains("closed"));
    let event = client.event("Target.detachedFromTarget").await;
    assert_eq!(
        event["params"],
        json!({ "sessionId": page, "targetId": target_of(1) })
    );
    assert_eq!(
        client
            .request_in(&page, "Runtime.evaluate", json!({}))
            .await
            .unwrap_err()["code"],
        -32001
    );
}

#[tokio::test]
async fn events_of_one_session_keep_their_order() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut client, page) = client_on_tab(&relay).await;
    client.ok_in(&page, "Network.enable", json!({})).await;
    client.said_so_far().await;
    for number in 0..500 {
        extension
            .cdp_event(
                1,
                if number % 2 == 0 {
                    "Network.dataReceived"
                } else {
                    "Page.frameResized"
                },
                json!({ "number": number }),
            )
            .await;
    }
    // An event of the last number is the last of all.
    let mut numbers = Vec::new();
    while numbers.len() < 500 {
        let text: Value = serde_json::from_str(&client.next_text().await).unwrap();
        numbers.push(text["params"]["number"].as_u64().unwrap());
    }
    assert_eq!(numbers, (0..500).collect::<Vec<u64>>());
}
