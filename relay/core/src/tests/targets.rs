//! Which targets clients see, and tabs that are opened, changed and closed.

use serde_json::{Value, json};

use super::script::{ClientId, Script, attached_tab, tab};
use crate::Connection;

/// The parameters of `Target.setAutoAttach` as Puppeteer sends them: tab targets instead of pages.
fn auto_attach_to_tabs() -> Value {
    let filter = json!([{ "type": "page", "exclude": true }, {}]);
    json!({ "autoAttach": true, "flatten": true, "filter": filter })
}

fn discover_targets(script: &mut Script, client: ClientId) {
    let params = json!({ "discover": true });
    script.request(client, "Target.setDiscoverTargets", params);
}

/// Sends `Target.createTarget` and returns the id of the request.
fn create_target(script: &mut Script, client: ClientId) -> i64 {
    let params = json!({ "url": "about:blank" });
    script.send(client, "Target.createTarget", params)
}

#[test]
fn chromedriver_does_not_start_in_a_discarded_tab() {
    let mut script = Script::new();
    let mut discarded = tab(3);
    discarded["status"] = "unloaded".into();
    script.connect_browser(vec![tab(1), tab(2), discarded]);
    let client = script.connect_client();
    let mut titles = |filter: serde_json::Value| {
        let params = json!({ "filter": filter });
        let targets = script.request(client, "Target.getTargets", params);
        let infos = targets["targetInfos"].as_array().unwrap().clone();
        infos
            .iter()
            .map(|info| info["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let only_tabs =
        json!([{ "type": "browser", "exclude": true }, { "type": "page", "exclude": true }, {}]);
    assert_eq!(titles(only_tabs), ["Tab 3", "Tab 1", "Tab 2"]);
    let only_pages = json!([{ "type": "page" }]);
    assert_eq!(titles(only_pages), ["Tab 1", "Tab 2", "Tab 3"]);
}

#[test]
fn attaching_to_the_browser_is_announced_as_in_chrome() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let id = script.send(client, "Target.attachToBrowserTarget", json!({}));
    let received = script.received(client);
    let params = received.event("Target.attachedToTarget");
    assert_eq!(params["targetInfo"]["type"], "browser");
    assert_eq!(params["sessionId"], received.result(id)["sessionId"]);
    let announced = received.position(|message| message["method"] == "Target.attachedToTarget");
    let replied = received.position(|message| message["id"] == id);
    assert!(announced < replied, "nodriver reads it before the reply");
}

#[test]
fn announces_every_tab_before_auto_attach_is_answered() {
    let mut script = Script::with_tabs(3);
    let client = script.connect_client();
    let params = json!({ "autoAttach": true, "flatten": true });
    let id = script.send(client, "Target.setAutoAttach", params);
    let received = script.received(client);
    let targets: Vec<_> = received[..3]
        .iter()
        .map(|m| &m["params"]["targetInfo"])
        .collect();
    let ids: Vec<_> = targets.iter().map(|target| &target["targetId"]).collect();
    assert_eq!(ids, ["T1", "T2", "T3"]);
    assert!(
        targets
            .iter()
            .all(|target| target["browserContextId"].is_string())
    );
    assert_eq!(received[3]["id"], id);
    assert!(script.calls().is_empty(), "connecting attaches nothing");
}

#[test]
fn repeated_auto_attach_announces_nothing_again() {
    let mut script = Script::with_tabs(2);
    let (client, _) = script.auto_attached_client();
    let params = json!({ "autoAttach": true, "flatten": true });
    let id = script.send(client, "Target.setAutoAttach", params);
    let received = script.received(client);
    assert_eq!(received.result(id), &json!({}));
    assert_eq!(received.len(), 1, "{received:?}");
}

#[test]
fn puppeteer_finds_a_page_through_its_tab_target() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    script.send(client, "Target.setAutoAttach", auto_attach_to_tabs());
    let received = script.received(client);
    assert_eq!(received[0]["params"]["targetInfo"]["type"], "tab");
    let tab_target = received.attached_sessions(client).remove(0);
    let params = json!({ "autoAttach": true, "flatten": true, "filter": [{}] });
    script.send(&tab_target, "Target.setAutoAttach", params);
    let received = script.received(client);
    assert_eq!(received[0]["sessionId"], tab_target.id);
    assert_eq!(received[0]["params"]["targetInfo"]["targetId"], "T1");
    script.request(&tab_target, "Runtime.runIfWaitingForDebugger", json!({}));
}

#[test]
fn announces_a_created_page_before_the_reply_and_keeps_it_live() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.auto_attached_client();
    let id = create_target(&mut script, client);
    let call = script.next_call("createTab");
    let expected =
        json!({ "url": "about:blank", "newWindow": false, "active": false, "attach": true });
    assert_eq!(call.params(), &expected);
    script.reply(&call, attached_tab(7));
    let received = script.received(client);
    assert_eq!(received[0]["method"], "Target.attachedToTarget");
    assert_eq!(received[1]["id"], id);
    assert_eq!(received[1]["result"]["targetId"], "T7");
    let page = received.attached_sessions(client).remove(0);
    script.send(&page, "Page.navigate", json!({ "url": "https://x" }));
    script.next_command("Page.navigate");
}

#[test]
fn created_page_changes_once_as_in_chrome() {
    let mut script = Script::with_tabs(0);
    let client = script.connect_client();
    discover_targets(&mut script, client);
    create_target(&mut script, client);
    let call = script.next_call("createTab");
    script.reply(&call, attached_tab(7));
    let received = script.received(client);
    assert_eq!(
        received.methods()[..2],
        ["Target.targetCreated", "Target.targetInfoChanged"]
    );
    let changed = &received.event("Target.targetInfoChanged")["targetInfo"];
    assert_eq!(changed["targetId"], "T7");
    assert_eq!(changed["url"], "https://site/7");
}

#[test]
fn created_page_stays_live_for_clients_of_its_tab_target() {
    let mut script = Script::with_tabs(0);
    let client = script.connect_client();
    script.request(client, "Target.setAutoAttach", auto_attach_to_tabs());
    create_target(&mut script, client);
    let call = script.next_call("createTab");
    script.reply(&call, attached_tab(7));
    assert!(script.calls().is_empty(), "the debugger stays attached");
}

#[test]
fn announces_a_tab_that_the_user_opens_with_its_opener() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.auto_attached_client();
    discover_targets(&mut script, client);
    let mut opened = tab(2);
    opened["openerTabId"] = 1.into();
    script.extension_event("tabCreated", opened);
    let received = script.received(client);
    assert_eq!(
        received.methods()[..2],
        ["Target.targetCreated", "Target.attachedToTarget"]
    );
    assert_eq!(received[1]["params"]["targetInfo"]["openerId"], "T1");
}

#[test]
fn detaches_and_destroys_a_closed_tab() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.auto_attached_client();
    discover_targets(&mut script, client);
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let received = script.received(client);
    assert_eq!(
        received.methods(),
        ["Target.detachedFromTarget", "Target.targetDestroyed"]
    );
    assert_eq!(received.len(), 2);
}

#[test]
fn announces_a_changed_title_to_clients_that_discover_targets() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    discover_targets(&mut script, client);
    script.extension_event("tabUpdated", json!({ "tabId": 1, "title": "New" }));
    let received = script.received(client);
    assert_eq!(received[0]["params"]["targetInfo"]["title"], "New");
}

#[test]
fn rejects_new_browser_contexts() {
    let mut script = Script::with_tabs(0);
    let client = script.connect_client();
    let (_, message) = script.request_error(client, "Target.createBrowserContext", json!({}));
    assert!(message.contains("browser.contexts()[0]"), "{message}");
    let contexts = script.request(client, "Target.getBrowserContexts", json!({}));
    assert_eq!(contexts["browserContextIds"], json!([]));
}

#[test]
fn closes_a_tab_whose_client_left_during_its_creation() {
    let mut script = Script::with_tabs(1);
    script.close_created_tabs_on_disconnect();
    let client = script.connect_client();
    create_target(&mut script, client);
    let create = script.next_call("createTab");
    script.disconnect(client);
    script.reply(&create, attached_tab(9));
    let close = script.next_call("closeTab");
    assert_eq!(close.tab(), 9);
    script.reply_error(&close, json!("Tabs cannot be edited right now"));
    let detach = script.next_call("detachTab");
    assert_eq!(detach.tab(), 9, "a tab that cannot be closed is released");
}

#[test]
fn closes_tabs_whose_client_left_while_the_browser_was_away() {
    let mut script = Script::with_tabs(1);
    script.close_created_tabs_on_disconnect();
    let (client, _) = script.auto_attached_client();
    create_target(&mut script, client);
    let create = script.next_call("createTab");
    script.reply(&create, tab(9));
    script.disconnect_extension();
    script.disconnect(client);
    script.calls();
    script.connect_browser(vec![tab(1), tab(9)]);
    assert_eq!(script.next_call("closeTab").tab(), 9);
    assert!(script.calls().is_empty(), "the user's own tab stays open");
}

#[test]
fn tab_that_the_person_took_back_stays_open_when_its_creator_leaves() {
    let mut script = Script::with_tabs(1);
    script.close_created_tabs_on_disconnect();
    let (client, _) = script.auto_attached_client();
    create_target(&mut script, client);
    let create = script.next_call("createTab");
    script.reply(&create, attached_tab(9));
    script.detach_debugger(9, "canceled_by_user");
    script.disconnect(client);
    let calls = script.calls();
    assert!(calls.iter().all(|call| call.name() != "closeTab"));
}

#[test]
fn tabs_of_a_client_with_a_group_are_created_for_it() {
    let mut script = Script::with_tabs(0);
    for group in ["claude-code", "\"}"] {
        let client = script.connect_grouped_client(Connection::Browser, group);
        let params = json!({ "url": "about:blank" });
        script.send(client, "Target.createTarget", params.clone());
        let call = script.next_call("createTab");
        assert_eq!(call.params()["group"], group);
        let other = script.connect_client();
        script.send(other, "Target.createTarget", params);
        let call = script.next_call("createTab");
        assert!(call.params().get("group").is_none());
    }
}
