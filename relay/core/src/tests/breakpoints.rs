//! Breakpoints of several sessions that debug the same page.

use serde_json::{Value, json};

use super::script::{Script, Session};

/// Two clients that debug one live page. The first has breakpoint `a`, the second has breakpoint
/// `b`.
fn two_debuggers() -> (Script, [Session; 2]) {
    let mut script = Script::with_tabs(1);
    let first = script.explicitly_attached_page("T1");
    script.make_live(&first);
    let second = script.explicitly_attached_page("T1");
    set_breakpoint(&mut script, &first, "a", "a");
    set_breakpoint(&mut script, &second, "b", "b");
    (script, [first, second])
}

/// Enables the debugger and sets a breakpoint on a URL, to which Chrome gives this id.
fn set_breakpoint(script: &mut Script, page: &Session, url: &str, id: &str) {
    script.send(page, "Debugger.enable", json!({}));
    let params = json!({ "lineNumber": 1, "url": url });
    script.send(page, "Debugger.setBreakpointByUrl", params);
    for call in script.calls() {
        script.reply(&call, json!({ "breakpointId": id }));
    }
    script.received(page);
}

fn pause_at(script: &mut Script, breakpoints: &Value) {
    let params = json!({ "callFrames": [], "reason": "other", "hitBreakpoints": breakpoints });
    script.cdp_event(1, "Debugger.paused", params);
}

/// The only thing that the browser receives is a command that removes this breakpoint.
#[track_caller]
fn assert_only_removes(script: &mut Script, id: &str) {
    assert_eq!(
        script.calls().commands_with_params(),
        [("Debugger.removeBreakpoint", &json!({ "breakpointId": id }))]
    );
}

#[test]
fn removes_the_breakpoints_of_an_ended_session_and_no_others() {
    let (mut script, [first, _]) = two_debuggers();
    script.disconnect(first.client);
    assert_only_removes(&mut script, "a");
}

#[test]
fn resumes_a_page_paused_at_a_breakpoint_of_an_ended_session() {
    let (mut script, [first, _]) = two_debuggers();
    pause_at(&mut script, &json!(["a"]));
    script.disconnect(first.client);
    assert!(script.calls().has_command("Debugger.resume"));
}

#[test]
fn leaves_a_page_paused_at_a_breakpoint_of_another_session() {
    let (mut script, [first, _]) = two_debuggers();
    pause_at(&mut script, &json!(["a", "b"]));
    script.disconnect(first.client);
    assert!(!script.calls().has_command("Debugger.resume"));
}

#[test]
fn does_not_remove_a_breakpoint_twice() {
    let (mut script, [first, _]) = two_debuggers();
    let params = json!({ "breakpointId": "a" });
    script.send(&first, "Debugger.removeBreakpoint", params);
    script.calls();
    script.disconnect(first.client);
    assert!(script.calls().is_empty());
}

#[test]
fn removes_a_breakpoint_set_after_its_session_ended() {
    let (mut script, [first, second]) = two_debuggers();
    let params = json!({ "location": { "scriptId": "1", "lineNumber": 2 } });
    script.send(&first, "Debugger.setBreakpoint", params);
    let set = script.next_command("Debugger.setBreakpoint");
    let params = json!({ "sessionId": first.id });
    script.send(first.client, "Target.detachFromTarget", params);
    script.calls();
    script.reply(&set, json!({ "breakpointId": "late" }));
    assert_only_removes(&mut script, "late");
    script.send(&second, "Debugger.resume", json!({}));
    script.next_command("Debugger.resume");
}

#[test]
fn debugger_disable_removes_the_breakpoints_of_the_session() {
    let (mut script, [first, _]) = two_debuggers();
    script.request(&first, "Debugger.disable", json!({}));
    assert_only_removes(&mut script, "a");
}

#[test]
fn breakpoint_given_up_by_debugger_disable_belongs_to_its_next_owner() {
    let mut script = Script::with_tabs(1);
    let first = script.explicitly_attached_page("T1");
    script.make_live(&first);
    let second = script.explicitly_attached_page("T1");
    set_breakpoint(&mut script, &first, "u", "1:1:0:u");
    // Chrome forgets the breakpoint here.
    script.send(&first, "Debugger.disable", json!({}));
    script.answer_calls();
    script.send(&first, "Debugger.enable", json!({}));
    script.answer_calls();
    set_breakpoint(&mut script, &second, "u", "1:1:0:u");
    script.disconnect(second.client);
    script.calls().command("Debugger.removeBreakpoint");
}

#[test]
fn removes_a_breakpoint_set_after_its_client_disconnected() {
    let (mut script, [first, _]) = two_debuggers();
    let params = json!({ "lineNumber": 2, "url": "a" });
    script.send(&first, "Debugger.setBreakpointByUrl", params);
    let set = script.next_command("Debugger.setBreakpointByUrl");
    script.disconnect(first.client);
    script.calls();
    script.reply(&set, json!({ "breakpointId": "late" }));
    assert_only_removes(&mut script, "late");
}
