//! Commands to a page that does not respond fail after a deadline, unless the page is merely slow
//! or shows a dialog.

use serde_json::json;

use super::page_with_evaluation;
use crate::tests::script::Script;

#[test]
fn page_that_crashed_while_it_woke_keeps_the_frame_id_that_clients_know() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.request(&page, "Page.enable", json!({}));
    script.start_waking(&page);
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    script.received(&page);
    // A prerendered page has brought a frame of its own.
    let frame = json!({ "id": "prerendered", "loaderId": "l", "url": "https://x" });
    let params = json!({ "frame": frame, "type": "Navigation" });
    script.cdp_event(1, "Page.frameNavigated", params);
    let attached = json!({ "frameId": "F", "parentFrameId": "prerendered" });
    script.cdp_event(1, "Page.frameAttached", attached);
    let received = script.received(&page);
    assert_eq!(received.event("Page.frameNavigated")["frame"]["id"], "T1");
    let attached = received.event("Page.frameAttached");
    assert_eq!(attached["parentFrameId"], "T1");
}

#[test]
fn command_to_an_unresponsive_page_times_out() {
    let (mut script, page) = page_with_evaluation();
    let probes = script.elapse(29);
    assert_eq!(probes.len(), 1, "one probe: {probes:?}");
    assert!(script.received(&page).is_empty());
    script.elapse(2);
    let received = script.received(&page);
    let error = received[0]["error"]["message"].as_str().unwrap();
    assert!(
        error.contains("Runtime.evaluate") && error.contains("30 seconds"),
        "{error}"
    );
}

#[test]
fn command_to_a_page_that_answers_probes_has_no_deadline() {
    let (mut script, page) = page_with_evaluation();
    for _ in 0..10 {
        for probe in script.elapse(28) {
            let result = json!({ "result": { "type": "number", "value": 0 } });
            script.reply(&probe, result);
        }
    }
    assert!(script.received(&page).is_empty(), "the command is pending");
}

#[test]
fn page_with_an_open_dialog_is_not_unresponsive() {
    let (mut script, page) = page_with_evaluation();
    script.open_dialog(1);
    let calls = script.elapse(100);
    assert!(calls.is_empty(), "{calls:?}");
    assert!(script.received(&page).is_empty());
    script.cdp_event(1, "Page.javascriptDialogClosed", json!({}));
    script.elapse(40);
    assert!(script.received(&page)[0]["error"].is_object());
}

#[test]
fn dialog_of_a_failed_wake_does_not_suspend_the_deadline() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.start_waking(&page);
    script.open_dialog(1);
    script.elapse(12);
    script.received(&page);
    script.send(&page, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.calls();
    script.elapse(60);
    assert!(!script.received(&page).is_empty());
}

#[test]
fn crash_fails_pending_commands_and_a_reload_recovers_the_page() {
    let (mut script, page) = page_with_evaluation();
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let received = script.received(&page);
    let error = received[0]["error"]["message"].as_str().unwrap();
    assert!(error.contains("crashed"), "{error}");
    assert_eq!(received[1]["method"], "Inspector.targetCrashed");
    let (_, error) = script.request_error(&page, "Runtime.evaluate", json!({}));
    assert!(error.contains("Reload"), "{error}");
    script.send(&page, "Page.reload", json!({}));
    let reload = script.next_command("Page.reload");
    script.reply(&reload, json!({}));
    script.cdp_event(1, "Inspector.targetReloadedAfterCrash", json!({}));
    script.send(&page, "Runtime.evaluate", json!({}));
    script.next_command("Runtime.evaluate");
}

#[test]
fn command_that_wakes_a_crashed_page_fails_at_once() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let id = script.start_waking(&page);
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let received = script.received(&page);
    let error = received.error(id);
    assert!(error.contains("crashed"), "{error}");
    script.calls();
    script.send(&page, "Page.reload", json!({}));
    script.next_command("Page.reload");
}

#[test]
fn unresponsive_tab_does_not_block_other_tabs() {
    let (mut script, page) = page_with_evaluation();
    let (_, pages) = script.auto_attached_client();
    let id = script.send(&pages[1], "Runtime.evaluate", json!({}));
    script.finish_waking();
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": { "type": "number", "value": 2 } }));
    let received = script.received(&pages[1]);
    assert_eq!(received.result(id)["result"]["value"], 2);
    assert!(script.received(&page).reply_ids().is_empty());
}

#[test]
fn recreates_the_context_when_playwrights_helper_cannot_be_created() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.send(&page, "Runtime.enable", json!({}));
    let before = script.received(&page);
    let position = before.position(|m| m["method"] == "Runtime.executionContextCreated");
    let created = &before[position];
    let context = &created["params"]["context"]["id"];
    let params = json!({ "expression": "new UtilityScript()", "contextId": context });
    script.send(&page, "Runtime.evaluate", params);
    let attach = script.next_call("attachTab");
    let error = json!("Another debugger is already attached to the tab with id: 1.");
    script.reply_error(&attach, error);
    let received = script.received(&page);
    let error = received[0]["error"]["message"].as_str().unwrap();
    assert!(error.contains("Reload the extension"), "{error}");
    assert_eq!(received[1]["method"], "Runtime.executionContextDestroyed");
    assert_eq!(&received[2], created);
}

#[test]
fn ignores_late_events_of_a_detached_debugger() {
    let (mut script, page) = page_with_evaluation();
    script.detach_debugger(1, "target_closed");
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    script.open_dialog(1);
    script.received(&page);
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    script.finish_waking();
    script.next_command("Runtime.evaluate");
    script.elapse(40);
    let received = script.received(&page);
    let error = received.error(id);
    assert!(error.contains("did not respond"), "{error}");
}
