//! Interception by several sessions: every paused request is answered once, by who may, and none waits for nobody.

use serde_json::{Value, json};

use super::script::{Script, main_frame};
use crate::Input;
use crate::ids::ClientId;

/// Two clients on one live tab. The first intercepts what is below `/a`, the second everything.
fn two_intercept() -> (Script, [(ClientId, String); 2]) {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    let (second, b) = script.attached_client();
    script.make_live(first, &a[0], 1);
    let sessions = [
        (first, a[0].clone(), "https://site/a*"),
        (second, b[0].clone(), "*"),
    ];
    for (client, session, url) in &sessions {
        script.request(
            *client,
            Some(session),
            "Fetch.enable",
            json!({ "patterns": [{ "urlPattern": url }] }),
        );
        let call = script.next_command("Fetch.enable");
        script.reply(&call, json!({}));
        assert_eq!(script.heard(*client).len(), 1, "the reply");
    }
    (
        script,
        sessions.map(|(client, session, _)| (client, session)),
    )
}

fn pause(script: &mut Script, request: &str, url: &str) {
    script.cdp_event(1, "Fetch.requestPaused", paused(request, url));
}

fn paused(request: &str, url: &str) -> Value {
    json!({ "requestId": request, "networkId": format!("network-{request}"), "resourceType": "Fetch", "request": { "url": url } })
}

fn told(script: &mut Script, client: ClientId) -> Vec<String> {
    let heard = script.heard(client);
    heard
        .iter()
        .filter(|m| m["method"] == "Fetch.requestPaused")
        .map(|m| m["params"]["requestId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn chrome_is_asked_for_the_patterns_of_all_sessions_together() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    let (second, b) = script.attached_client();
    script.make_live(first, &a[0], 1);
    script.request(
        first,
        Some(&a[0]),
        "Fetch.enable",
        json!({ "patterns": [{ "urlPattern": "1" }] }),
    );
    script.calls();
    script.request(
        second,
        Some(&b[0]),
        "Fetch.enable",
        json!({ "patterns": [{ "urlPattern": "2" }], "handleAuthRequests": true }),
    );
    let call = script.next_command("Fetch.enable");
    let together = json!({ "patterns": [{ "urlPattern": "1" }, { "urlPattern": "2" }], "handleAuthRequests": true });
    assert_eq!(call["params"]["params"], together);
    script.request(second, Some(&b[0]), "Fetch.disable", json!({}));
    let call = script.next_command("Fetch.enable");
    assert_eq!(
        call["params"]["params"],
        json!({ "patterns": [{ "urlPattern": "1" }], "handleAuthRequests": false })
    );
    script.request(first, Some(&a[0]), "Fetch.disable", json!({}));
    script.next_command("Fetch.disable");
}

#[test]
fn a_waking_tab_is_asked_for_the_patterns_of_all_sessions_together() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    let (second, b) = script.attached_client();
    script.ask(
        first,
        Some(&a[0]),
        "Fetch.enable",
        json!({ "patterns": [{ "urlPattern": "1" }] }),
    );
    script.ask(
        second,
        Some(&b[0]),
        "Fetch.enable",
        json!({ "patterns": [{ "urlPattern": "2" }] }),
    );
    script.request(first, Some(&a[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let calls = script.calls();
    let enables: Vec<_> = calls
        .iter()
        .filter(|call| call["params"]["method"] == "Fetch.enable")
        .collect();
    assert_eq!(enables.len(), 1);
    assert_eq!(
        enables[0]["params"]["params"]["patterns"],
        json!([{ "urlPattern": "1" }, { "urlPattern": "2" }])
    );
}

#[test]
fn a_paused_request_is_told_to_the_sessions_whose_own_patterns_fit() {
    let (mut script, [(first, _), (second, _)]) = two_intercept();
    pause(&mut script, "r1", "https://site/a1");
    pause(&mut script, "r2", "https://site/b");
    assert_eq!(told(&mut script, first), ["r1"]);
    assert_eq!(told(&mut script, second), ["r1", "r2"]);
    assert!(script.calls().is_empty());
}

#[test]
fn a_request_that_fits_nobody_goes_on_at_once() {
    let (mut script, [(first, _), (second, b)]) = two_intercept();
    script.request(second, Some(&b), "Fetch.disable", json!({}));
    script.calls();
    // Chrome had paused it before it heard of that.
    pause(&mut script, "r", "https://site/b");
    assert_eq!(
        script.next_command("Fetch.continueRequest")["params"]["params"],
        json!({ "requestId": "r" })
    );
    let mut response = paused("r", "https://site/a");
    response["responseStatusCode"] = 200.into();
    script.cdp_event(1, "Fetch.requestPaused", response);
    script.next_command("Fetch.continueResponse");
    script.cdp_event(1, "Fetch.authRequired", paused("r", "https://site/a"));
    assert_eq!(
        script.next_command("Fetch.continueWithAuth")["params"]["params"]["authChallengeResponse"]
            ["response"],
        "Default"
    );
    assert!(told(&mut script, first).is_empty());
}

#[test]
fn who_lets_a_request_go_gives_up_only_its_own_say() {
    let (mut script, [(first, a), (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/a");
    script.heard(second);
    script.ask(
        second,
        Some(&b),
        "Fetch.continueRequest",
        json!({ "requestId": "r" }),
    );
    assert!(script.calls().is_empty(), "the other has not spoken yet");
    script.request(
        first,
        Some(&a),
        "Fetch.fulfillRequest",
        json!({ "requestId": "r", "responseCode": 200 }),
    );
    let call = script.next_command("Fetch.fulfillRequest");
    script.reply(&call, json!({}));

    pause(&mut script, "r2", "https://site/a");
    script.ask(
        first,
        Some(&a),
        "Fetch.continueRequest",
        json!({ "requestId": "r2" }),
    );
    script.request(
        second,
        Some(&b),
        "Fetch.continueRequest",
        json!({ "requestId": "r2" }),
    );
    script.next_command("Fetch.continueRequest");
    assert!(script.calls().is_empty());
}

#[test]
fn the_first_that_decides_wins_and_the_other_gets_chromes_error() {
    let (mut script, [(first, a), (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/a");
    script.request(
        second,
        Some(&b),
        "Fetch.failRequest",
        json!({ "requestId": "r", "errorReason": "Failed" }),
    );
    let call = script.next_command("Fetch.failRequest");
    let too_late = (-32602, "Invalid InterceptionId.".to_owned());
    assert_eq!(
        script.error_of(
            first,
            Some(&a),
            "Fetch.fulfillRequest",
            json!({ "requestId": "r" })
        ),
        too_late
    );
    script.reply(&call, json!({}));
    assert_eq!(
        script.error_of(
            second,
            Some(&b),
            "Fetch.continueRequest",
            json!({ "requestId": "r" })
        ),
        too_late
    );
    assert!(script.calls().is_empty());
}

#[test]
fn a_session_cannot_answer_what_stopped_for_another() {
    let (mut script, [(first, a), _]) = two_intercept();
    pause(&mut script, "r", "https://site/b");
    assert_eq!(
        script
            .error_of(
                first,
                Some(&a),
                "Fetch.continueRequest",
                json!({ "requestId": "r" })
            )
            .0,
        -32602
    );
    assert!(script.calls().is_empty());
}

#[test]
fn an_answer_that_chrome_refuses_can_be_given_again() {
    let (mut script, [(_, _), (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/b");
    script.request(
        second,
        Some(&b),
        "Fetch.fulfillRequest",
        json!({ "requestId": "r", "responseCode": 9 }),
    );
    let call = script.next_command("Fetch.fulfillRequest");
    script.reply_error(
        &call,
        json!({ "code": -32602, "message": "Invalid http status code or phrase" }),
    );
    script.request(
        second,
        Some(&b),
        "Fetch.continueRequest",
        json!({ "requestId": "r" }),
    );
    script.next_command("Fetch.continueRequest");
}

#[test]
fn what_a_session_held_goes_on_when_its_client_leaves_unless_another_holds_it() {
    let (mut script, [(first, a), (second, _)]) = two_intercept();
    pause(&mut script, "shared", "https://site/a");
    pause(&mut script, "its own", "https://site/b");
    script.input(Input::ClientClosed(second));
    let calls = script.calls();
    let said: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call["params"]["method"].as_str().unwrap(),
                &call["params"]["params"],
            )
        })
        .collect();
    let narrowed =
        json!({ "patterns": [{ "urlPattern": "https://site/a*" }], "handleAuthRequests": false });
    assert_eq!(
        said,
        [
            ("Fetch.enable", &narrowed),
            ("Fetch.continueRequest", &json!({ "requestId": "its own" }))
        ]
    );
    assert_eq!(told(&mut script, first), ["shared"]);
    script.request(
        first,
        Some(&a),
        "Fetch.continueRequest",
        json!({ "requestId": "shared" }),
    );
    script.next_command("Fetch.continueRequest");
}

#[test]
fn who_gave_up_its_say_is_followed_by_the_end_of_the_last_holder() {
    let (mut script, [(first, _), (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/a");
    script.heard(second);
    script.ask(
        second,
        Some(&b),
        "Fetch.continueRequest",
        json!({ "requestId": "r" }),
    );
    script.input(Input::ClientClosed(first));
    assert!(
        script
            .calls()
            .iter()
            .any(|call| call["params"]["method"] == "Fetch.continueRequest")
    );
}

#[test]
fn a_request_that_the_page_gave_up_is_forgotten() {
    let (mut script, [_, (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/b");
    script.cdp_event(
        1,
        "Network.loadingFailed",
        json!({ "requestId": "network-r" }),
    );
    assert_eq!(
        script
            .error_of(
                second,
                Some(&b),
                "Fetch.continueRequest",
                json!({ "requestId": "r" })
            )
            .0,
        -32602
    );
    script.input(Input::ClientClosed(second));
    assert!(
        script
            .calls()
            .iter()
            .all(|call| call["params"]["method"] != "Fetch.continueRequest")
    );
}

#[test]
fn a_response_that_a_session_asked_for_stops_for_it_though_its_patterns_do_not_say_so() {
    let (mut script, [(first, a), (second, b)]) = two_intercept();
    pause(&mut script, "r", "https://site/a");
    script.ask(
        second,
        Some(&b),
        "Fetch.continueRequest",
        json!({ "requestId": "r" }),
    );
    script.request(
        first,
        Some(&a),
        "Fetch.continueRequest",
        json!({ "requestId": "r", "interceptResponse": true }),
    );
    let call = script.next_command("Fetch.continueRequest");
    script.reply(&call, json!({}));
    script.heard(first);
    let mut response = paused("r", "https://site/a");
    response["responseStatusCode"] = 200.into();
    script.cdp_event(1, "Fetch.requestPaused", response);
    assert_eq!(
        (
            told(&mut script, first).len(),
            told(&mut script, second).len()
        ),
        (1, 0)
    );
}

#[test]
fn patterns_that_chrome_refuses_leave_those_before_in_force() {
    let (mut script, [(first, a), _]) = two_intercept();
    script.request(
        first,
        Some(&a),
        "Fetch.enable",
        json!({ "patterns": [{ "urlPattern": "*", "resourceType": "Nonsense" }] }),
    );
    let call = script.next_command("Fetch.enable");
    script.reply_error(
        &call,
        json!({ "code": -32602, "message": "Unknown resource type" }),
    );
    script.heard(first);
    pause(&mut script, "r", "https://site/a");
    assert_eq!(told(&mut script, first), ["r"]);
}

#[test]
fn a_tab_that_lost_its_debugger_holds_nothing() {
    let (mut script, [(first, a), _]) = two_intercept();
    pause(&mut script, "r", "https://site/a");
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    script.request(
        first,
        Some(&a),
        "Fetch.continueRequest",
        json!({ "requestId": "r" }),
    );
    script.heard(first);
    let replayed = script.finish_waking(&main_frame(1));
    assert!(replayed.contains(&"Fetch.enable".to_owned()));
    assert_eq!(script.heard(first).last().unwrap()["error"]["code"], -32602);
}

#[test]
fn the_body_of_a_paused_response_is_for_who_was_told_of_it_and_is_not_taken_after_it_was_read() {
    let (mut script, [(first, mine), (second, theirs)]) = two_intercept();
    pause(&mut script, "1", "https://site/b");
    let body = json!({ "requestId": "1" });
    let (code, _) = script.error_of(first, Some(&mine), "Fetch.getResponseBody", body.clone());
    assert_eq!(code, -32602, "it was not told");
    script.request(second, Some(&theirs), "Fetch.getResponseBody", body.clone());
    script.next_command("Fetch.getResponseBody");
    let (code, _) = script.error_of(
        second,
        Some(&theirs),
        "Fetch.takeResponseBodyAsStream",
        body,
    );
    assert_eq!(code, -32602, "Chrome would crash");
}
