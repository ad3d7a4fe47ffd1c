//! Dormant tabs: what is answered without the browser, and what happens when a tab is first used.

use serde_json::{Value, json};
use tabwire_tests::{Call, Client, target_of};

use crate::setup::{
    MULTI_CLIENT, assert_message, attach, auto_attach, auto_attach_params, default_context, echo,
    evaluate, start, start_relay, start_with_live_session, start_with_session,
};

/// What Playwright sends to every page when it connects.
fn init_commands() -> Vec<(&'static str, Value)> {
    let enabled = json!({ "enabled": true });
    let script = json!({ "source": "", "worldName": "utility" });
    let world = json!({ "frameId": target_of(1), "worldName": "utility" });
    vec![
        ("Page.enable", json!({})),
        ("Page.getFrameTree", json!({})),
        ("Log.enable", json!({})),
        ("Page.setLifecycleEventsEnabled", enabled.clone()),
        ("Runtime.enable", json!({})),
        ("Page.addScriptToEvaluateOnNewDocument", script),
        ("Network.enable", json!({})),
        ("Target.setAutoAttach", auto_attach_params()),
        ("Emulation.setFocusEmulationEnabled", enabled),
        ("Emulation.setEmulatedMedia", json!({ "media": "" })),
        ("Page.createIsolatedWorld", world),
        ("Runtime.runIfWaitingForDebugger", json!({})),
    ]
}

#[tokio::test]
async fn answers_init_commands_of_a_dormant_tab_without_the_browser() {
    let (_relay, extension, mut client) = start(&[1, 2]).await;
    let session = auto_attach(&mut client, 1).await;
    for (method, params) in init_commands() {
        client.ok_in(&session, method, params).await;
    }
    assert_eq!(extension.call_names(), ["listTabs"]);
    let event = client
        .event_in(&session, "Runtime.executionContextCreated")
        .await;
    let context = &event["params"]["context"];
    assert_eq!(context["auxData"]["frameId"], target_of(1));
    let lifecycle = client.event_in(&session, "Page.lifecycleEvent").await;
    assert_eq!(lifecycle["params"]["frameId"], target_of(1));
}

#[tokio::test]
async fn replays_init_commands_before_the_command_that_wakes_the_tab() {
    let (_relay, extension, mut client) = start(&[1, 2]).await;
    let session = auto_attach(&mut client, 1).await;
    for (method, params) in init_commands() {
        client.ok_in(&session, method, params).await;
    }
    evaluate(&mut client, &session).await;
    let names = extension.call_names();
    let position = |name: &str| {
        names
            .iter()
            .position(|called| called == name)
            .unwrap_or_else(|| panic!("{name} not in {names:?}"))
    };
    assert_eq!(position("attachTab"), 1);
    for replayed in [
        "Page.enable",
        "Runtime.enable",
        "Network.enable",
        "Target.setAutoAttach",
        "Emulation.setFocusEmulationEnabled",
    ] {
        let at = position(replayed);
        assert!(
            position("attachTab") < at && at < position("Runtime.evaluate"),
            "{replayed}: {names:?}"
        );
    }
    assert!(
        extension.calls("Emulation.setEmulatedMedia").is_empty(),
        "does not change what the user sees: {names:?}"
    );
    assert!(
        extension
            .calls("attachTab")
            .iter()
            .all(|call| call.tab == Some(1)),
        "the other tab stays dormant"
    );
}

#[tokio::test]
async fn racing_commands_attach_a_dormant_tab_once_and_stay_in_order() {
    let (relay, mut extension) = start_relay(MULTI_CLIENT, &[1]).await;
    extension.hold("attachTab");
    let (mut one, mut two) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let (session_one, session_two) = (attach(&mut one, 1).await, attach(&mut two, 1).await);
    let params = |number: i64, client: i64| json!({ "n": number, "of": client });
    let mut ids = Vec::new();
    for n in 0..5 {
        let first = one.send(Some(&session_one), "Runtime.evaluate", params(n, 1));
        let second = two.send(Some(&session_two), "Runtime.evaluate", params(n, 2));
        ids.push((first.await, second.await));
    }
    let call = extension.held_call("attachTab").await;
    // A round trip per client: the relay has received all commands by then.
    one.ok("Browser.getVersion", json!({})).await;
    two.ok("Browser.getVersion", json!({})).await;
    extension.reply(&call, json!({})).await;
    for (n, (first, second)) in (0..).zip(ids) {
        let reply = one.reply_to(first).await.unwrap();
        assert_eq!(reply, echo("Runtime.evaluate", &params(n, 1)));
        let reply = two.reply_to(second).await.unwrap();
        assert_eq!(reply, echo("Runtime.evaluate", &params(n, 2)));
    }
    assert_eq!(extension.calls("attachTab").len(), 1);
    for client in [1, 2] {
        let order: Vec<i64> = extension
            .calls("Runtime.evaluate")
            .iter()
            .map(Call::params)
            .filter(|params| params["of"] == client)
            .map(|params| params["n"].as_i64().unwrap())
            .collect();
        assert_eq!(order, [0, 1, 2, 3, 4], "client {client}");
    }
}

#[tokio::test]
async fn failed_attach_fails_all_waiting_commands_and_the_next_one_retries() {
    let (_relay, mut extension, mut client, first) = start_with_session().await;
    extension.hold("attachTab");
    let second = attach(&mut client, 1).await;
    let mut ids = Vec::new();
    for session in [&first, &second, &first] {
        let id = client.send(Some(session), "Runtime.evaluate", json!({}));
        ids.push(id.await);
    }
    let call = extension.held_call("attachTab").await;
    client.ok("Browser.getVersion", json!({})).await;
    let cause = json!("Another debugger is already attached to the tab with id: 1.");
    extension.reply_error(&call, cause).await;
    for id in ids {
        let error = client.error_of(id).await;
        assert_message(&error, "Another debugger is already attached");
        assert_message(&error, "Reload the extension");
    }
    assert!(extension.calls("Runtime.evaluate").is_empty());

    let params = json!({ "again": true });
    let retry = client
        .send(Some(&first), "Runtime.evaluate", params.clone())
        .await;
    let call = extension.held_call("attachTab").await;
    extension.reply(&call, json!({})).await;
    assert_eq!(
        client.reply_to(retry).await.unwrap(),
        echo("Runtime.evaluate", &params)
    );
    assert_eq!(extension.calls("attachTab").len(), 2);
}

#[tokio::test]
async fn closing_a_waking_tab_fails_all_waiting_commands() {
    let (_relay, mut extension, mut client, session) = start_with_session().await;
    extension.hold("attachTab");
    let mut ids = Vec::new();
    for method in ["Runtime.evaluate", "DOM.getDocument"] {
        ids.push(client.send(Some(&session), method, json!({})).await);
    }
    let call = extension.held_call("attachTab").await;
    extension
        .send_event("tabRemoved", json!({ "tabId": 1 }))
        .await;
    for id in ids {
        assert_message(&client.error_of(id).await, "closed");
    }
    // The relay ignores the late reply.
    extension.reply(&call, json!({})).await;
    client.ok("Browser.getVersion", json!({})).await;
}

#[tokio::test]
async fn detaching_from_a_waking_tab_fails_its_commands_and_releases_it() {
    let (_relay, mut extension, mut client, session) = start_with_session().await;
    extension.hold("attachTab");
    let id = client
        .send(Some(&session), "Runtime.evaluate", json!({}))
        .await;
    let call = extension.held_call("attachTab").await;
    client
        .ok("Target.detachFromTarget", json!({ "sessionId": session }))
        .await;
    assert_eq!(client.error_of(id).await["code"], -32001);
    extension.reply(&call, json!({})).await;
    extension.until_called("detachTab", 1).await;
    assert!(
        extension.calls("Runtime.evaluate").is_empty(),
        "its session has ended"
    );
}

#[tokio::test]
async fn tab_that_the_user_took_back_stays_detached() {
    let (_relay, mut extension, mut client, session) = start_with_live_session().await;
    extension.hold("Runtime.evaluate");
    let in_flight = client
        .send(Some(&session), "Runtime.evaluate", json!({}))
        .await;
    extension.held_call("Runtime.evaluate").await;
    let detached = json!({ "tabId": 1, "reason": "canceled_by_user" });
    extension.send_event("tabDetached", detached).await;
    assert_message(&client.error_of(in_flight).await, "detached by the person");
    let next = client.send(Some(&session), "Page.reload", json!({})).await;
    assert_message(&client.error_of(next).await, "detached by the person");
    assert_eq!(
        extension.calls("attachTab").len(),
        1,
        "the relay does not attach again"
    );
}

#[tokio::test]
async fn next_command_attaches_again_after_the_debugger_was_lost() {
    let (_relay, extension, mut client, session) = start_with_session().await;
    client.ok_in(&session, "Network.enable", json!({})).await;
    client.ok_in(&session, "Runtime.enable", json!({})).await;
    evaluate(&mut client, &session).await;
    let detached = json!({ "tabId": 1, "reason": "target_closed" });
    extension.send_event("tabDetached", detached).await;
    client
        .event_in(&session, "Runtime.executionContextsCleared")
        .await;
    evaluate(&mut client, &session).await;
    assert_eq!(extension.calls("attachTab").len(), 2);
    assert_eq!(
        extension.calls("Network.enable").len(),
        2,
        "domains of the session are enabled again"
    );
}

#[tokio::test]
async fn cookie_command_on_the_browser_uses_no_tab() {
    let (_relay, mut extension, mut client) = start(&[1, 2]).await;
    extension.hold("Storage.getCookies");
    let params = json!({ "browserContextId": default_context(&mut client).await });
    let id = client.send(None, "Storage.getCookies", params).await;
    let call = extension.held_call("Storage.getCookies").await;
    assert_eq!(
        call.params(),
        json!({}),
        "the context id is the relay's own"
    );
    assert_eq!(call.tab, None);
    extension.reply(&call, json!({ "cookies": [] })).await;
    assert_eq!(client.reply_to(id).await.unwrap(), json!({ "cookies": [] }));
    assert!(extension.calls("attachTab").is_empty());
}
