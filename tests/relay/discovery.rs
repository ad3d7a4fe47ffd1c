//! How clients find targets: discovery, auto-attach, filters and lists. All of it without the
//! browser's help.

use serde_json::{Value, json};
use tabwire_tests::{Client, ScriptedExtension, tab, target_of, until};

use crate::setup::{
    MULTI_CLIENT, assert_message, assert_no_messages, attach, auto_attach_params, default_context,
    methods, session_of, start, start_relay,
};

async fn target_infos(client: &mut Client) -> Value {
    client.ok("Target.getTargets", json!({})).await["targetInfos"].clone()
}

#[tokio::test]
async fn browser_version_comes_from_the_introduction() {
    let (_relay, extension, mut client) = start(&[1]).await;
    let version = client.ok("Browser.getVersion", json!({})).await;
    assert_eq!(version["product"], "Chrome/156.0.8078.79");
    assert_eq!(version["userAgent"], "Mozilla/5.0 (scripted)");
    assert_eq!(version["protocolVersion"], "1.3");
    assert!(
        version["revision"].is_string() && version["jsVersion"].is_string(),
        "{version}"
    );
    assert_eq!(extension.call_names(), ["listTabs"]);
}

#[tokio::test]
async fn discovery_announces_every_target_before_its_reply() {
    let (_relay, _extension, mut client) = start(&[1, 2]).await;
    let params = json!({ "discover": true });
    let messages = client
        .messages_until_reply(None, "Target.setDiscoverTargets", params)
        .await;
    assert_eq!(
        methods(&messages),
        ["Target.targetCreated", "Target.targetCreated", "reply"]
    );
    let info = &messages[0]["params"]["targetInfo"];
    assert_eq!(info["targetId"], target_of(1));
    assert_eq!(info["type"], "page");
    assert_eq!(info["url"], "https://example.com/1");
    assert_eq!(info["title"], "Tab 1");
    assert_eq!(info["attached"], false);
    assert_eq!(info["browserContextId"], default_context(&mut client).await);
}

/// Opens, renames and closes a tab, and checks that a client with discovery gets each event.
async fn check_tab_life_cycle(extension: &ScriptedExtension, client: &mut Client) {
    let mut opened = tab(3);
    opened["openerTabId"] = 1.into();
    extension.send_event("tabCreated", opened).await;
    let created = client.event("Target.targetCreated").await;
    assert_eq!(created["params"]["targetInfo"]["openerId"], target_of(1));
    let update = json!({ "tabId": 3, "title": "New title" });
    extension.send_event("tabUpdated", update).await;
    let changed = client.event("Target.targetInfoChanged").await;
    let info = &changed["params"]["targetInfo"];
    assert_eq!(
        (&info["title"], &info["targetId"]),
        (&json!("New title"), &json!(target_of(3)))
    );
    extension
        .send_event("tabRemoved", json!({ "tabId": 3 }))
        .await;
    let destroyed = client.event("Target.targetDestroyed").await;
    assert_eq!(destroyed["params"]["targetId"], target_of(3));
}

#[tokio::test]
async fn discovery_announces_changes_until_it_is_turned_off() {
    let (_relay, extension, mut client) = start(&[1, 2]).await;
    client
        .ok("Target.setDiscoverTargets", json!({ "discover": true }))
        .await;
    client.drain().await;
    check_tab_life_cycle(&extension, &mut client).await;
    client
        .ok("Target.setDiscoverTargets", json!({ "discover": false }))
        .await;
    extension
        .send_event("tabRemoved", json!({ "tabId": 2 }))
        .await;
    until("the tab is removed", async || {
        let infos = target_infos(&mut client).await;
        (infos.as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    assert_no_messages(&mut client, "discovery is off").await;
}

#[tokio::test]
async fn auto_attach_creates_a_session_for_every_page_before_its_reply() {
    let (_relay, extension, mut client) = start(&[1, 2, 3]).await;
    let context = default_context(&mut client).await;
    let messages = client
        .messages_until_reply(None, "Target.setAutoAttach", auto_attach_params())
        .await;
    let attached = "Target.attachedToTarget";
    assert_eq!(methods(&messages), [attached, attached, attached, "reply"]);
    let mut sessions = Vec::new();
    for (message, id) in messages.iter().zip(1..=3) {
        let info = &message["params"]["targetInfo"];
        assert_eq!(
            (&info["targetId"], &info["type"], &info["attached"]),
            (&json!(target_of(id)), &json!("page"), &json!(true))
        );
        assert_eq!(info["browserContextId"], context);
        assert_eq!(message["params"]["waitingForDebugger"], false);
        let session = session_of(&message["params"]);
        assert!(
            session.len() == 32 && session.bytes().all(|b| b.is_ascii_hexdigit()),
            "{session}"
        );
        sessions.push(session);
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    assert_eq!(extension.call_names(), ["listTabs"], "attaches no debugger");
}

#[tokio::test]
async fn auto_attach_attaches_to_new_tabs_and_to_none_twice() {
    let (_relay, extension, mut client) = start(&[1, 2, 3]).await;
    client
        .ok("Target.setAutoAttach", auto_attach_params())
        .await;
    let messages = client
        .messages_until_reply(None, "Target.setAutoAttach", auto_attach_params())
        .await;
    assert_eq!(methods(&messages), ["reply"]);
    extension.send_event("tabCreated", tab(4)).await;
    let attached = client.event("Target.attachedToTarget").await;
    assert_eq!(attached["params"]["targetInfo"]["targetId"], target_of(4));
    assert_eq!(extension.call_names(), ["listTabs"], "attaches no debugger");
    let error = client
        .error("Target.setAutoAttach", json!({ "autoAttach": true }))
        .await;
    assert_message(&error, "flatten");
}

#[tokio::test]
async fn filter_selects_tab_targets_with_pages_as_their_children() {
    let (_relay, _extension, mut client) = start(&[1]).await;
    let mut params = auto_attach_params();
    params["filter"] = json!([{ "type": "page", "exclude": true }, {}]);
    let messages = client
        .messages_until_reply(None, "Target.setAutoAttach", params)
        .await;
    assert_eq!(methods(&messages), ["Target.attachedToTarget", "reply"]);
    let parent = &messages[0]["params"];
    assert_eq!(parent["targetInfo"]["type"], "tab");
    assert_ne!(parent["targetInfo"]["targetId"], target_of(1));
    let session = session_of(parent);
    let messages = client
        .messages_until_reply(Some(&session), "Target.setAutoAttach", auto_attach_params())
        .await;
    assert_eq!(methods(&messages), ["Target.attachedToTarget", "reply"]);
    assert_eq!(messages[0]["sessionId"], session.as_str());
    let page = &messages[0]["params"]["targetInfo"];
    assert_eq!(page["targetId"], target_of(1));
}

#[tokio::test]
async fn lists_and_describes_targets() {
    let (_relay, _extension, mut client) = start(&[1, 2]).await;
    let infos = target_infos(&mut client).await;
    assert_eq!(infos.as_array().unwrap().len(), 2);
    assert_eq!(infos[0]["targetId"], target_of(1));
    assert_eq!(infos[1]["targetId"], target_of(2));
    let by_id = client
        .ok("Target.getTargetInfo", json!({ "targetId": target_of(2) }))
        .await;
    assert_eq!(by_id["targetInfo"], infos[1]);
    let root = client.ok("Target.getTargetInfo", json!({})).await;
    assert_eq!(root["targetInfo"]["type"], "browser");
    let session = attach(&mut client, 2).await;
    let own = client
        .ok_in(&session, "Target.getTargetInfo", json!({}))
        .await;
    assert_eq!(own["targetInfo"]["targetId"], target_of(2));
    assert_eq!(own["targetInfo"]["attached"], true);
    let error = client
        .error("Target.getTargetInfo", json!({ "targetId": "nothing" }))
        .await;
    assert_message(&error, "nothing");
}

#[tokio::test]
async fn all_clients_see_one_browser_context() {
    let (relay, _extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let (mut first, mut second) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let contexts = first.ok("Target.getBrowserContexts", json!({})).await;
    assert_eq!(contexts["browserContextIds"], json!([]));
    assert!(
        contexts["defaultBrowserContextId"].is_string(),
        "{contexts}"
    );
    assert_eq!(
        second.ok("Target.getBrowserContexts", json!({})).await,
        contexts
    );
}
