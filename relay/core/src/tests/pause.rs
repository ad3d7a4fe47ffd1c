//! The person stops all clients, or takes one tab back. Commands fail at once, sessions survive, and
//! nothing attaches to a tab by itself.

use serde_json::{Value, json};

use super::script::{Script, Session, attached_tab, auto_attach, playwright_init, tab};

const STOPPED: &str = "The person stopped this. Ask them before you go on.";
const STOPPED_RUNNING: &str = "The person stopped this. Ask them before you go on. This command was running; its outcome is unknown.";
const RELEASED: &str = "The tab was detached by the person. Ask them before you use it again.";

fn pause(script: &mut Script) {
    script.extension_event("pause", json!({}));
}

fn resume(script: &mut Script) {
    script.extension_event("resume", json!({}));
}

/// The session of a client that uses the only tab.
fn live_page() -> (Script, Session) {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    for (method, params) in playwright_init() {
        script.send(&page, method, params);
    }
    script.make_live(&page);
    (script, page)
}

#[track_caller]
fn assert_stopped(script: &mut Script, page: &Session, method: &str, params: Value) {
    let (code, message) = script.request_error(page, method, params);
    assert_eq!((code, message.as_str()), (-32000, STOPPED), "{method}");
    assert!(script.calls().is_empty(), "{method}");
}

#[test]
fn command_in_flight_fails_at_once_with_an_unknown_outcome() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    let call = script.next_command("Runtime.evaluate");
    pause(&mut script);
    assert_eq!(script.received(&page).error(id), STOPPED_RUNNING);
    script.reply(&call, json!({ "result": {} }));
    assert!(script.received(&page).reply_ids().is_empty());
    assert!(!script.is_live(1));
}

/// Playwright calls functions this way, and hides an error.
#[test]
fn function_in_flight_throws_that_its_outcome_is_unknown() {
    let (mut script, page) = live_page();
    let params = json!({ "functionDeclaration": "() => 1", "objectId": "x" });
    let id = script.send(&page, "Runtime.callFunctionOn", params);
    pause(&mut script);
    let received = script.received(&page);
    let thrown = &received.result(id)["exceptionDetails"]["exception"]["description"];
    assert_eq!(thrown, &format!("Error: {STOPPED_RUNNING}"));
}

#[test]
fn commands_that_wait_for_their_tab_fail_at_once() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let first = script.send(&page, "Page.reload", json!({}));
    let second = script.send(&page, "DOM.getDocument", json!({}));
    let attach = script.next_call("attachTab");
    pause(&mut script);
    let received = script.received(&page);
    assert_eq!(
        [received.error(first), received.error(second)],
        [STOPPED; 2]
    );
    script.reply(&attach, json!({}));
    script.next_call("detachTab");
}

#[test]
fn whatever_a_client_does_fails_without_reaching_the_browser() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.received(&page);
    for (method, params) in [
        ("Runtime.evaluate", json!({ "expression": "1" })),
        ("Page.navigate", json!({ "url": "https://site/2" })),
        ("Page.captureScreenshot", json!({})),
        ("Input.dispatchKeyEvent", json!({ "type": "char" })),
        ("Network.getAllCookies", json!({})),
        (
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": false }),
        ),
        ("Browser.getWindowForTarget", json!({})),
    ] {
        assert_stopped(&mut script, &page, method, params);
    }
    let permissions = json!({ "permissions": ["geolocation"], "origin": "https://site" });
    for (method, params) in [
        ("Target.createTarget", json!({ "url": "about:blank" })),
        ("Target.closeTarget", json!({ "targetId": "T1" })),
        ("Target.activateTarget", json!({ "targetId": "T1" })),
        ("Storage.getCookies", json!({})),
        ("Browser.grantPermissions", permissions),
    ] {
        let (_, message) = script.request_error(page.client, method, params);
        assert_eq!(message, STOPPED, "{method}");
        assert!(script.calls().is_empty(), "{method}");
    }
}

/// Playwright hides an error of these and tries again until it times out.
#[test]
fn code_that_a_library_runs_in_a_context_throws() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.received(&page);
    for (method, params) in [
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "contextId": 7 }),
        ),
        (
            "Runtime.evaluate",
            json!({ "expression": "1", "uniqueContextId": "x" }),
        ),
        (
            "Runtime.callFunctionOn",
            json!({ "functionDeclaration": "() => 1", "objectId": "x" }),
        ),
    ] {
        let result = script.request(&page, method, params);
        let thrown = &result["exceptionDetails"]["exception"]["description"];
        assert_eq!(thrown, &format!("Error: {STOPPED}"), "{method}");
    }
    assert!(script.calls().is_empty());
}

#[test]
fn calls_of_the_browser_that_are_in_flight_fail_at_once() {
    let (mut script, page) = live_page();
    let client = page.client;
    let created = script.send(
        client,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let create = script.next_call("createTab");
    let cookies = script.send(client, "Storage.getCookies", json!({}));
    script.next_call("browserCommand");
    pause(&mut script);
    let received = script.received(client);
    for id in [created, cookies] {
        assert_eq!(received.error(id), STOPPED_RUNNING);
    }
    script.reply(&create, attached_tab(7));
    assert_eq!(script.next_call("detachTab").tab(), 7);
}

#[test]
fn same_session_wakes_its_tab_after_resuming() {
    let (mut script, page) = live_page();
    pause(&mut script);
    let received = script.received(&page);
    assert!(received.has_event("Runtime.executionContextsCleared"));
    assert!(received.has_event("Runtime.executionContextCreated"));
    assert!(!received.has_event("Target.detachedFromTarget"));
    assert!(!received.has_event("Inspector.detached"));
    resume(&mut script);
    assert!(script.elapse(60).is_empty(), "nothing attaches by itself");
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    assert!(replayed.contains(&"Runtime.enable".to_owned()));
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": {} }));
    assert!(script.received(&page).has_reply(id));
}

#[test]
fn client_connects_and_lists_tabs_during_a_pause_and_is_stopped_too() {
    let (mut script, first) = live_page();
    pause(&mut script);
    script.received(&first);
    let client = script.connect_client();
    let version = script.request(client, "Browser.getVersion", json!({}));
    assert_eq!(version["product"], "Chrome/156.0.1.2");
    script.send(client, "Target.setAutoAttach", auto_attach());
    let page = script.received(client).attached_sessions(client).remove(0);
    for (method, params) in playwright_init() {
        script.request(&page, method, params);
    }
    let targets = script.request(client, "Target.getTargets", json!({}));
    assert_eq!(targets["targetInfos"][0]["targetId"], "T1");
    assert_stopped(&mut script, &page, "Page.reload", json!({}));
    // It does not use the tab because of that: Puppeteer's size still waits, as in any other tab.
    let size = json!({ "width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": false });
    script.request(&page, "Emulation.setDeviceMetricsOverride", size);
}

/// Connects the browser again as the extension does after its worker was stopped.
fn reconnect(script: &mut Script, list: Value) {
    script.open_extension();
    let call = script.next_call("listTabs");
    script.reply(&call, list);
}

#[test]
fn pause_lasts_while_the_extension_is_away_and_after_it_is_back() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.disconnect_extension();
    script.received(&page);
    assert_stopped(&mut script, &page, "Page.reload", json!({}));
    reconnect(
        &mut script,
        json!({ "tabs": [attached_tab(1)], "paused": true }),
    );
    script.received(&page);
    script.next_call("detachTab");
    assert!(script.calls().is_empty(), "it is not attached again");
    assert_stopped(&mut script, &page, "Page.reload", json!({}));
}

#[test]
fn relay_that_starts_during_a_pause_learns_of_it_with_the_tabs() {
    let mut script = Script::new();
    let client = script.connect_client();
    script.open_extension();
    let id = script.send(client, "Storage.getCookies", json!({}));
    let call = script.next_call("listTabs");
    script.reply(&call, json!({ "tabs": [tab(1)], "paused": true }));
    assert_eq!(script.received(client).error(id), STOPPED);
    assert!(script.is_paused());
}

#[test]
fn browser_that_was_resumed_while_it_was_away_can_be_used() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.disconnect_extension();
    reconnect(&mut script, json!({ "tabs": [tab(1)] }));
    script.received(&page);
    script.make_live(&page);
}

#[test]
fn browser_that_has_quit_is_missing_and_not_paused() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.disconnect_extension();
    script.advance(std::time::Duration::from_secs(121));
    assert!(!script.is_paused());
    let (_, message) = script.request_error(page.client, "Target.getTargets", json!({}));
    assert!(message.starts_with("No browser connected."), "{message}");
}

#[test]
fn no_browser_is_launched_for_a_client_that_was_stopped() {
    let mut script = Script::launching();
    script.connect_browser(vec![tab(1)]);
    let page = script.auto_attached_page();
    pause(&mut script);
    script.disconnect_extension();
    assert_stopped(&mut script, &page, "Page.reload", json!({}));
    assert_eq!(script.launches(), 0);
}

#[test]
fn nothing_of_a_client_remains_if_it_leaves_during_a_pause() {
    let (mut script, page) = live_page();
    pause(&mut script);
    script.disconnect(page.client);
    assert!(script.is_idle());
    assert!(script.calls().is_empty());
}

// ---- one tab ----

fn release(script: &mut Script, page: &Session) {
    script.detach_debugger(1, "canceled_by_user");
    let received = script.received(page);
    assert!(!received.has_event("Target.detachedFromTarget"));
}

#[test]
fn tab_that_the_person_took_back_says_so_and_stays_detached() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    script.next_command("Runtime.evaluate");
    script.detach_debugger(1, "canceled_by_user");
    let received = script.received(&page);
    let running = format!("{RELEASED} This command was running; its outcome is unknown.");
    assert_eq!(received.error(id), running);
    let (_, message) = script.request_error(&page, "Page.reload", json!({}));
    assert_eq!(message, RELEASED);
    assert!(script.calls().is_empty(), "nothing is attached again");
}

#[test]
fn tab_that_the_person_took_back_is_closed_to_its_clients_although_another_uses_it() {
    let (mut script, page) = live_page();
    release(&mut script, &page);
    let other = script.auto_attached_page();
    script.make_live(&other);
    let (_, message) = script.request_error(&page, "Page.reload", json!({}));
    assert_eq!(message, RELEASED);
    script.use_live(&other);
}

#[test]
fn tab_that_the_person_took_back_is_neither_closed_nor_shown() {
    let (mut script, page) = live_page();
    release(&mut script, &page);
    for method in ["Target.closeTarget", "Target.activateTarget"] {
        let params = json!({ "targetId": "T1" });
        let (_, message) = script.request_error(page.client, method, params);
        assert_eq!(message, RELEASED, "{method}");
    }
    assert!(script.calls().is_empty());
}

#[test]
fn other_tabs_can_be_used_after_the_person_took_one_back() {
    let mut script = Script::with_tabs(2);
    let (_, mut pages) = script.auto_attached_client();
    let (second, first) = (pages.remove(1), pages.remove(0));
    script.make_live(&first);
    release(&mut script, &first);
    script.make_live(&second);
}

#[test]
fn resuming_gives_back_the_tabs_that_the_person_took() {
    let (mut script, page) = live_page();
    release(&mut script, &page);
    pause(&mut script);
    resume(&mut script);
    script.received(&page);
    script.make_live(&page);
}

#[test]
fn new_client_can_use_a_tab_that_the_person_took_back() {
    let (mut script, page) = live_page();
    release(&mut script, &page);
    script.disconnect(page.client);
    let clients = [
        script.connect_client(),
        script.connect_client_with_identity("other"),
    ];
    for client in clients {
        let page = script.attach_to_target(client, "T1");
        script.make_live(&page);
        script.disconnect(client);
        script.answer_calls();
    }
}

#[test]
fn client_that_connects_again_cannot_use_a_tab_that_the_person_took_back() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client_with_identity("agent");
    let page = script.attach_to_target(client, "T1");
    script.make_live(&page);
    release(&mut script, &page);
    script.disconnect(client);
    assert!(script.is_idle());

    let again = script.connect_client_with_identity("agent");
    let page = script.attach_to_target(again, "T1");
    let (_, message) = script.request_error(&page, "Page.reload", json!({}));
    assert_eq!(message, RELEASED);
    assert!(script.calls().is_empty(), "nothing is attached again");
    pause(&mut script);
    resume(&mut script);
    script.received(&page);
    script.make_live(&page);
}

/// Playwright remembers that its helper could not be created in a context.
#[test]
fn context_whose_helper_was_refused_is_announced_again() {
    let (mut script, page) = live_page();
    pause(&mut script);
    let received = script.received(&page);
    let context = received.event("Runtime.executionContextCreated")["context"]["id"].clone();
    let helper = json!({ "expression": "new (module.exports.UtilityScript())()", "contextId": context, "returnByValue": true });
    let id = script.send(&page, "Runtime.evaluate", helper);
    let received = script.received(&page);
    assert!(received.result(id)["exceptionDetails"].is_object());
    let methods = [
        "Runtime.executionContextDestroyed",
        "Runtime.executionContextCreated",
    ];
    assert_eq!(received.methods(), methods);
    assert_eq!(received[0]["id"], id, "the reply comes first");
}
