//! A client joins a tab while it wakes, at every point of the wake.

use std::collections::{BTreeSet, VecDeque};

use serde_json::json;

use super::{LATE_WORLD, join};
use crate::tests::script::{CHILD_FRAME, Call, Messages, Script, playwright_init, tree_with_child};

/// The real context of a world: 9 for the late client's, 4 for others, and 10 more in the child
/// frame.
fn context_of(frame: &str, world: &str) -> i64 {
    let id = if world == LATE_WORLD { 9 } else { 4 };
    if frame == CHILD_FRAME { id + 10 } else { id }
}

fn reply_as_chrome(script: &mut Script, call: &Call) {
    let result = match call.command() {
        "Page.getFrameTree" => json!({ "frameTree": tree_with_child() }),
        "Runtime.enable" => {
            script.create_context(3, "T1", "");
            json!({})
        }
        "Page.createIsolatedWorld" => {
            let [frame, world] =
                ["frameId", "worldName"].map(|key| call.params()[key].as_str().unwrap());
            let id = context_of(frame, world);
            script.create_context(id, frame, world);
            json!({ "executionContextId": id })
        }
        _ => json!({ "identifier": call.id().to_string() }),
    };
    script.reply(call, result);
}

/// Joins after Chrome has answered this many calls of the wake, then answers all others. Returns
/// what the late client received, and the context in which its evaluation ran.
fn join_after(replies: usize) -> (Messages, i64) {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    for (method, params) in playwright_init() {
        script.request(&first, method, params);
    }
    script.send(&first, "Runtime.evaluate", json!({}));
    let mut unanswered: VecDeque<Call> = script.calls().into_iter().collect();
    for _ in 0..replies {
        if let Some(call) = unanswered.pop_front() {
            reply_as_chrome(&mut script, &call);
            unanswered.extend(script.calls());
        }
    }
    let (page, mut received) = join(&mut script, LATE_WORLD);
    let world = received.context_id(LATE_WORLD);
    let params = json!({ "contextId": world, "expression": "late()" });
    script.send(&page, "Runtime.evaluate", params);
    unanswered.extend(script.calls());
    let mut evaluated_in = None;
    while let Some(call) = unanswered.pop_front() {
        if call.params()["expression"] == "late()" {
            evaluated_in = call.params()["contextId"].as_i64();
        }
        reply_as_chrome(&mut script, &call);
        unanswered.extend(script.calls());
    }
    received.append(script.received(&page));
    (received, evaluated_in.expect("the evaluation is sent"))
}

#[test]
fn joins_a_waking_tab_and_its_world_is_created_along_the_way() {
    for replies in 0..12 {
        let (received, evaluated_in) = join_after(replies);
        assert_eq!(evaluated_in, 9, "after {replies} replies");
        let contexts = received.contexts();
        let ids: BTreeSet<_> = contexts.iter().map(|c| c["id"].as_i64()).collect();
        assert_eq!(
            ids.len(),
            contexts.len(),
            "every context once: {received:?}"
        );
        let is_in_tree = received.frame_tree()["childFrames"].is_array();
        assert!(
            received.has_event("Page.frameAttached") != is_in_tree,
            "the child frame once, after {replies} replies"
        );
    }
}
