//! Late clients receive every frame once, even if no session had `Page` enabled when the frame was
//! added.

use serde_json::json;

use super::{LATE_WORLD, join, tab_used_without_page_domain, used_tab};
use crate::tests::script::{CHILD_FRAME, Script, attached_tab, main_frame, tree_with_child};

#[test]
fn announces_unobserved_child_frames_when_chrome_replies() {
    let mut script = Script::with_tabs(1);
    let first = script.explicitly_attached_page("T1");
    script.send(&first, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.calls();
    let (page, received) = join(&mut script, LATE_WORLD);
    assert!(received.frame_tree()["childFrames"].is_null());
    script.answer_calls_with_tree(&tree_with_child());
    let received = script.received(&page);
    let frames = received
        .iter()
        .filter_map(|m| m["params"]["frameId"].as_str());
    assert_eq!(frames.collect::<Vec<_>>(), [CHILD_FRAME]);
}

#[test]
fn does_not_announce_stale_frames() {
    let (mut script, _) = tab_used_without_page_domain(&tree_with_child());
    // No session has `Page` enabled, so only the extension reports the navigation.
    let url = "https://elsewhere/";
    script.extension_event("tabNavigated", json!({ "tabId": 1, "url": url }));
    let (page, mut received) = join(&mut script, LATE_WORLD);
    let mut tree = main_frame(1);
    tree["frame"]["url"] = url.into();
    script.answer_calls_with_tree(&tree);
    received.append(script.received(&page));
    let announced = received.frame_tree();
    let mut navigated = received.events("Page.frameNavigated");
    assert!(
        announced["frame"]["url"] == url || navigated.any(|p| p["frame"]["id"] == "T1"),
        "stale URL: {announced}"
    );
    assert!(
        announced["childFrames"].is_null() || received.has_event("Page.frameDetached"),
        "stale child frame: {announced}"
    );
}

#[test]
fn frame_tree_of_one_client_completes_the_view_of_another() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.auto_attached_client();
    let params = json!({ "url": "https://site/1" });
    script.send(client, "Target.createTarget", params);
    let create = script.next_call("createTab");
    script.reply(&create, attached_tab(1));
    let first = script.received(client).attached_sessions(client).remove(0);
    script.send(&first, "Page.enable", json!({}));
    script.send(&first, "Page.getFrameTree", json!({}));
    let (page, mut received) = join(&mut script, LATE_WORLD);
    script.answer_calls_with_tree(&tree_with_child());
    received.append(script.received(&page));
    let is_in_tree = received.frame_tree()["childFrames"].is_array();
    assert!(
        is_in_tree || received.has_event("Page.frameAttached"),
        "{received:?}"
    );
}

#[test]
fn repeated_page_enable_is_answered_after_the_events_of_chrome() {
    let (mut script, _) = used_tab();
    let (page, _) = join(&mut script, LATE_WORLD);
    script.answer_calls_with_tree(&tree_with_child());
    let params = json!({ "frameId": CHILD_FRAME, "reason": "swap" });
    script.cdp_event(1, "Page.frameDetached", params);
    let info = json!({ "targetId": CHILD_FRAME, "type": "iframe" });
    let params = json!({ "sessionId": "c", "targetInfo": info, "waitingForDebugger": false });
    script.cdp_event(1, "Target.attachedToTarget", params);
    // The frame returns to the process of its parent.
    script.cdp_event(1, "Target.detachedFromTarget", json!({ "sessionId": "c" }));
    script.received(&page);
    script.calls();
    let id = script.send(&page, "Page.enable", json!({}));
    let params = json!({ "frameId": CHILD_FRAME, "parentFrameId": "T1" });
    script.cdp_event(1, "Page.frameAttached", params);
    script.answer_calls();
    let received = script.received(&page);
    let attached = received.position(|m| m["method"] == "Page.frameAttached");
    assert!(
        attached < received.position(|m| m["id"] == id),
        "{received:?}"
    );
}
