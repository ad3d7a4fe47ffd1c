//! Waking a tab: commands wait until the tab is live, failures reach everyone who waits, and the
//! next command retries.

use serde_json::json;

use super::initialized_page;
use crate::tests::script::{CHILD_FRAME, Script, tree_with_child};

#[test]
fn concurrent_commands_wake_the_tab_once() {
    let (mut script, page, _) = initialized_page();
    let ids = [0, 1, 2].map(|n| script.send(&page, "Runtime.evaluate", json!({ "n": n })));
    let replayed = script.finish_waking();
    assert!(replayed.contains(&"Runtime.enable".to_owned()));
    for (n, id) in ids.into_iter().enumerate() {
        let call = script.next_command("Runtime.evaluate");
        assert_eq!(call.params()["n"], n);
        script.reply(&call, json!({ "result": { "value": n } }));
        let received = script.received(&page);
        assert_eq!(received.result(id)["result"]["value"], n);
    }
}

#[test]
fn announces_child_frames_before_contexts_and_creates_their_worlds() {
    let (mut script, page, _) = initialized_page();
    script.start_waking(&page);
    script.create_context(3, "T1", "");
    script.create_context(5, CHILD_FRAME, "");
    script.answer_calls_with_tree(&tree_with_child());
    let world = script.next_command("Page.createIsolatedWorld");
    assert_eq!(world.params()["frameId"], CHILD_FRAME);
    assert_eq!(world.params()["worldName"], "utility");
    script.create_context(4, "T1", "utility");
    script.reply(&world, json!({ "executionContextId": 6 }));
    let received = script.received(&page);
    assert_eq!(
        received.methods(),
        [
            "Page.frameAttached",
            "Page.frameNavigated",
            "Runtime.executionContextCreated"
        ]
    );
    assert_eq!(received.len(), 3);
    script.next_command("Runtime.evaluate");
}

#[test]
fn failed_attach_fails_waiting_commands_and_the_next_one_retries() {
    let (mut script, page, _) = initialized_page();
    let first = script.send(&page, "Runtime.evaluate", json!({}));
    let second = script.send(&page, "Page.navigate", json!({}));
    let attach = script.next_call("attachTab");
    let error = json!("Another debugger is already attached to the tab with id: 1.");
    script.reply_error(&attach, error);
    let received = script.received(&page);
    assert_eq!(received[0]["id"], first);
    assert_eq!(received[1]["id"], second);
    let message = received.error(first);
    assert!(message.contains("Reload the extension"), "{message}");
    script.send(&page, "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
}

#[test]
fn tab_closed_while_it_wakes_fails_the_waiting_commands() {
    let (mut script, page, _) = initialized_page();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let received = script.received(&page);
    received.error(id);
    assert!(received[0]["error"].is_object());
}

#[test]
fn unresponsive_page_is_dormant_after_the_deadline_and_can_be_retried() {
    let (mut script, page, _) = initialized_page();
    script.start_waking(&page);
    script.calls();
    let calls = script.elapse(12);
    let received = script.received(&page);
    let error = received.last().unwrap()["error"]["message"]
        .as_str()
        .unwrap();
    assert!(
        error.contains("Page.getFrameTree") && error.contains("10 s"),
        "{error}"
    );
    assert!(calls.has_call("detachTab"));
    script.send(&page, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.next_command("Runtime.evaluate");
}

#[test]
fn detaches_a_debugger_that_is_attached_after_the_deadline() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.send(&page, "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.elapse(11);
    assert!(script.received(&page)[0]["error"].is_object());
    script.reply(&attach, json!({}));
    script.next_call("detachTab");
}

#[test]
fn dialog_is_announced_and_handled_while_its_tab_wakes() {
    let (mut script, page, _) = initialized_page();
    script.start_waking(&page);
    script.calls();
    let params = json!({ "message": "hello" });
    script.cdp_event(1, "Page.javascriptDialogOpening", params);
    let received = script.received(&page);
    assert_eq!(received[0]["method"], "Page.javascriptDialogOpening");
    let params = json!({ "accept": true });
    script.send(&page, "Page.handleJavaScriptDialog", params);
    script.next_command("Page.handleJavaScriptDialog");
}

#[test]
fn debugger_lost_during_the_wake_detaches_the_announced_frames() {
    let (mut script, page, _) = initialized_page();
    script.start_waking(&page);
    script.answer_calls_with_tree(&tree_with_child());
    script.detach_debugger(1, "target_closed");
    let received = script.received(&page);
    let count = |method: &str| received.events(method).count();
    assert_eq!(
        (count("Page.frameAttached"), count("Page.frameDetached")),
        (1, 1),
        "{received:?}"
    );
}
