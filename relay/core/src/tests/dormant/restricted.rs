//! Tabs that go to a page that Chrome does not let extensions debug, and come back.

use serde_json::{Value, json};

use super::initialized_page;
use crate::tests::script::{Script, Session, child_target, main_frame, tab};

const SETTINGS: &str = "chrome://settings/";

/// The person takes tab 1 to Chrome's settings.
fn go_to_settings(script: &mut Script) {
    let params = json!({ "tabId": 1, "url": SETTINGS, "status": "loading", "restricted": true });
    script.extension_event("tabUpdated", params);
}

/// Tab 1 shows an ordinary page again.
fn leave_settings(script: &mut Script) {
    let url = "https://site/next";
    for (event, params) in [
        (
            "tabUpdated",
            json!({ "tabId": 1, "url": url, "status": "loading", "restricted": false }),
        ),
        (
            "tabNavigated",
            json!({ "tabId": 1, "url": url, "sameDocument": false }),
        ),
    ] {
        script.extension_event(event, params);
    }
}

/// Checks that a command fails with an error that names the page, and attaches nothing.
#[track_caller]
fn assert_refused(script: &mut Script, page: &Session) {
    let (code, message) = script.request_error(page, "DOM.getDocument", json!({}));
    assert_eq!(code, -32000);
    assert!(message.contains(SETTINGS), "{message}");
    assert!(message.contains("Page.navigate"), "{message}");
    for method in ["Runtime.evaluate", "Runtime.callFunctionOn"] {
        let result = script.request(page, method, json!({}));
        let thrown = &result["exceptionDetails"]["exception"]["description"];
        assert_eq!(thrown, &format!("Error: {message}"), "{method}");
    }
    assert!(script.calls().is_empty());
}

#[test]
fn dormant_tab_stays_a_target_whose_commands_fail() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    let received = script.received(&page);
    let navigated = received.event("Page.frameNavigated");
    assert_eq!(navigated["frame"]["url"], SETTINGS);
    assert!(!received.has_event("Target.detachedFromTarget"));
    assert_refused(&mut script, &page);
    let targets = script.request(page.client, "Target.getTargets", json!({}));
    assert_eq!(targets["targetInfos"][0]["url"], SETTINGS);
}

#[test]
fn frames_of_the_page_before_are_gone() {
    for is_live in [false, true] {
        let (mut script, page, _) = initialized_page();
        let frames = json!([{ "targetId": "F1", "url": "https://other/" }]);
        let update = json!({ "tabId": 1, "frames": frames });
        script.extension_event("tabUpdated", update);
        let received = script.received(&page);
        let frame = received.attached_sessions(page.client).remove(0);
        if is_live {
            // Chrome attaches the frame, which becomes a placeholder again.
            script.send(&page, "Runtime.evaluate", json!({}));
            let mut target = child_target("c1", "iframe", false);
            target["targetInfo"]["targetId"] = "F1".into();
            script.accept_attach();
            script.cdp_event(1, "Target.attachedToTarget", target);
            script.answer_all_with_tree(&main_frame(1));
            script.received(&page);
            script.calls();
        }
        go_to_settings(&mut script);
        let received = script.received(&page);
        let detached = received.event("Target.detachedFromTarget");
        assert_eq!(detached["targetId"], "F1");
        let received = script.received(&page);
        assert!(!received.has_event("Target.attachedToTarget"));
        let (code, _) = script.request_error(&frame, "DOM.getDocument", json!({}));
        assert_eq!(code, -32001);
        assert!(!script.calls().has_call("attachTab"));
    }
}

#[test]
fn frames_of_a_restricted_page_are_refused_too() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.received(&page);
    let frames = json!([{ "targetId": "F1", "url": "chrome-untrusted://inner/" }]);
    script.extension_event("tabUpdated", json!({ "tabId": 1, "frames": frames }));
    let received = script.received(&page);
    let frame = received.attached_sessions(page.client).remove(0);
    script.request(&frame, "Page.enable", json!({}));
    assert_refused(&mut script, &frame);
}

#[test]
fn reports_when_a_restricted_page_has_loaded() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    let loaded = json!({ "tabId": 1, "status": "complete", "title": "Settings" });
    script.extension_event("tabUpdated", loaded);
    let received = script.received(&page);
    let count = received.events("Page.frameNavigated").count();
    assert_eq!(count, 1, "it is one document");
    let mut lifecycle = received.events("Page.lifecycleEvent");
    assert!(lifecycle.any(|params| params["name"] == "load"));
}

#[test]
fn live_tab_loses_the_debugger_and_fails_what_is_in_flight() {
    let (mut script, page, _) = initialized_page();
    script.make_live(&page);
    let in_flight = script.send(&page, "Runtime.evaluate", json!({}));
    script.next_command("Runtime.evaluate");
    go_to_settings(&mut script);
    // `view-source:` pages keep the debugger.
    assert_eq!(script.next_call("detachTab").tab(), 1);
    let received = script.received(&page);
    let message = received.error(in_flight);
    assert!(message.contains("outcome is unknown"), "{message}");
    assert!(message.contains(SETTINGS), "{message}");
    assert_refused(&mut script, &page);
}

#[test]
fn commands_that_wait_for_the_debugger_fail_with_the_reason() {
    let (mut script, page, _) = initialized_page();
    let waiting = script.send(&page, "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
    go_to_settings(&mut script);
    let received = script.received(&page);
    assert!(received.error(waiting).starts_with("The tab shows chrome:"));
    script.next_call("detachTab");
    assert_refused(&mut script, &page);
}

#[test]
fn wakes_again_when_the_user_has_left_the_page() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.received(&page);
    leave_settings(&mut script);
    let received = script.received(&page);
    let navigated = received.event("Page.frameNavigated");
    assert_eq!(navigated["frame"]["url"], "https://site/next");
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    assert!(replayed.iter().any(|method| method == "Network.enable"));
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": {} }));
    assert!(script.received(&page).has_reply(id));
}

#[test]
fn client_navigates_elsewhere_through_the_browser() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.received(&page);
    let params = json!({ "url": "https://site/next", "frameId": "T1" });
    let id = script.send(&page, "Page.navigate", params.clone());
    let call = script.next_browser_command("Page.navigate");
    assert_eq!((call.tab(), call.params()), (1, &params));
    leave_settings(&mut script);
    script.reply(&call, json!({}));
    let received = script.received(&page);
    let loader = &received.event("Page.frameNavigated")["frame"]["loaderId"];
    let expected = json!({ "frameId": "T1", "loaderId": loader });
    assert_eq!(received.result(id), &expected);
    assert!(script.calls().is_empty(), "nothing is attached for it");
}

#[test]
fn navigation_that_fails_reports_the_error() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    let id = script.send(&page, "Page.navigate", json!({ "url": "https://gone/" }));
    let call = script.next_browser_command("Page.navigate");
    let error = "net::ERR_NAME_NOT_RESOLVED";
    script.reply(&call, json!({ "errorText": error }));
    let expected = json!({ "frameId": "T1", "errorText": error });
    assert_eq!(script.received(&page).result(id), &expected);
}

#[test]
fn restricted_tab_can_be_activated_and_closed() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.send(&page, "Page.bringToFront", json!({}));
    assert_eq!(script.next_call("activateTab").tab(), 1);
    script.request(&page, "Page.close", json!({}));
    assert_eq!(script.next_call("closeTab").tab(), 1);
    let params = json!({ "targetId": "T1" });
    let id = script.send(page.client, "Target.closeTarget", params);
    let close = script.next_call("closeTab");
    script.reply(&close, json!({}));
    let received = script.received(&page);
    assert_eq!(received.result(id), &json!({ "success": true }));
    assert!(received.has_event("Target.detachedFromTarget"));
}

#[test]
fn client_that_connects_meanwhile_sees_the_tab_like_any_other() {
    let (mut script, _, _) = initialized_page();
    go_to_settings(&mut script);
    let page = script.auto_attached_page();
    for (method, params) in crate::tests::script::playwright_init() {
        script.request(&page, method, params);
    }
    assert_refused(&mut script, &page);
}

fn restricted_tab(id: i64) -> Value {
    let mut tab = tab(id);
    tab["url"] = SETTINGS.into();
    tab["restricted"] = true.into();
    tab
}

#[test]
fn stays_a_target_while_the_extension_restarts() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.disconnect_extension();
    let mut listed = restricted_tab(1);
    listed["attached"] = true.into();
    script.received(&page);
    script.connect_browser(vec![listed]);
    script.next_call("detachTab");
    let received = script.received(&page);
    assert!(!received.has_event("Page.frameNavigated"), "{received:?}");
    assert_refused(&mut script, &page);
}

#[test]
fn tab_that_left_while_the_extension_was_away_can_be_used() {
    let (mut script, page, _) = initialized_page();
    go_to_settings(&mut script);
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    let received = script.received(&page);
    assert_eq!(received.events("Page.frameNavigated").count(), 2);
    script.make_live(&page);
}

#[test]
fn tab_that_went_there_while_the_extension_was_away_stays_a_target() {
    let (mut script, page, _) = initialized_page();
    script.make_live(&page);
    script.disconnect_extension();
    script.connect_browser(vec![restricted_tab(1)]);
    let received = script.received(&page);
    assert_eq!(received.events("Page.frameNavigated").count(), 1);
    assert!(!received.has_event("Target.detachedFromTarget"));
    assert_refused(&mut script, &page);
}
