//! `Target.setAutoAttach` of several sessions: Chrome receives the union, each session gets what
//! its own filter selects, and no target waits for a debugger that nobody resumes.

use serde_json::{Value, json};

use crate::tests::script::{Messages, Script, Session, auto_attach, child_target};
use crate::tests::sessions::two_clients;

/// Sends `Target.setAutoAttach` with a filter and returns the id of the request. `pauses`: whether
/// new targets wait for this session to resume them.
fn auto_attach_to(script: &mut Script, page: &Session, filter: Value, pauses: bool) -> i64 {
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": pauses, "flatten": true, "filter": filter });
    script.send(page, "Target.setAutoAttach", params)
}

fn stop_auto_attach(script: &mut Script, page: &Session) {
    let params = json!({ "autoAttach": false, "waitForDebuggerOnStart": false });
    script.request(page, "Target.setAutoAttach", params);
}

/// Chrome attaches to a child target, which waits for the debugger.
fn start_child(script: &mut Script, name: &str, kind: &str) {
    let params = child_target(name, kind, true);
    script.cdp_event(1, "Target.attachedToTarget", params);
}

/// The next command resumes this child.
#[track_caller]
fn assert_resumes(script: &mut Script, name: &str) {
    let call = script.next_command("Runtime.runIfWaitingForDebugger");
    assert_eq!(call.child(), Some(name));
}

/// The types of the targets that were announced, and whether each waits for the client to resume
/// it.
fn announced(received: &Messages) -> Vec<(&str, bool)> {
    let attached = received.events("Target.attachedToTarget");
    attached
        .map(|params| {
            let kind = params["targetInfo"]["type"].as_str().unwrap();
            (kind, params["waitingForDebugger"].as_bool().unwrap())
        })
        .collect()
}

/// The session of a client that attached explicitly to a live tab.
fn live_page() -> (Script, Session) {
    let mut script = Script::with_tabs(1);
    let page = script.explicitly_attached_page("T1");
    script.make_live(&page);
    (script, page)
}

#[test]
fn chrome_attaches_to_everything_and_filters_select_per_session() {
    let (mut script, first) = live_page();
    auto_attach_to(&mut script, &first, json!([{ "type": "worker" }]), true);
    let call = script.next_command("Target.setAutoAttach");
    assert_eq!(call.params(), &auto_attach());
    script.reply(&call, json!({}));
    start_child(&mut script, "one", "worker");
    start_child(&mut script, "two", "iframe");
    assert_eq!(announced(&script.received(&first)), [("worker", true)]);
    assert_resumes(&mut script, "two");

    let second = script.explicitly_attached_page("T1");
    let id = auto_attach_to(&mut script, &second, json!([{}]), true);
    script.received(&second).result(id);
    assert!(script.calls().is_empty(), "Chrome has auto-attach on");
}

#[test]
fn late_session_receives_existing_targets() {
    let (mut script, first) = live_page();
    auto_attach_to(&mut script, &first, json!([{}]), true);
    start_child(&mut script, "one", "worker");
    let second = script.explicitly_attached_page("T1");
    auto_attach_to(&mut script, &second, json!([{}]), true);
    assert_eq!(announced(&script.received(&second)), [("worker", false)]);
}

#[test]
fn targets_pause_on_start_while_any_session_wants_it() {
    let (mut script, first) = live_page();
    let pauses = |script: &mut Script| {
        let call = script.next_command("Target.setAutoAttach");
        call.params()["waitForDebuggerOnStart"].clone()
    };
    auto_attach_to(&mut script, &first, json!([{}]), false);
    assert_eq!(pauses(&mut script), false);
    let second = script.explicitly_attached_page("T1");
    auto_attach_to(&mut script, &second, json!([{ "type": "worker" }]), true);
    assert_eq!(pauses(&mut script), true);
    script.received(&first);
    script.received(&second);

    start_child(&mut script, "one", "worker");
    assert_eq!(announced(&script.received(&first)), [("worker", false)]);
    assert_eq!(announced(&script.received(&second)), [("worker", true)]);
    assert!(script.calls().is_empty(), "the second session resumes it");
    start_child(&mut script, "two", "iframe");
    assert_resumes(&mut script, "two");

    script.disconnect(second.client);
    let calls = script.calls();
    let params = calls.command("Target.setAutoAttach").params();
    assert_eq!(params["waitForDebuggerOnStart"], false);
    let resume = calls.command("Runtime.runIfWaitingForDebugger");
    assert_eq!(
        resume.child(),
        Some("one"),
        "the session that would have resumed it is gone"
    );
}

#[test]
fn sends_auto_attach_again_with_each_attachment() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let id = auto_attach_to(&mut script, &page, json!([{}]), true);
    script.received(&page).result(id);
    script.start_waking(&page);
    let tree = script.next_command("Page.getFrameTree");
    let error = json!({ "code": -32000, "message": "not now" });
    script.reply_error(&tree, error);
    script.calls();
    script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    assert!(
        replayed.contains(&"Target.setAutoAttach".to_owned()),
        "{replayed:?}"
    );
}

#[test]
fn resumes_a_target_that_no_session_wants() {
    let (mut script, [first, _]) = two_clients();
    start_child(&mut script, "w", "worker");
    assert_resumes(&mut script, "w");
    assert!(script.received(&first).is_empty());
}

#[test]
fn stopping_auto_attach_releases_and_resumes_targets() {
    let (mut script, [first, second]) = two_clients();
    auto_attach_to(&mut script, &first, json!([{}]), true);
    auto_attach_to(&mut script, &second, json!([{ "type": "iframe" }]), true);
    script.answer_calls();
    start_child(&mut script, "w", "worker");
    script.received(&first);
    stop_auto_attach(&mut script, &first);
    assert_resumes(&mut script, "w");
    start_child(&mut script, "f", "iframe");
    assert_eq!(announced(&script.received(&first)), []);
    assert_eq!(announced(&script.received(&second)), [("iframe", true)]);
}
