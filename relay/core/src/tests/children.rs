//! Targets below a page, and several sessions that want them differently.

use serde_json::{Value, json};

use super::script::Script;
use crate::Input;

fn ask(filter: &Value, stops: bool) -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": stops, "flatten": true, "filter": filter })
}

fn appears(script: &mut Script, child: &str, kind: &str) {
    let info = json!({ "targetId": format!("X{child}"), "type": kind });
    script.cdp_event(1, "Target.attachedToTarget", json!({ "sessionId": child, "targetInfo": info, "waitingForDebugger": true }));
}

/// The kinds of target that a client was told of since it was last asked, and whether each waits for it.
fn told(heard: &[Value]) -> Vec<(&str, bool)> {
    let attached = heard.iter().filter(|m| m["method"] == "Target.attachedToTarget").map(|m| &m["params"]);
    attached.map(|p| (p["targetInfo"]["type"].as_str().unwrap(), p["waitingForDebugger"].as_bool().unwrap())).collect()
}

#[test]
fn each_session_is_told_of_what_its_own_filter_wants_and_chrome_is_asked_for_all() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    script.request(first, Some(&a), "Target.setAutoAttach", ask(&json!([{ "type": "worker" }]), true));
    let asked = script.next_command("Target.setAutoAttach");
    assert_eq!(asked["params"]["params"], json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }));
    script.reply(&asked, json!({}));
    appears(&mut script, "one", "worker");
    appears(&mut script, "two", "iframe");
    assert_eq!(told(&script.heard(first)), [("worker", true)]);
    let resumed = script.next_command("Runtime.runIfWaitingForDebugger");
    assert_eq!(resumed["params"]["childSessionId"], "two", "nobody else will");

    let (second, b) = script.asking_client("T1");
    script.ask(second, Some(&b), "Target.setAutoAttach", ask(&json!([{}]), true));
    assert!(script.calls().is_empty(), "Chrome has heard it");
}

#[test]
fn a_late_session_learns_of_the_targets_that_are_there() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    script.request(first, Some(&a), "Target.setAutoAttach", ask(&json!([{}]), true));
    appears(&mut script, "one", "worker");
    let (second, b) = script.asking_client("T1");
    script.request(second, Some(&b), "Target.setAutoAttach", ask(&json!([{}]), true));
    assert_eq!(told(&script.heard(second)), [("worker", false)]);
}

#[test]
fn targets_stop_at_their_start_as_long_as_a_session_wants_that() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    let stops = |script: &mut Script| script.next_command("Target.setAutoAttach")["params"]["params"]["waitForDebuggerOnStart"].clone();
    script.request(first, Some(&a), "Target.setAutoAttach", ask(&json!([{}]), false));
    assert_eq!(stops(&mut script), false);
    let (second, b) = script.asking_client("T1");
    script.request(second, Some(&b), "Target.setAutoAttach", ask(&json!([{ "type": "worker" }]), true));
    assert_eq!(stops(&mut script), true);
    script.heard(first);
    script.heard(second);
    appears(&mut script, "one", "worker");
    assert_eq!((told(&script.heard(first)), told(&script.heard(second))), (vec![("worker", false)], vec![("worker", true)]));
    assert!(script.calls().is_empty(), "the second means to resume it");
    appears(&mut script, "two", "iframe");
    assert_eq!(script.next_command("Runtime.runIfWaitingForDebugger")["params"]["childSessionId"], "two", "the first did not ask for it");
    script.input(Input::ClientClosed(second));
    let calls = script.calls();
    let of = |method: &str| calls.iter().find(|call| call["params"]["method"] == method).unwrap()["params"].clone();
    assert_eq!(of("Target.setAutoAttach")["params"]["waitForDebuggerOnStart"], false);
    assert_eq!(of("Runtime.runIfWaitingForDebugger")["childSessionId"], "one", "whoever would have resumed it has gone");
}

#[test]
fn chrome_is_asked_anew_with_each_attachment() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    script.ask(first, Some(&sessions[0]), "Target.setAutoAttach", ask(&json!([{}]), true));
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let tree = script.next_command("Page.getFrameTree");
    script.reply_error(&tree, json!({ "code": -32000, "message": "not now" }));
    script.calls();
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking(&super::script::main_frame(1));
    assert!(replayed.contains(&"Target.setAutoAttach".to_owned()), "{replayed:?}");
}
