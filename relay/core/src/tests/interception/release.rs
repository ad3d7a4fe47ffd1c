//! Paused requests continue, or are forgotten, when nobody is left to answer them.

use serde_json::json;

use super::{INVALID_ID, continue_request, pause, received_pauses, two_intercepting};

#[test]
fn continues_requests_that_only_a_disconnected_client_held() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "shared", "https://site/a");
    pause(&mut script, "its own", "https://site/b");
    script.disconnect(second.client);
    let remaining =
        json!({ "patterns": [{ "urlPattern": "https://site/a*" }], "handleAuthRequests": false });
    assert_eq!(
        script.calls().commands_with_params(),
        [
            ("Fetch.enable", &remaining),
            ("Fetch.continueRequest", &json!({ "requestId": "its own" }))
        ]
    );
    assert_eq!(received_pauses(&mut script, &first), ["shared"]);
    continue_request(&mut script, &first, "shared");
    script.next_command("Fetch.continueRequest");
}

#[test]
fn continues_a_request_when_the_last_undecided_session_ends() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/a");
    script.received(&second);
    let params = json!({ "requestId": "r" });
    script.request(&second, "Fetch.continueRequest", params);
    script.disconnect(first.client);
    assert!(script.calls().has_command("Fetch.continueRequest"));
}

#[test]
fn forgets_a_request_that_the_page_has_cancelled() {
    let (mut script, [_, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/b");
    let params = json!({ "requestId": "network-r" });
    script.cdp_event(1, "Network.loadingFailed", params);
    let params = json!({ "requestId": "r" });
    let (code, _) = script.request_error(&second, "Fetch.continueRequest", params);
    assert_eq!(code, INVALID_ID);
    script.disconnect(second.client);
    assert!(!script.calls().has_command("Fetch.continueRequest"));
}

#[test]
fn forgets_the_requests_of_a_tab_that_loses_its_debugger() {
    let (mut script, [first, _]) = two_intercepting();
    pause(&mut script, "r", "https://site/a");
    script.detach_debugger(1, "target_closed");
    continue_request(&mut script, &first, "r");
    script.received(&first);
    let replayed = script.finish_waking();
    assert!(replayed.contains(&"Fetch.enable".to_owned()));
    let received = script.received(&first);
    assert_eq!(received.last().unwrap()["error"]["code"], INVALID_ID);
}
