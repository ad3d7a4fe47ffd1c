//! Events go to the sessions that enabled their domain. A session that enables a domain late
//! receives its past events.

use serde_json::json;

use super::{two_clients, two_initialized_clients};
use crate::tests::script::{Messages, Script, Session};

fn log_to_console(script: &mut Script) {
    script.cdp_event(1, "Runtime.consoleAPICalled", json!({ "args": [] }));
}

fn enable_lifecycle_events(script: &mut Script, page: &Session) -> i64 {
    let params = json!({ "enabled": true });
    script.send(page, "Page.setLifecycleEventsEnabled", params)
}

fn lifecycle_event(script: &mut Script, name: &str) {
    let params = json!({ "frameId": "T1", "name": name });
    script.cdp_event(1, "Page.lifecycleEvent", params);
}

#[test]
fn event_reaches_each_client_under_its_own_session_id() {
    let (mut script, pages) = two_clients();
    log_to_console(&mut script);
    for page in &pages {
        let received = script.received(page);
        assert_eq!(received.len(), 1);
        assert_eq!(received[0]["sessionId"], page.id);
    }
}

#[test]
fn events_reach_only_sessions_that_enabled_their_domain() {
    let (mut script, [first, second]) = two_clients();
    script.send(&first, "Network.enable", json!({}));
    script.cdp_event(1, "Network.requestWillBeSent", json!({}));
    assert_eq!(
        script.received(&first).methods(),
        ["Network.requestWillBeSent"]
    );
    assert!(script.received(&second).is_empty());
}

#[test]
fn events_without_enable_reach_only_sessions_that_used_the_domain() {
    let (mut script, [first, second]) = two_clients();
    script.send(&first, "Tracing.start", json!({}));
    script.cdp_event(1, "Tracing.dataCollected", json!({ "value": [] }));
    assert_eq!(script.received(&first).methods(), ["Tracing.dataCollected"]);
    assert!(script.received(&second).is_empty());
}

#[test]
fn screencast_frames_reach_only_sessions_that_started_a_screencast() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.request(&page, "Page.enable", json!({}));
    script.make_live(&page);
    script.cdp_event(1, "Page.screencastFrame", json!({ "data": "" }));
    assert!(script.received(&page).is_empty());
    script.send(&page, "Page.startScreencast", json!({}));
    script.cdp_event(1, "Page.screencastFrame", json!({ "data": "" }));
    let received = script.received(&page);
    assert_eq!(received[0]["method"], "Page.screencastFrame");
}

#[test]
fn disabling_a_domain_ends_only_the_view_of_the_session() {
    let (mut script, [first, second]) = two_clients();
    script.request(&first, "Runtime.disable", json!({}));
    assert!(script.calls().is_empty());
    log_to_console(&mut script);
    assert!(script.received(&first).is_empty());
    assert_eq!(script.received(&second).len(), 1);
    script.send(&second, "Runtime.disable", json!({}));
    script.next_command("Runtime.disable");
}

#[test]
fn late_session_receives_existing_contexts() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    script.send(&first, "Runtime.enable", json!({}));
    script.make_live(&first);
    script.create_context(9, "T1", "");
    let second = script.auto_attached_page();
    script.send(&second, "Runtime.enable", json!({}));
    let received = script.received(&second);
    assert_eq!(received[0]["params"]["context"]["id"], 9);
    assert!(received[1]["result"].is_object());
    assert!(script.calls().is_empty(), "Chrome has already enabled it");
}

#[test]
fn late_session_receives_past_events_of_its_domains() {
    let (mut script, [first, second]) = two_initialized_clients();
    for method in ["Debugger.enable", "Page.enable"] {
        script.send(&first, method, json!({}));
    }
    enable_lifecycle_events(&mut script, &first);
    script.cdp_event(1, "Debugger.scriptParsed", json!({ "scriptId": "7" }));
    lifecycle_event(&mut script, "load");
    script.received(&second);
    script.calls();
    script.send(&second, "Debugger.enable", json!({}));
    enable_lifecycle_events(&mut script, &second);
    script.answer_calls();
    assert_eq!(
        script.received(&second).methods(),
        ["Debugger.scriptParsed", "Page.lifecycleEvent"]
    );
}

/// The ids of contexts 9 and 10 in the order of their announcements.
fn announced_contexts(received: &Messages) -> Vec<i64> {
    let contexts = received.contexts();
    let ids = contexts.iter().filter_map(|c| c["id"].as_i64());
    ids.filter(|id| [9, 10].contains(id)).collect()
}

#[test]
fn past_events_do_not_overtake_pending_replies() {
    let (mut script, [first, _]) = two_clients();
    enable_lifecycle_events(&mut script, &first);
    script.calls();
    script.create_context(9, "T1", "nine");
    lifecycle_event(&mut script, "init");
    let late = script.explicitly_attached_page("T1");
    script.send(&late, "Page.enable", json!({}));
    let tree = script.send(&late, "Page.getFrameTree", json!({}));
    let lifecycle = enable_lifecycle_events(&mut script, &late);
    let runtime = script.send(&late, "Runtime.enable", json!({}));
    assert!(script.received(&late).is_empty());
    let calls = script.calls();
    // A context that is created meanwhile is announced with the others, once.
    script.create_context(10, "T1", "ten");
    for call in calls {
        script.reply(&call, json!({}));
    }
    let received = script.received(&late);
    assert_eq!(announced_contexts(&received), [9, 10]);
    let order = [
        received.position(|m| m["id"] == tree),
        received.position(|m| m["method"] == "Page.lifecycleEvent"),
        received.position(|m| m["id"] == lifecycle),
        received.position(|m| m["params"]["context"]["id"] == 9),
        received.position(|m| m["id"] == runtime),
    ];
    assert!(order.is_sorted(), "{order:?} in {received:?}");
    assert_eq!(received.result(runtime), &json!({}));
    log_to_console(&mut script);
    assert_eq!(
        script.received(&late).methods(),
        ["Runtime.consoleAPICalled"]
    );
}

#[test]
fn late_session_keeps_its_domain_when_the_first_session_ends() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    script.request(&first, "Runtime.enable", json!({}));
    script.make_live(&first);
    let late = script.explicitly_attached_page("T1");
    script.use_live(&late);
    script.send(&late, "Page.getFrameTree", json!({}));
    let runtime = script.send(&late, "Runtime.enable", json!({}));
    let calls = script.calls();
    script.disconnect(first.client);
    script.calls();
    for call in calls {
        script.reply(&call, json!({}));
    }
    let call = script.next_command("Runtime.enable");
    script.reply(&call, json!({}));
    assert_eq!(script.received(&late).last().unwrap()["id"], runtime);
}

#[test]
fn repeated_enables_are_each_answered() {
    let mut script = Script::with_tabs(1);
    let page = script.explicitly_attached_page("T1");
    script.make_live(&page);
    script.send(&page, "Runtime.enable", json!({}));
    script.answer_calls();
    script.received(&page);
    let params = json!({ "expression": "1" });
    script.send(&page, "Runtime.evaluate", params);
    let ids = [(); 2].map(|()| script.send(&page, "Runtime.enable", json!({})));
    for _ in 0..3 {
        script.answer_calls();
    }
    let received = script.received(&page);
    for id in ids {
        assert!(received.result(id).is_object(), "{received:?}");
    }
    assert!(script.calls().is_empty());
}
