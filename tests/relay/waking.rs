//! Dormant tabs: what is answered without the browser, and what happens when a tab is first used.

use serde_json::{Value, json};
use tabwire_tests::{Call, Client, Relay, ScriptedExtension, tab, target_of};

/// What Playwright says to every page as it connects.
fn init_commands() -> Vec<(&'static str, Value)> {
    vec![
        ("Page.enable", json!({})),
        ("Page.getFrameTree", json!({})),
        ("Log.enable", json!({})),
        ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
        ("Runtime.enable", json!({})),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "", "worldName": "utility" }),
        ),
        ("Network.enable", json!({})),
        (
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        ),
        (
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": true }),
        ),
        ("Emulation.setEmulatedMedia", json!({ "media": "" })),
        (
            "Page.createIsolatedWorld",
            json!({ "frameId": target_of(1), "worldName": "utility" }),
        ),
        ("Runtime.runIfWaitingForDebugger", json!({})),
    ]
}

#[tokio::test]
async fn what_a_library_says_as_it_connects_is_answered_without_the_browser() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::auto_attach(&mut client, 1).await;
    for (method, params) in init_commands() {
        client.ok_in(&session, method, params).await;
    }
    assert_eq!(extension.call_names(), ["listTabs"]);
    let context = client
        .event_in(&session, "Runtime.executionContextCreated")
        .await;
    assert_eq!(
        context["params"]["context"]["auxData"]["frameId"],
        target_of(1)
    );
    let lifecycle = client.event_in(&session, "Page.lifecycleEvent").await;
    assert_eq!(lifecycle["params"]["frameId"], target_of(1));

    // The first real command attaches, says what was said before, and only then goes out itself.
    client
        .ok_in(&session, "Runtime.evaluate", json!({ "expression": "1" }))
        .await;
    let names = extension.call_names();
    let at = |name: &str| {
        names
            .iter()
            .position(|called| called == name)
            .unwrap_or_else(|| panic!("{name} not in {names:?}"))
    };
    assert_eq!(at("attachTab"), 1);
    for replayed in [
        "Page.enable",
        "Runtime.enable",
        "Network.enable",
        "Target.setAutoAttach",
        "Emulation.setFocusEmulationEnabled",
    ] {
        assert!(
            at("attachTab") < at(replayed) && at(replayed) < at("Runtime.evaluate"),
            "{replayed}: {names:?}"
        );
    }
    assert!(
        !names
            .iter()
            .any(|name| name == "Emulation.setEmulatedMedia"),
        "what the person would see is left alone: {names:?}"
    );
    assert!(
        extension
            .calls("attachTab")
            .iter()
            .all(|call| call.tab == Some(1)),
        "the other tab sleeps on"
    );
}

#[tokio::test]
async fn commands_that_race_to_a_dormant_tab_attach_it_once_and_keep_their_order() {
    let relay = Relay::start(&["--client-mode", "multi-client"]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("attachTab");
    let (mut one, mut two) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let (session_one, session_two) = (
        crate::attach(&mut one, 1).await,
        crate::attach(&mut two, 1).await,
    );
    let mut sent = Vec::new();
    for number in 0..5 {
        let ids = (
            one.send(
                Some(&session_one),
                "Runtime.evaluate",
                json!({ "n": number, "of": 1 }),
            )
            .await,
            two.send(
                Some(&session_two),
                "Runtime.evaluate",
                json!({ "n": number, "of": 2 }),
            )
            .await,
        );
        sent.push(ids);
    }
    let call = extension.held_call("attachTab").await;
    // Both have been heard when each gets an answer to something else.
    one.ok("Browser.getVersion", json!({})).await;
    two.ok("Browser.getVersion", json!({})).await;
    extension.answer(&call, json!({})).await;
    for (number, (of_one, of_two)) in sent.into_iter().enumerate() {
        assert_eq!(
            one.reply_to(of_one).await.unwrap(),
            crate::echo("Runtime.evaluate", &json!({ "n": number, "of": 1 }))
        );
        assert_eq!(
            two.reply_to(of_two).await.unwrap(),
            crate::echo("Runtime.evaluate", &json!({ "n": number, "of": 2 }))
        );
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
        assert_eq!(order, [0, 1, 2, 3, 4], "of client {client}");
    }
}

#[tokio::test]
async fn a_failed_attach_reaches_each_command_that_waits_and_the_next_one_tries_again() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("attachTab");
    let mut client = Client::connect(&relay).await;
    let (first, second) = (
        crate::attach(&mut client, 1).await,
        crate::attach(&mut client, 1).await,
    );
    let mut ids = Vec::new();
    for session in [&first, &second, &first] {
        ids.push(
            client
                .send(Some(session), "Runtime.evaluate", json!({}))
                .await,
        );
    }
    let call = extension.held_call("attachTab").await;
    client.ok("Browser.getVersion", json!({})).await;
    extension
        .fail(
            &call,
            json!("Another debugger is already attached to the tab with id: 1."),
        )
        .await;
    for id in ids {
        let error = client.reply_to(id).await.unwrap_err();
        let message = crate::message_of(&error);
        assert!(
            message.contains("Another debugger is already attached")
                && message.contains("Close DevTools"),
            "{message}"
        );
    }
    assert!(extension.calls("Runtime.evaluate").is_empty());

    let again = client
        .send(Some(&first), "Runtime.evaluate", json!({ "again": true }))
        .await;
    let call = extension.held_call("attachTab").await;
    extension.answer(&call, json!({})).await;
    assert_eq!(
        client.reply_to(again).await.unwrap(),
        crate::echo("Runtime.evaluate", &json!({ "again": true }))
    );
    assert_eq!(extension.calls("attachTab").len(), 2);
}

#[tokio::test]
async fn a_tab_that_goes_while_it_wakes_answers_each_command_that_waits() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("attachTab");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    let ids = [
        client
            .send(Some(&session), "Runtime.evaluate", json!({}))
            .await,
        client
            .send(Some(&session), "DOM.getDocument", json!({}))
            .await,
    ];
    let call = extension.held_call("attachTab").await;
    extension.event("tabRemoved", json!({ "tabId": 1 })).await;
    for id in ids {
        assert!(crate::message_of(&client.reply_to(id).await.unwrap_err()).contains("closed"));
    }
    // A late answer harms nobody.
    extension.answer(&call, json!({})).await;
    client.ok("Browser.getVersion", json!({})).await;
}

#[tokio::test]
async fn a_session_that_ends_while_its_tab_wakes_has_its_commands_answered() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    extension.hold("attachTab");
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    let id = client
        .send(Some(&session), "Runtime.evaluate", json!({}))
        .await;
    let call = extension.held_call("attachTab").await;
    client
        .ok("Target.detachFromTarget", json!({ "sessionId": session }))
        .await;
    assert_eq!(client.reply_to(id).await.unwrap_err()["code"], -32001);
    extension.answer(&call, json!({})).await;
    extension.until_called("detachTab", 1).await;
    assert!(
        extension.calls("Runtime.evaluate").is_empty(),
        "nobody asks for it any more"
    );
}

#[tokio::test]
async fn a_debugger_that_the_person_takes_away_ends_the_sessions_and_is_not_taken_back() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    extension.hold("Runtime.evaluate");
    let id = client
        .send(Some(&session), "Runtime.evaluate", json!({}))
        .await;
    extension.held_call("Runtime.evaluate").await;
    extension
        .event(
            "tabDetached",
            json!({ "tabId": 1, "reason": "canceled_by_user" }),
        )
        .await;
    let error = client.reply_to(id).await.unwrap_err();
    assert!(
        crate::message_of(&error).contains("canceled_by_user"),
        "{error}"
    );
    client.event("Target.detachedFromTarget").await;
    assert_eq!(
        client
            .request_in(&session, "Runtime.evaluate", json!({}))
            .await
            .unwrap_err()["code"],
        -32001
    );
    assert_eq!(extension.calls("attachTab").len(), 1);
}

#[tokio::test]
async fn a_debugger_that_was_lost_otherwise_is_attached_again_by_the_next_command() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client.ok_in(&session, "Network.enable", json!({})).await;
    client.ok_in(&session, "Runtime.enable", json!({})).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    extension
        .event(
            "tabDetached",
            json!({ "tabId": 1, "reason": "target_closed" }),
        )
        .await;
    client
        .event_in(&session, "Runtime.executionContextsCleared")
        .await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert_eq!(extension.calls("attachTab").len(), 2);
    assert_eq!(
        extension.calls("Network.enable").len(),
        2,
        "what the session enabled is enabled again"
    );
}

#[tokio::test]
async fn cookies_asked_of_the_browser_come_through_a_tab_that_is_let_go_only_afterwards() {
    let relay = Relay::start(&[]).await;
    let mut extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    extension.hold("Storage.getCookies");
    let mut client = Client::connect(&relay).await;
    let context =
        client.ok("Target.getBrowserContexts", json!({})).await["defaultBrowserContextId"].clone();
    let id = client
        .send(
            None,
            "Storage.getCookies",
            json!({ "browserContextId": context }),
        )
        .await;
    let call = extension.held_call("Storage.getCookies").await;
    assert_eq!(
        call.params(),
        json!({}),
        "the browser does not know the relay's name of the profile"
    );
    // The relay's next words come after all that it had to say before.
    client
        .ok("Target.activateTarget", json!({ "targetId": target_of(2) }))
        .await;
    assert!(
        extension.calls("detachTab").is_empty(),
        "the command is still under way"
    );
    extension.answer(&call, json!({ "cookies": [] })).await;
    assert_eq!(client.reply_to(id).await.unwrap(), json!({ "cookies": [] }));
    extension.until_called("detachTab", 1).await;
}
