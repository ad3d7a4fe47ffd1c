//! Which targets clients see, and tabs that come and go.

use serde_json::json;

use super::script::{Script, tab};

#[test]
fn every_tab_is_attached_with_its_real_id_before_auto_attach_is_answered() {
    let mut script = Script::with_tabs(3);
    let client = script.client();
    let id = script.request(
        client,
        None,
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true }),
    );
    let heard = script.heard(client);
    let targets: Vec<_> = heard[..3]
        .iter()
        .map(|m| m["params"]["targetInfo"]["targetId"].as_str().unwrap())
        .collect();
    assert_eq!(targets, ["T1", "T2", "T3"]);
    assert!(
        heard[..3]
            .iter()
            .all(|m| m["params"]["targetInfo"]["browserContextId"].is_string())
    );
    assert_eq!(heard[3]["id"], id);
    assert!(script.calls().is_empty(), "connecting attaches nothing");
}

#[test]
fn asking_twice_attaches_no_tab_twice() {
    let mut script = Script::with_tabs(2);
    let (client, _) = script.attached_client();
    script.ask(
        client,
        None,
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true }),
    );
    assert!(script.heard(client).is_empty());
}

#[test]
fn puppeteer_finds_a_page_below_its_tab_target() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    let filter = json!([{ "type": "page", "exclude": true }, {}]);
    script.request(
        client,
        None,
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true, "filter": filter }),
    );
    let heard = script.heard(client);
    assert_eq!(heard[0]["params"]["targetInfo"]["type"], "tab");
    let above = heard[0]["params"]["sessionId"].as_str().unwrap().to_owned();
    script.request(
        client,
        Some(&above),
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true, "filter": [{}] }),
    );
    let heard = script.heard(client);
    assert_eq!(heard[0]["sessionId"], above.as_str());
    assert_eq!(heard[0]["params"]["targetInfo"]["targetId"], "T1");
    script.ask(
        client,
        Some(&above),
        "Runtime.runIfWaitingForDebugger",
        json!({}),
    );
}

#[test]
fn a_new_page_is_announced_before_its_creation_is_answered_and_is_live() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.attached_client();
    let id = script.request(
        client,
        None,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let call = script.next_call("createTab");
    assert_eq!(
        call["params"],
        json!({ "url": "about:blank", "newWindow": false, "active": false })
    );
    let mut created = tab(7);
    created["attached"] = true.into();
    script.reply(&call, created);
    let heard = script.heard(client);
    assert_eq!(heard[0]["method"], "Target.attachedToTarget");
    assert_eq!(
        (
            heard[1]["id"].as_i64(),
            heard[1]["result"]["targetId"].as_str()
        ),
        (Some(id), Some("T7"))
    );
    let session = heard[0]["params"]["sessionId"].as_str().unwrap().to_owned();
    script.request(
        client,
        Some(&session),
        "Page.navigate",
        json!({ "url": "https://x" }),
    );
    script.next_command("Page.navigate");
}

#[test]
fn a_new_page_stays_live_for_a_client_that_attaches_to_its_tab_target_first() {
    let mut script = Script::with_tabs(0);
    let client = script.client();
    let filter = json!([{ "type": "page", "exclude": true }, {}]);
    script.ask(
        client,
        None,
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true, "filter": filter }),
    );
    script.request(
        client,
        None,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let call = script.next_call("createTab");
    let mut created = tab(7);
    created["attached"] = true.into();
    script.reply(&call, created);
    assert!(script.calls().is_empty(), "the debugger stays");
}

#[test]
fn a_tab_the_person_opens_is_announced_with_its_opener() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.attached_client();
    script.ask(
        client,
        None,
        "Target.setDiscoverTargets",
        json!({ "discover": true }),
    );
    let mut opened = tab(2);
    opened["openerTabId"] = 1.into();
    script.extension_event("tabCreated", opened);
    let heard = script.heard(client);
    assert_eq!(
        (heard[0]["method"].as_str(), heard[1]["method"].as_str()),
        (
            Some("Target.targetCreated"),
            Some("Target.attachedToTarget")
        )
    );
    assert_eq!(heard[1]["params"]["targetInfo"]["openerId"], "T1");
}

#[test]
fn a_closed_tab_is_detached_and_destroyed_for_everyone_who_knew_it() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.attached_client();
    script.ask(
        client,
        None,
        "Target.setDiscoverTargets",
        json!({ "discover": true }),
    );
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let methods: Vec<_> = script
        .heard(client)
        .iter()
        .map(|m| m["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        methods,
        ["Target.detachedFromTarget", "Target.targetDestroyed"]
    );
}

#[test]
fn closing_a_tab_is_answered_once_even_when_the_browser_reports_it_first() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.attached_client();
    let id = script.request(
        client,
        None,
        "Target.closeTarget",
        json!({ "targetId": "T1" }),
    );
    let call = script.next_call("closeTab");
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    script.reply(&call, json!({}));
    let heard = script.heard(client);
    assert_eq!(heard.iter().filter(|m| m["id"] == id).count(), 1);
    assert_eq!(
        heard
            .iter()
            .filter(|m| m["method"] == "Target.detachedFromTarget")
            .count(),
        1
    );
}

#[test]
fn a_changed_title_reaches_those_who_discover() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    script.ask(
        client,
        None,
        "Target.setDiscoverTargets",
        json!({ "discover": true }),
    );
    script.extension_event("tabUpdated", json!({ "tabId": 1, "title": "New" }));
    let heard = script.heard(client);
    assert_eq!(heard[0]["params"]["targetInfo"]["title"], "New");
}

#[test]
fn the_persons_profile_cannot_be_divided() {
    let mut script = Script::with_tabs(0);
    let client = script.client();
    let (_, message) = script.error_of(client, None, "Target.createBrowserContext", json!({}));
    assert!(message.contains("browser.contexts()[0]"), "{message}");
    let contexts = script.ask(client, None, "Target.getBrowserContexts", json!({}));
    assert_eq!(contexts["browserContextIds"], json!([]));
}

#[test]
fn cookies_are_asked_for_through_a_live_tab() {
    let mut script = Script::with_tabs(2);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[1], 2);
    let context =
        script.ask(client, None, "Target.getBrowserContexts", json!({}))["defaultBrowserContextId"]
            .clone();
    let id = script.request(
        client,
        None,
        "Storage.getCookies",
        json!({ "browserContextId": context }),
    );
    let call = script.next_command("Storage.getCookies");
    assert_eq!(
        (call["params"]["tabId"].as_i64(), &call["params"]["params"]),
        (Some(2), &json!({}))
    );
    script.reply(&call, json!({ "cookies": [] }));
    let heard = script.heard(client);
    assert_eq!(
        (heard[0]["id"].as_i64(), heard[0].get("sessionId")),
        (Some(id), None)
    );
}

#[test]
fn a_tab_in_the_making_is_closed_too_when_its_client_wants_none_left() {
    let mut script = Script::with_tabs(1);
    script.core.config.on_disconnect = crate::OnDisconnect::CloseCreated;
    let client = script.client();
    script.request(
        client,
        None,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let create = script.next_call("createTab");
    script.input(crate::Input::ClientClosed(client));
    let mut made = tab(9);
    made["attached"] = true.into();
    script.reply(&create, made);
    let close = script.next_call("closeTab");
    assert_eq!(close["params"]["tabId"], 9);
    script.reply_error(&close, json!("Tabs cannot be edited right now"));
    assert_eq!(
        script.next_call("detachTab")["params"]["tabId"],
        9,
        "one that stays is given back"
    );
}

#[test]
fn a_tab_whose_client_left_while_the_browser_was_away_is_closed_when_it_is_back() {
    let mut script = Script::with_tabs(1);
    script.core.config.on_disconnect = crate::OnDisconnect::CloseCreated;
    let (client, _) = script.attached_client();
    script.request(
        client,
        None,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let create = script.next_call("createTab");
    script.reply(&create, tab(9));
    script.input(crate::Input::ExtensionClosed);
    script.input(crate::Input::ClientClosed(client));
    script.calls();
    script.connect_browser(vec![tab(1), tab(9)]);
    assert_eq!(script.next_call("closeTab")["params"]["tabId"], 9);
    assert!(script.calls().is_empty(), "the person's own stays");
}
