//! A navigation may wait for a slow server. Only a page that stays unresponsive after the response
//! times out.

use serde_json::json;

use super::page_with_evaluation;
use crate::tests::script::{Script, Session, child_target};

/// A client that listens to the network has started a navigation, and its request has been sent. An
/// evaluation is pending too.
fn navigating_page() -> (Script, Session) {
    let (mut script, page) = page_with_evaluation();
    script.send(&page, "Network.enable", json!({}));
    let enable = script.next_command("Network.enable");
    script.reply(&enable, json!({}));
    script.send(&page, "Page.navigate", json!({ "url": "https://slow/" }));
    script.next_command("Page.navigate");
    let request = json!({ "requestId": "r", "type": "Document", "frameId": "T1" });
    script.cdp_event(1, "Network.requestWillBeSent", request);
    script.received(&page);
    (script, page)
}

#[test]
fn navigation_waits_for_a_slow_server() {
    let (mut script, page) = navigating_page();
    let calls = script.elapse(200);
    assert!(calls.is_empty(), "{calls:?}");
    assert!(script.received(&page).is_empty());
}

#[test]
fn page_that_stays_unresponsive_after_the_response_times_out() {
    let (mut script, page) = navigating_page();
    let image = json!({ "requestId": "other", "type": "Image" });
    script.cdp_event(1, "Network.responseReceived", image);
    script.elapse(60);
    let document = json!({ "requestId": "r", "type": "Document" });
    script.cdp_event(1, "Network.responseReceived", document);
    script.received(&page);
    script.elapse(60);
    let errors = script.received(&page).error_count();
    assert_eq!(errors, 2, "the evaluation and the navigation");
}

#[test]
fn server_that_never_answers_times_out() {
    let (mut script, page) = navigating_page();
    script.elapse(360);
    let errors = script.received(&page).error_count();
    assert_eq!(errors, 2, "the evaluation and the navigation");
}

#[test]
fn navigation_of_an_out_of_process_frame_waits_for_its_server() {
    let (mut script, page) = page_with_evaluation();
    let params = json!({ "autoAttach": true, "flatten": true });
    script.send(&page, "Target.setAutoAttach", params);
    let frame = child_target("c", "iframe", false);
    script.cdp_event(1, "Target.attachedToTarget", frame);
    let received = script.received(&page);
    let frame = received.attached_sessions(page.client).remove(0);
    script.send(&frame, "Network.enable", json!({}));
    script.answer_calls();
    script.received(&frame);

    let params = json!({ "url": "https://slow/" });
    let navigation = script.send(&frame, "Page.navigate", params);
    let document = json!({ "requestId": "r", "frameId": "target-c", "type": "Document" });
    script.child_event(1, "c", "Network.requestWillBeSent", document.clone());
    script.elapse(60);
    assert!(!script.received(&frame).has_reply(navigation));
    script.child_event(1, "c", "Network.responseReceived", document);
    script.elapse(60);
    assert!(script.received(&frame).has_reply(navigation));
}
