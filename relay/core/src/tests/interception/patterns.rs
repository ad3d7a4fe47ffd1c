//! Chrome receives the patterns of all sessions together, and each session receives the requests
//! that match its own.

use serde_json::json;

use super::{intercept, pause, pause_response, paused, received_pauses, two_intercepting};
use crate::tests::script::Script;

#[test]
fn chrome_receives_the_patterns_of_all_sessions() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    script.make_live(&first);
    intercept(&mut script, &first, "1");
    script.calls();
    let params = json!({ "patterns": [{ "urlPattern": "2" }], "handleAuthRequests": true });
    script.send(&second, "Fetch.enable", params);
    let call = script.next_command("Fetch.enable");
    let both = json!({ "patterns": [{ "urlPattern": "1" }, { "urlPattern": "2" }], "handleAuthRequests": true });
    assert_eq!(call.params(), &both);
    script.send(&second, "Fetch.disable", json!({}));
    let call = script.next_command("Fetch.enable");
    let remaining = json!({ "patterns": [{ "urlPattern": "1" }], "handleAuthRequests": false });
    assert_eq!(call.params(), &remaining);
    script.send(&first, "Fetch.disable", json!({}));
    script.next_command("Fetch.disable");
}

#[test]
fn waking_tab_receives_the_patterns_of_all_sessions() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    for (page, url) in [(&first, "1"), (&second, "2")] {
        let params = json!({ "patterns": [{ "urlPattern": url }] });
        script.request(page, "Fetch.enable", params);
    }
    script.start_waking(&first);
    let calls = script.calls();
    let enables = calls.iter().filter(|c| c.command() == "Fetch.enable");
    assert_eq!(enables.count(), 1);
    let params = calls.command("Fetch.enable").params();
    let both = json!([{ "urlPattern": "1" }, { "urlPattern": "2" }]);
    assert_eq!(params["patterns"], both);
}

#[test]
fn paused_request_reaches_the_sessions_whose_patterns_match() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "r1", "https://site/a1");
    pause(&mut script, "r2", "https://site/b");
    assert_eq!(received_pauses(&mut script, &first), ["r1"]);
    assert_eq!(received_pauses(&mut script, &second), ["r1", "r2"]);
    assert!(script.calls().is_empty());
}

#[test]
fn continues_a_request_that_matches_no_session() {
    let (mut script, [first, second]) = two_intercepting();
    script.send(&second, "Fetch.disable", json!({}));
    script.calls();
    // Chrome paused the request before it received the new patterns.
    pause(&mut script, "r", "https://site/b");
    let call = script.next_command("Fetch.continueRequest");
    assert_eq!(call.params(), &json!({ "requestId": "r" }));
    pause_response(&mut script, "r", "https://site/a");
    script.next_command("Fetch.continueResponse");
    let params = paused("r", "https://site/a");
    script.cdp_event(1, "Fetch.authRequired", params);
    let call = script.next_command("Fetch.continueWithAuth");
    let response = &call.params()["authChallengeResponse"]["response"];
    assert_eq!(response, "Default");
    assert!(received_pauses(&mut script, &first).is_empty());
}

#[test]
fn response_pauses_for_the_session_that_requested_it() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/a");
    let params = json!({ "requestId": "r" });
    script.request(&second, "Fetch.continueRequest", params);
    let params = json!({ "requestId": "r", "interceptResponse": true });
    script.send(&first, "Fetch.continueRequest", params);
    let call = script.next_command("Fetch.continueRequest");
    script.reply(&call, json!({}));
    script.received(&first);
    pause_response(&mut script, "r", "https://site/a");
    assert_eq!(received_pauses(&mut script, &first).len(), 1);
    assert_eq!(received_pauses(&mut script, &second).len(), 0);
}

#[test]
fn patterns_that_chrome_rejects_leave_the_previous_ones_in_effect() {
    let (mut script, [first, _]) = two_intercepting();
    let params = json!({ "patterns": [{ "urlPattern": "*", "resourceType": "Nonsense" }] });
    script.send(&first, "Fetch.enable", params);
    let call = script.next_command("Fetch.enable");
    let error = json!({ "code": -32602, "message": "Unknown resource type" });
    script.reply_error(&call, error);
    script.received(&first);
    pause(&mut script, "r", "https://site/a");
    assert_eq!(received_pauses(&mut script, &first), ["r"]);
}
