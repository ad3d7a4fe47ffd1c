//! `POST /command`, with `--debug-http`.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, http, tab, target_of};

const JSON: (&str, &str) = ("Content-Type", "application/json");

async fn start() -> (Relay, ScriptedExtension) {
    crate::setup::start_relay(&["--debug-http"], &[1, 2]).await
}

async fn post(relay: &Relay, headers: &[(&str, &str)], body: &str) -> http::Response {
    let length = body.len().to_string();
    let token = format!("Bearer {}", relay.token());
    let own = [
        ("Authorization", token.as_str()),
        ("Content-Length", &length),
    ];
    let head = http::head(relay.port, "POST", "/command", &[&own, headers].concat());
    http::exchange(relay.port, head + body).await.1
}

async fn command(relay: &Relay, body: Value) -> (u16, Value) {
    let response = post(relay, &[JSON], &body.to_string()).await;
    (response.status, response.json())
}

#[tokio::test]
async fn is_not_found_without_the_option() {
    let relay = Relay::start(&[]).await;
    let response = post(&relay, &[JSON], r#"{"action":"getTabs"}"#).await;
    assert_eq!(response.status, 404);
    assert!(response.body.contains("--debug-http"), "{}", response.body);
}

#[tokio::test]
async fn needs_the_token_and_json() {
    let (relay, _extension) = start().await;
    let body = r#"{"action":"getTabs"}"#;
    assert_eq!(post(&relay, &[], body).await.status, 415);
    let plain = [("Content-Type", "text/plain")];
    assert_eq!(post(&relay, &plain, body).await.status, 415);
    let page = [JSON, ("Origin", "https://example.com")];
    assert_eq!(post(&relay, &page, body).await.status, 403);
    let cross_site = [JSON, ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(post(&relay, &cross_site, body).await.status, 403);
    let head = http::head(
        relay.port,
        "POST",
        "/command",
        &[JSON, ("Content-Length", "20")],
    );
    let (_, response) = http::exchange(relay.port, head + body).await;
    assert_eq!(response.status, 401);
    let response = http::get(
        relay.port,
        &format!("/command?token={}", relay.token()),
        &[],
    )
    .await;
    assert_eq!(response.status, 405);
}

#[tokio::test]
async fn lists_tabs_without_attaching_to_them() {
    let (relay, extension) = start().await;
    let (status, body) = command(&relay, json!({ "action": "getTabs" })).await;
    let expected = [1, 2]
        .map(|id| json!({ "id": target_of(id), "url": tab(id)["url"], "title": tab(id)["title"] }));
    assert_eq!((status, body), (200, json!({ "result": expected })));
    assert_eq!(extension.call_names(), ["listTabs"]);
    relay.until_clients(0).await;
}

#[tokio::test]
async fn evaluates_in_a_tab_and_releases_it() {
    let (relay, mut extension) = start().await;
    extension.hold("Runtime.evaluate");
    let request =
        json!({ "action": "evaluate", "tab": target_of(2), "payload": { "expression": "6 * 7" } });
    let answer = async {
        let call = extension.held_call("Runtime.evaluate").await;
        assert_eq!(call.tab, Some(2));
        assert_eq!(call.params()["expression"], "6 * 7");
        let result = json!({ "result": { "type": "number", "value": 42 } });
        extension.reply(&call, result).await;
    };
    let (reply, ()) = tokio::join!(command(&relay, request), answer);
    assert_eq!(reply, (200, json!({ "result": 42 })));
    extension.until_called("detachTab", 1).await;
}

#[tokio::test]
async fn exception_in_the_page_is_an_error() {
    let (relay, mut extension) = start().await;
    extension.hold("Runtime.evaluate");
    let request =
        json!({ "action": "evaluate", "tab": target_of(1), "payload": { "expression": "x" } });
    let answer = async {
        let call = extension.held_call("Runtime.evaluate").await;
        let details = json!({ "text": "Uncaught", "exception": { "description": "ReferenceError: x is not defined" } });
        let result = json!({ "result": {}, "exceptionDetails": details });
        extension.reply(&call, result).await;
    };
    let (reply, ()) = tokio::join!(command(&relay, request), answer);
    assert_eq!(
        reply,
        (502, json!({ "error": "ReferenceError: x is not defined" }))
    );
}

#[tokio::test]
async fn passes_cdp_commands_on() {
    let (relay, _extension) = start().await;
    let payload = json!({ "method": "Page.printToPDF", "params": { "landscape": true } });
    let request = json!({ "action": "cdp", "tab": target_of(1), "payload": payload });
    let (status, body) = command(&relay, request).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["result"]["echo"], "Page.printToPDF");
    let payload = json!({ "method": "Browser.getVersion" });
    let (_, body) = command(&relay, json!({ "action": "cdp", "payload": payload })).await;
    assert_eq!(body["result"]["product"], "Chrome/156.0.8078.79");
}

#[tokio::test]
async fn closes_activates_and_photographs_tabs() {
    let (relay, extension) = start().await;
    for (action, call) in [
        ("activateTab", "activateTab"),
        ("screenshot", "Page.captureScreenshot"),
        ("closeTab", "closeTab"),
    ] {
        let (status, body) =
            command(&relay, json!({ "action": action, "tab": target_of(1) })).await;
        assert_eq!(status, 200, "{action}: {body}");
        assert_eq!(extension.calls(call).len(), 1, "{action}");
    }
}

#[tokio::test]
async fn explains_what_is_wrong() {
    let (relay, _extension) = start().await;
    for (request, expected, part) in [
        (json!({ "action": "fly" }), 400, "Unknown action 'fly'"),
        (json!({ "action": "navigate" }), 400, "payload.url"),
        (json!({ "action": "screenshot" }), 400, "needs `tab`"),
        (
            json!({ "action": "closeTab", "tab": "none" }),
            404,
            "No target",
        ),
        (
            json!({ "action": "getTabs", "browser": "edge" }),
            404,
            "'edge'",
        ),
        (json!({ "act": 1 }), 422, "unknown field"),
        (
            json!({ "action": "cdp", "payload": { "method": "Browser.crash" } }),
            502,
            "Browser.crash",
        ),
    ] {
        let (status, body) = command(&relay, request.clone()).await;
        assert_eq!(status, expected, "{request}: {body}");
        let error = body["error"].as_str().unwrap();
        assert!(error.contains(part), "{request}: {error}");
    }
    assert_eq!(post(&relay, &[JSON], "{").await.status, 400);
}

#[tokio::test]
async fn waits_for_nobody_who_holds_the_slot() {
    let (relay, _extension) = start().await;
    let _client = Client::connect(&relay).await;
    let (status, body) = command(&relay, json!({ "action": "getTabs" })).await;
    assert_eq!(status, 409, "{body}");
}
