//! Execution contexts and isolated worlds of late clients.

use serde_json::json;

use super::{LATE_WORLD, join, tab_used_without_page_domain, used_tab};
use crate::tests::script::{CHILD_FRAME, Messages, main_frame, tree_with_child};

#[test]
fn destroys_a_world_that_chrome_cannot_create() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let calls = script.calls();
    let create = calls.command("Page.createIsolatedWorld");
    let error = json!({ "code": -32000, "message": "No frame for given id found" });
    script.reply_error(create, error);
    let after = script.received(&page);
    assert_eq!(after[0]["method"], "Runtime.executionContextDestroyed");
    assert_eq!(
        after[0]["params"]["executionContextId"],
        received.context_id(LATE_WORLD)
    );
}

#[test]
fn announces_a_context_after_its_frame() {
    let (mut script, first) = tab_used_without_page_domain(&main_frame(1));
    script.send(&first, "Runtime.enable", json!({}));
    script.create_context(3, "T1", "");
    // This frame was added while no session had `Page` enabled.
    script.create_context(5, CHILD_FRAME, "");
    script.answer_calls_with_tree(&tree_with_child());
    let (page, mut received) = join(&mut script, LATE_WORLD);
    script.answer_calls_with_tree(&tree_with_child());
    received.append(script.received(&page));
    let frame = received.position(|m| m["method"] == "Page.frameAttached");
    let context = received
        .iter()
        .rposition(|m| m["params"]["context"]["id"] == 5)
        .expect("the context is announced");
    assert!(frame < context, "{received:?}");
}

#[test]
fn announces_a_world_that_was_created_before_runtime_was_enabled() {
    let (mut script, _) = tab_used_without_page_domain(&main_frame(1));
    let page = script.auto_attached_page();
    let mut received = Messages::default();
    let world = json!({ "frameId": "T1", "worldName": "w" });
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Page.createIsolatedWorld", world),
        ("Runtime.enable", json!({})),
    ] {
        script.send(&page, method, params);
        received.append(script.received(&page));
    }
    for call in script.calls() {
        if call.command() == "Runtime.enable" {
            script.create_context(3, "T1", "");
            script.create_context(9, "T1", "w");
        }
        script.reply(&call, json!({ "executionContextId": 9 }));
    }
    received.append(script.received(&page));
    received.context_id("w");
}
