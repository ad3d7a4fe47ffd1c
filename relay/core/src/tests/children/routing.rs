//! Child targets are routed by session ids of the relay's own, in both directions and at any depth.

use serde_json::json;

use super::{attach_frame, attached_children, auto_attach_to_children, detach_child};
use crate::tests::script::{Script, Session, auto_attach, child_target};
use crate::tests::sessions::two_clients;

#[test]
fn routes_a_child_by_the_clients_own_session_id() {
    let (mut script, [first, second]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    script.calls();
    let mut frame = child_target("real-child", "iframe", true);
    frame["targetInfo"]["browserContextId"] = "chrome's".into();
    script.cdp_event(1, "Target.attachedToTarget", frame);
    let received = script.received(&first);
    let attached = received.event("Target.attachedToTarget");
    assert_eq!(attached["waitingForDebugger"], true);
    assert_ne!(attached["targetInfo"]["browserContextId"], "chrome's");
    let position = received.position(|m| m["method"] == "Target.attachedToTarget");
    assert_eq!(received[position]["sessionId"], first.id);
    let child = received.attached_sessions(first.client).remove(0);
    assert_ne!(child.id, "real-child");

    script.send(&child, "Runtime.enable", json!({}));
    let call = script.next_command("Runtime.enable");
    assert_eq!(call.child(), Some("real-child"));
    let context = json!({ "context": { "id": 1 } });
    let event = "Runtime.executionContextCreated";
    script.child_event(1, "real-child", event, context);
    assert_eq!(script.received(&first)[0]["sessionId"], child.id);
    assert!(script.received(&second).is_empty());
}

#[test]
fn detached_child_fails_the_commands_in_flight() {
    let (mut script, [first, _]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    attach_frame(&mut script, None, "real-child");
    let child = attached_children(&mut script, &first).remove(0);
    let in_flight = script.send(&child, "Runtime.evaluate", json!({}));
    detach_child(&mut script, "real-child");
    let received = script.received(&first);
    assert_eq!(received.error_code(in_flight), -32001);
    let mut detached = received.events("Target.detachedFromTarget");
    assert!(detached.any(|params| params["sessionId"] == child.id));
}

#[test]
fn second_client_receives_existing_nested_targets() {
    let (mut script, [first, second]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    attach_frame(&mut script, None, "frame");
    let frame = attached_children(&mut script, &first).remove(0);
    auto_attach_to_children(&mut script, &frame);
    attach_frame(&mut script, Some("frame"), "nested");
    assert_eq!(attached_children(&mut script, &frame).len(), 1);

    let frame = auto_attach_to_children(&mut script, &second).remove(0);
    let nested = auto_attach_to_children(&mut script, &frame);
    assert_eq!(nested.len(), 1);
    let again = auto_attach_to_children(&mut script, &frame);
    assert!(again.is_empty(), "each is announced once");
    script.calls();
    script.send(&nested[0], "Runtime.evaluate", json!({}));
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.child(), Some("nested"));
}

#[test]
fn stopping_auto_attach_keeps_nested_targets_for_others() {
    let (mut script, [first, second]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    attach_frame(&mut script, None, "outer");
    let outer = attached_children(&mut script, &first).remove(0);
    auto_attach_to_children(&mut script, &outer);
    attach_frame(&mut script, Some("outer"), "inner");
    script.received(&first);

    let outer = auto_attach_to_children(&mut script, &second).remove(0);
    script.send(&outer, "Target.setAutoAttach", auto_attach());
    let received = script.received(&second);
    let position = received.position(|m| m["method"] == "Target.attachedToTarget");
    let inner = &received[position];
    assert_eq!(inner["params"]["targetInfo"]["targetId"], "target-inner");
    assert_eq!(inner["sessionId"], outer.id);
    script.calls();
    let params = json!({ "autoAttach": false, "waitForDebuggerOnStart": false });
    script.request(&outer, "Target.setAutoAttach", params);
    assert!(script.calls().is_empty(), "the first still wants them");
}

#[test]
fn answers_a_navigation_that_moves_a_frame_to_another_process() {
    let (mut script, [first, _]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    attach_frame(&mut script, None, "frame");
    let frame = attached_children(&mut script, &first).remove(0);
    let evaluation = script.send(&frame, "Runtime.evaluate", json!({}));
    let params = json!({ "url": "https://site/2" });
    let navigation = script.send(&frame, "Page.navigate", params);
    let started = json!({ "frameId": "target-frame", "loaderId": "L2", "url": "https://site/2" });
    script.child_event(1, "frame", "Page.frameStartedNavigating", started);
    detach_child(&mut script, "frame");
    let received = script.received(&first);
    assert_eq!(
        received.result(navigation),
        &json!({ "frameId": "target-frame", "loaderId": "L2" })
    );
    assert_eq!(received.error_code(evaluation), -32001);
    assert_eq!(received.methods(), ["Target.detachedFromTarget"]);
}

#[test]
fn client_attaches_to_a_shared_worker_through_its_own_tab() {
    let mut script = Script::with_tabs(2);
    let pages: Vec<Session> = ["T1", "T2"]
        .iter()
        .map(|target| script.explicitly_attached_page(target))
        .collect();
    for (tab, page) in (1..).zip(&pages) {
        script.make_live(page);
        auto_attach_to_children(&mut script, page);
        let mut worker = child_target(&format!("worker-{tab}"), "shared_worker", false);
        worker["targetInfo"]["targetId"] = "shared".into();
        script.cdp_event(tab, "Target.attachedToTarget", worker);
        script.calls();
    }
    let attached = script.attach_to_target(pages[1].client, "shared");
    script.send(&attached, "Runtime.evaluate", json!({}));
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.child(), Some("worker-2"));
}

#[test]
fn children_nested_in_a_cycle_are_detached_once() {
    let (mut script, [first, _]) = two_clients();
    auto_attach_to_children(&mut script, &first);
    attach_frame(&mut script, Some("a"), "b");
    attach_frame(&mut script, Some("b"), "a");
    attach_frame(&mut script, Some("self"), "self");
    detach_child(&mut script, "a");
    detach_child(&mut script, "self");
    script.calls();
    let id = script.send(&first, "Runtime.evaluate", json!({}));
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({}));
    assert!(script.received(&first).has_reply(id));
}
