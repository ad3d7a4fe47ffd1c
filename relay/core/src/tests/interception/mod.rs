//! Request interception by several sessions: every paused request is answered once, by a session
//! that may, and none stays paused without a session that can answer it.

mod decisions;
mod patterns;
mod release;

use serde_json::{Value, json};

use super::script::{Script, Session};

/// What Chrome replies about a request that is not paused.
const INVALID_ID: i64 = -32602;

/// Two clients on one live tab. The first intercepts what is under `/a`, the second everything.
fn two_intercepting() -> (Script, [Session; 2]) {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    script.make_live(&first);
    for (page, url) in [(&first, "https://site/a*"), (&second, "*")] {
        intercept(&mut script, page, url);
        let call = script.next_command("Fetch.enable");
        script.reply(&call, json!({}));
        assert_eq!(script.received(page).len(), 1, "the reply");
    }
    (script, [first, second])
}

fn intercept(script: &mut Script, page: &Session, url: &str) {
    let params = json!({ "patterns": [{ "urlPattern": url }] });
    script.send(page, "Fetch.enable", params);
}

fn paused(request: &str, url: &str) -> Value {
    json!({ "requestId": request, "networkId": format!("network-{request}"), "resourceType": "Fetch", "request": { "url": url } })
}

fn pause(script: &mut Script, request: &str, url: &str) {
    script.cdp_event(1, "Fetch.requestPaused", paused(request, url));
}

fn pause_response(script: &mut Script, request: &str, url: &str) {
    let mut response = paused(request, url);
    response["responseStatusCode"] = 200.into();
    script.cdp_event(1, "Fetch.requestPaused", response);
}

/// Takes what a session received, and returns the ids of the paused requests.
fn received_pauses(script: &mut Script, page: &Session) -> Vec<String> {
    let received = script.received(page);
    received
        .events("Fetch.requestPaused")
        .map(|params| params["requestId"].as_str().unwrap().to_owned())
        .collect()
}

/// Lets a request continue, as far as this session is concerned.
fn continue_request(script: &mut Script, page: &Session, request: &str) {
    let params = json!({ "requestId": request });
    script.send(page, "Fetch.continueRequest", params);
}
