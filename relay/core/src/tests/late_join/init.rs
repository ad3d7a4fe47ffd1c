//! What a late client receives while it initializes, and what the relay then sends to Chrome on its
//! behalf.

use serde_json::json;

use super::{LATE_WORLD, evaluate_in, join, used_tab};
use crate::tests::script::{CHILD_FRAME, tree_with_child};

#[test]
fn joins_a_tab_whose_page_does_not_respond() {
    let (mut script, _) = used_tab();
    let (_, received) = join(&mut script, LATE_WORLD);
    let tree = received.frame_tree();
    assert_eq!(tree["childFrames"][0]["frame"]["id"], CHILD_FRAME);
    assert_eq!(tree["frame"]["loaderId"], "real-loader");
    let contexts = received.contexts();
    let frames: Vec<_> = contexts.iter().map(|c| &c["auxData"]["frameId"]).collect();
    assert_eq!(
        frames,
        ["T1", "T1", CHILD_FRAME, "T1"],
        "two of the page, one of the child frame, and its own world"
    );
    let calls = script.calls();
    assert!(calls.has_command("Page.addScriptToEvaluateOnNewDocument"));
    assert!(calls.has_command("Page.createIsolatedWorld"));
    assert!(!calls.has_command("Runtime.enable"), "{calls:?}");
    assert!(
        !calls.has_command("Emulation.setEmulatedMedia"),
        "{calls:?}"
    );
}

#[test]
fn removes_a_script_that_is_removed_before_chrome_has_added_it() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let identifier = received
        .iter()
        .find_map(|m| m["result"]["identifier"].as_str())
        .unwrap();
    let calls = script.calls();
    let remove = "Page.removeScriptToEvaluateOnNewDocument";
    script.request(&page, remove, json!({ "identifier": identifier }));
    let add = calls.command("Page.addScriptToEvaluateOnNewDocument");
    script.reply(add, json!({ "identifier": "real-2" }));
    let call = script.next_command(remove);
    assert_eq!(call.params()["identifier"], "real-2");
}

#[test]
fn late_client_learns_of_a_crash_and_can_reload_the_page() {
    let (mut script, _) = used_tab();
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let (page, received) = join(&mut script, LATE_WORLD);
    assert!(received.has_event("Inspector.targetCrashed"));
    script.calls();
    script.send(&page, "Page.reload", json!({}));
    script.next_command("Page.reload");
}

#[test]
fn ignores_late_replies_from_a_debugger_that_was_detached() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let world = received.context_id(LATE_WORLD);
    let calls = script.calls();
    script.detach_debugger(1, "target_closed");
    for call in calls {
        let result = json!({ "executionContextId": 9, "identifier": "old" });
        script.reply(&call, result);
    }
    let next_world = script.received(&page).context_id(LATE_WORLD);
    assert_ne!(next_world, world);
    evaluate_in(&mut script, &page, next_world);
    script.finish_waking_with_tree(&tree_with_child());
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.params()["contextId"], 99);
}

#[test]
fn late_client_learns_that_a_cached_page_has_loaded() {
    let (mut script, _) = used_tab();
    for name in ["init", "commit"] {
        let params = json!({ "frameId": "T1", "loaderId": "l2", "name": name, "timestamp": 1 });
        script.cdp_event(1, "Page.lifecycleEvent", params);
    }
    let frame = json!({ "id": "T1", "loaderId": "real-loader", "url": "https://site/1" });
    let params = json!({ "frame": frame, "type": "BackForwardCacheRestore" });
    script.cdp_event(1, "Page.frameNavigated", params);
    let (_, received) = join(&mut script, LATE_WORLD);
    let mut lifecycle = received.events("Page.lifecycleEvent");
    assert!(
        lifecycle.any(|params| params["name"] == "load"),
        "{received:?}"
    );
}

#[test]
fn pending_calls_to_a_stopped_page_do_not_accumulate() {
    let (mut script, _) = used_tab();
    let before = script.pending_calls();
    for n in 0..200 {
        let (page, _) = join(&mut script, &format!("w{n}"));
        script.disconnect(page.client);
        script.received(&page);
        script.calls();
        script.elapse(60);
    }
    let after = script.pending_calls();
    assert!(after - before < 100, "{before} -> {after}");
}
