//! Several sessions decide about one paused request: it continues when all of them let it, and the
//! first that answers it otherwise wins.

use serde_json::json;

use super::{INVALID_ID, continue_request, pause, two_intercepting};

#[test]
fn request_continues_when_every_session_has_continued_it() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/a");
    script.received(&second);
    let params = json!({ "requestId": "r" });
    script.request(&second, "Fetch.continueRequest", params);
    assert!(script.calls().is_empty(), "the first has not decided yet");
    let params = json!({ "requestId": "r", "responseCode": 200 });
    script.send(&first, "Fetch.fulfillRequest", params);
    let call = script.next_command("Fetch.fulfillRequest");
    script.reply(&call, json!({}));

    pause(&mut script, "r2", "https://site/a");
    let params = json!({ "requestId": "r2" });
    script.request(&first, "Fetch.continueRequest", params);
    continue_request(&mut script, &second, "r2");
    script.next_command("Fetch.continueRequest");
    assert!(script.calls().is_empty());
}

#[test]
fn first_decision_wins_and_the_other_session_gets_an_error() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/a");
    let params = json!({ "requestId": "r", "errorReason": "Failed" });
    script.send(&second, "Fetch.failRequest", params);
    let call = script.next_command("Fetch.failRequest");
    let too_late = (INVALID_ID, "Invalid InterceptionId.".to_owned());
    let params = json!({ "requestId": "r" });
    assert_eq!(
        script.request_error(&first, "Fetch.fulfillRequest", params.clone()),
        too_late
    );
    script.reply(&call, json!({}));
    assert_eq!(
        script.request_error(&second, "Fetch.continueRequest", params),
        too_late
    );
    assert!(script.calls().is_empty());
}

#[test]
fn session_cannot_answer_a_request_paused_for_another() {
    let (mut script, [first, _]) = two_intercepting();
    pause(&mut script, "r", "https://site/b");
    let params = json!({ "requestId": "r" });
    let (code, _) = script.request_error(&first, "Fetch.continueRequest", params);
    assert_eq!(code, INVALID_ID);
    assert!(script.calls().is_empty());
}

#[test]
fn decision_that_chrome_rejects_can_be_made_again() {
    let (mut script, [_, second]) = two_intercepting();
    pause(&mut script, "r", "https://site/b");
    let params = json!({ "requestId": "r", "responseCode": 9 });
    script.send(&second, "Fetch.fulfillRequest", params);
    let call = script.next_command("Fetch.fulfillRequest");
    let error = json!({ "code": -32602, "message": "Invalid http status code or phrase" });
    script.reply_error(&call, error);
    continue_request(&mut script, &second, "r");
    script.next_command("Fetch.continueRequest");
}

#[test]
fn response_body_is_private_and_not_streamed_after_it_was_read() {
    let (mut script, [first, second]) = two_intercepting();
    pause(&mut script, "1", "https://site/b");
    let params = json!({ "requestId": "1" });
    let (code, _) = script.request_error(&first, "Fetch.getResponseBody", params.clone());
    assert_eq!(code, INVALID_ID, "the first did not receive the request");
    script.send(&second, "Fetch.getResponseBody", params.clone());
    script.next_command("Fetch.getResponseBody");
    let (code, _) = script.request_error(&second, "Fetch.takeResponseBodyAsStream", params);
    assert_eq!(code, INVALID_ID, "Chrome would crash");
}
