//! Breakpoints of sessions that debug one page together.

use serde_json::{Value, json};

use super::script::Script;
use crate::Input;
use crate::ids::ClientId;

/// Two clients that debug one page; each has a breakpoint: `a` and `b`.
fn two_debuggers() -> (Script, [(ClientId, String); 2]) {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    let (second, b) = script.asking_client("T1");
    for (client, session, name) in [(first, &a, "a"), (second, &b, "b")] {
        script.request(client, Some(session), "Debugger.enable", json!({}));
        script.request(
            client,
            Some(session),
            "Debugger.setBreakpointByUrl",
            json!({ "lineNumber": 1, "url": name }),
        );
        for call in script.calls() {
            script.reply(&call, json!({ "breakpointId": name }));
        }
        script.heard(client);
    }
    (script, [(first, a), (second, b)])
}

fn sent(script: &mut Script) -> Vec<(String, Value)> {
    let calls = script.calls();
    calls
        .iter()
        .map(|call| {
            (
                call["params"]["method"].as_str().unwrap().to_owned(),
                call["params"]["params"].clone(),
            )
        })
        .collect()
}

#[test]
fn a_sessions_breakpoints_go_with_it_and_those_of_others_stay() {
    let (mut script, [(first, _), _]) = two_debuggers();
    script.input(Input::ClientClosed(first));
    assert_eq!(
        sent(&mut script),
        [(
            "Debugger.removeBreakpoint".to_owned(),
            json!({ "breakpointId": "a" })
        )]
    );
}

#[test]
fn a_page_that_stopped_at_a_breakpoint_of_one_who_left_goes_on() {
    let (mut script, [(first, _), _]) = two_debuggers();
    script.cdp_event(
        1,
        "Debugger.paused",
        json!({ "callFrames": [], "reason": "other", "hitBreakpoints": ["a"] }),
    );
    script.input(Input::ClientClosed(first));
    assert!(
        sent(&mut script)
            .iter()
            .any(|(method, _)| method == "Debugger.resume")
    );
}

#[test]
fn a_page_that_stopped_at_a_breakpoint_of_another_waits_for_that_one() {
    let (mut script, [(first, _), _]) = two_debuggers();
    script.cdp_event(
        1,
        "Debugger.paused",
        json!({ "callFrames": [], "reason": "other", "hitBreakpoints": ["a", "b"] }),
    );
    script.input(Input::ClientClosed(first));
    assert!(
        sent(&mut script)
            .iter()
            .all(|(method, _)| method != "Debugger.resume")
    );
}

#[test]
fn a_breakpoint_that_its_session_took_back_is_not_taken_back_again() {
    let (mut script, [(first, a), _]) = two_debuggers();
    script.request(
        first,
        Some(&a),
        "Debugger.removeBreakpoint",
        json!({ "breakpointId": "a" }),
    );
    script.calls();
    script.input(Input::ClientClosed(first));
    assert!(sent(&mut script).is_empty());
}

#[test]
fn one_that_was_set_for_a_session_that_had_ended_meanwhile_is_removed() {
    let (mut script, [(first, a), (second, b)]) = two_debuggers();
    script.request(
        first,
        Some(&a),
        "Debugger.setBreakpoint",
        json!({ "location": { "scriptId": "1", "lineNumber": 2 } }),
    );
    let set = script.next_command("Debugger.setBreakpoint");
    script.request(
        first,
        None,
        "Target.detachFromTarget",
        json!({ "sessionId": a }),
    );
    script.calls();
    script.reply(&set, json!({ "breakpointId": "late" }));
    assert_eq!(
        sent(&mut script),
        [(
            "Debugger.removeBreakpoint".to_owned(),
            json!({ "breakpointId": "late" })
        )]
    );
    script.request(second, Some(&b), "Debugger.resume", json!({}));
    script.next_command("Debugger.resume");
}

#[test]
fn debugger_disable_takes_the_sessions_breakpoints_along() {
    let (mut script, [(first, a), _]) = two_debuggers();
    script.ask(first, Some(&a), "Debugger.disable", json!({}));
    assert_eq!(
        sent(&mut script),
        [(
            "Debugger.removeBreakpoint".to_owned(),
            json!({ "breakpointId": "a" })
        )]
    );
}

#[test]
fn a_breakpoint_that_went_with_debugger_disable_is_not_the_sessions_any_more() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    let (second, b) = script.asking_client("T1");
    let set = |script: &mut Script, client, session: &str| {
        script.request(client, Some(session), "Debugger.enable", json!({}));
        script.request(
            client,
            Some(session),
            "Debugger.setBreakpointByUrl",
            json!({ "lineNumber": 1, "url": "u" }),
        );
        for call in script.calls() {
            script.reply(&call, json!({ "breakpointId": "1:1:0:u" }));
        }
    };
    set(&mut script, first, &a);
    // Chrome forgets it here.
    script.request(first, Some(&a), "Debugger.disable", json!({}));
    script.answer_all();
    script.request(first, Some(&a), "Debugger.enable", json!({}));
    script.answer_all();
    set(&mut script, second, &b);
    script.input(Input::ClientClosed(second));
    let calls = script.calls();
    assert!(
        calls
            .iter()
            .any(|c| c["params"]["method"] == "Debugger.removeBreakpoint"),
        "{calls:?}"
    );
}

#[test]
fn one_that_was_set_for_a_client_that_had_gone_meanwhile_is_removed() {
    let (mut script, [(first, a), _]) = two_debuggers();
    script.request(
        first,
        Some(&a),
        "Debugger.setBreakpointByUrl",
        json!({ "lineNumber": 2, "url": "a" }),
    );
    let set = script.next_command("Debugger.setBreakpointByUrl");
    script.input(Input::ClientClosed(first));
    script.calls();
    script.reply(&set, json!({ "breakpointId": "late" }));
    assert_eq!(
        sent(&mut script),
        [(
            "Debugger.removeBreakpoint".to_owned(),
            json!({ "breakpointId": "late" })
        )]
    );
}
