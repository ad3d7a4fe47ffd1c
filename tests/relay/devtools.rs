//! Chrome's own addresses: a WebSocket for the browser and for each page, and pages that are opened,
//! closed and shown with plain HTTP.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, http, tab, target_of, until};

#[cfg(target_os = "linux")]
use crate::peers::{assert_status, request_from};
use crate::setup::{assert_message, start_relay};

async fn request(relay: &Relay, method: &str, path: &str) -> http::Response {
    let bearer = format!("Bearer {}", relay.token());
    let headers = [("Authorization", bearer.as_str()), ("Content-Length", "0")];
    http::request(relay.port, method, path, &headers).await
}

async fn get(relay: &Relay, path: &str) -> Value {
    request(relay, "GET", path).await.json()
}

async fn page_urls(relay: &Relay) -> Vec<String> {
    let list = get(relay, "/json/list").await;
    let url = |page: &Value| page["webSocketDebuggerUrl"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(url).collect()
}

#[tokio::test]
async fn each_page_has_a_websocket_of_its_own() {
    let (relay, extension) = start_relay(&[], &[1, 2]).await;
    let mut page = Client::connect_url(&page_urls(&relay).await[1]).await;
    let info = page.ok("Target.getTargetInfo", json!({})).await;
    assert_eq!(info["targetInfo"]["targetId"], target_of(2));
    page.ok("Page.enable", json!({})).await;
    assert_eq!(extension.call_names(), ["listTabs"], "attaches no debugger");
    let result = page.ok("Runtime.evaluate", json!({})).await;
    assert_eq!(result["echo"], "Runtime.evaluate");

    extension
        .send_event("tabRemoved", json!({ "tabId": 2 }))
        .await;
    let detached = page.event("Inspector.detached").await;
    assert_eq!(detached["params"]["reason"], "target_closed");
    assert_eq!(page.wait_for_close().await.unwrap().0, 1000);
}

#[tokio::test]
async fn frames_of_another_process_have_websockets_too() {
    let relay = Relay::start(&[]).await;
    let mut framing = tab(1);
    framing["frames"] = json!([{ "targetId": "F1", "url": "https://other.example/" }]);
    let extension = ScriptedExtension::connect(&relay, &[framing, tab(2)]).await;
    let list = get(&relay, "/json/list").await;
    let described = |target: &Value| {
        let field = |name: &str| target[name].as_str().unwrap_or_default().to_owned();
        [field("type"), field("id"), field("parentId")]
    };
    let targets: Vec<_> = list.as_array().unwrap().iter().map(described).collect();
    let [page, other] = [1, 2].map(target_of);
    let texts = |texts: [&str; 3]| texts.map(str::to_owned);
    let expected = [
        texts(["page", &page, ""]),
        texts(["iframe", "F1", &page]),
        texts(["page", &other, ""]),
    ];
    assert_eq!(targets, expected);
    let mut frame = Client::connect_url(&page_urls(&relay).await[1]).await;
    let info = frame.ok("Target.getTargetInfo", json!({})).await;
    assert_eq!(info["targetInfo"]["targetId"], "F1");
    assert_eq!(extension.call_names(), ["listTabs"], "attaches no debugger");
    // Its tab is not closed with it.
    let refused = request(&relay, "GET", "/json/close/F1").await;
    assert_eq!(refused.status, 500);
    assert!(refused.body.contains("close the whole tab"), "{refused:?}");
}

#[tokio::test]
async fn sockets_of_one_program_are_one_client() {
    let (relay, _extension) = start_relay(&[], &[1, 2]).await;
    let version = get(&relay, "/json/version").await;
    let browser = version["webSocketDebuggerUrl"].as_str().unwrap();
    let pages = page_urls(&relay).await;
    let mut browser = Client::connect_url(browser).await;
    let mut first = Client::connect_url(&pages[0]).await;
    let mut second = Client::connect_url(&pages[1]).await;
    for client in [&mut browser, &mut first, &mut second] {
        client.ok("Browser.getVersion", json!({})).await;
    }
    first.ok("Runtime.evaluate", json!({})).await;
    second.ok("Runtime.evaluate", json!({})).await;
    until("its tabs are reported together", async || {
        let slot = get(&relay, "/client-slot").await;
        assert_eq!(slot["clients"], 1, "{slot}");
        (slot["connected"][0]["tabsInUse"] == 2).then_some(())
    })
    .await;
    // `/cdp` is for one client, whatever its process is.
    let (_, refused) = http::upgrade(relay.port, &relay.cdp_path(), &[]).await;
    assert_eq!(refused.status, 409);
    // The slot is free when the last socket is closed, in whatever order.
    drop(browser);
    drop(second);
    until("two sockets are closed", async || {
        let slot = get(&relay, "/client-slot").await;
        (slot["connected"][0]["tabsInUse"] == 1).then_some(())
    })
    .await;
    assert_eq!(get(&relay, "/client-slot").await["busy"], true);
    drop(first);
    until("the slot is free", async || {
        (get(&relay, "/client-slot").await["busy"] == false).then_some(())
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn socket_of_another_program_gets_409() {
    let (relay, _extension) = start_relay(&[], &[1, 2]).await;
    let pages = page_urls(&relay).await;
    let _first = Client::connect_url(&pages[0]).await;
    let websocket = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let query = format!("{}?token={}", target_of(2), relay.token());
    for (path, headers) in [("devtools/page", &websocket[..]), ("json/activate", &[])] {
        let path = format!("/{path}/{query}");
        let response = request_from(&[], relay.port, &path, headers).await;
        assert_status(&response, 409);
    }
}

#[tokio::test]
async fn everything_is_unavailable_without_a_browser() {
    let relay = Relay::start(&[]).await;
    for (method, path) in [
        ("GET", "/json/version"),
        ("GET", "/json/list"),
        ("PUT", "/json/new"),
        ("GET", "/json/close/nope"),
        ("GET", "/json/activate/nope"),
    ] {
        let response = request(&relay, method, path).await;
        assert_eq!(response.status, 503, "{path}: {response:?}");
        let error = response.json()["error"].to_string();
        assert!(error.contains("No browser connected"), "{error}");
    }
}

#[tokio::test]
async fn unknown_targets_and_browsers_get_chromes_errors() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let token = relay.token();
    for (path, status, body) in [
        ("/devtools/page/nope", 500, "No such target id: nope"),
        ("/devtools/browser/nope", 404, "No such browser id: nope"),
    ] {
        let path = format!("{path}?token={token}");
        let (_, response) = http::upgrade(relay.port, &path, &[]).await;
        assert_eq!((response.status, response.body.as_str()), (status, body));
    }
    for (method, path, status, body) in [
        ("GET", "/json/close/nope", 404, "No such target id: nope"),
        ("GET", "/json/activate/nope", 404, "No such target id: nope"),
        ("GET", "/json/activate", 404, "No such target id: "),
        ("GET", "/json/foo", 404, "Unknown command: foo"),
        (
            "GET",
            "/json/new?about:blank",
            405,
            "Using unsafe HTTP verb GET to invoke /json/new. This action supports only PUT verb.",
        ),
    ] {
        let response = request(&relay, method, path).await;
        assert_eq!(
            (response.status, response.body.as_str()),
            (status, body),
            "{path}"
        );
    }
}

#[tokio::test]
async fn pages_are_opened_closed_and_shown_with_plain_http() {
    let (relay, mut extension) = start_relay(&[], &[1]).await;
    extension.hold("createTab");
    let address = "https%3A%2F%2Fexample.com%2F9%3Fa%3Db";
    let opening = async {
        let path = format!("/json/new?{address}");
        request(&relay, "put", &path).await
    };
    let replying = async {
        let call = extension.held_call("createTab").await;
        let params = call.params();
        assert_eq!(params["url"], "https://example.com/9?a=b");
        assert_eq!(
            (&params["active"], &params["attach"]),
            (&json!(false), &json!(false))
        );
        extension
            .send_text(json!({ "id": call.id, "result": tab(9) }).to_string())
            .await;
    };
    let (response, ()) = tokio::join!(opening, replying);
    assert_eq!(response.status, 200, "{response:?}");
    let page = response.json();
    assert_eq!(page["id"], target_of(9));
    assert_eq!(get(&relay, "/json/list").await[1], page);

    for (path, call, body) in [
        ("activate", "activateTab", "Target activated"),
        ("close", "closeTab", "Target is closing"),
    ] {
        let path = format!("/json/{path}/{}", target_of(9));
        let response = request(&relay, "GET", &path).await;
        assert_eq!((response.status, response.body.as_str()), (200, body));
        assert!(extension.call_names().contains(&call.to_owned()));
    }
    let called = extension.call_names().len();
    for path in ["close", "activate"] {
        let path = format!("/json/{path}/{}", target_of(1));
        assert_eq!(request(&relay, "HEAD", &path).await.status, 405);
    }
    assert_eq!(extension.call_names().len(), called, "HEAD changes nothing");
    let names = extension.call_names();
    assert!(!names.contains(&"attachTab".to_owned()), "{names:?}");
    assert_eq!(get(&relay, "/client-slot").await["busy"], false);
}

#[tokio::test]
async fn state_is_not_changed_without_the_token_or_for_a_web_page() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let token = relay.token();
    for (method, path) in [
        ("PUT", "/json/new".to_owned()),
        ("GET", format!("/json/close/{}", target_of(1))),
        ("GET", format!("/json/activate/{}", target_of(1))),
    ] {
        let without = http::request(relay.port, method, &path, &[]).await;
        assert_eq!(without.status, 401, "{path}");
        let path = format!("{path}?token={token}");
        for header in [
            ("Origin", "https://example.com"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Host", "example.com"),
        ] {
            let response = http::request(relay.port, method, &path, &[header]).await;
            assert_eq!(response.status, 403, "{path} {header:?}");
        }
    }
    let path = format!("/devtools/page/{}", target_of(1));
    assert_eq!(http::upgrade(relay.port, &path, &[]).await.1.status, 401);
    let path = format!("{path}?token={token}");
    let page = [("Origin", "http://127.0.0.1")];
    assert_eq!(http::upgrade(relay.port, &path, &page).await.1.status, 403);
    assert_eq!(extension.call_names(), ["listTabs"]);
}

#[tokio::test]
async fn serves_a_description_of_the_protocol() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let protocol = get(&relay, "/json/protocol").await;
    assert_eq!(protocol["version"]["major"], "1");
    let domains = protocol["domains"].as_array().unwrap();
    let has = |name: &str| domains.iter().any(|domain| domain["domain"] == name);
    assert!(has("Page") && has("Runtime") && has("Target"));
}

#[tokio::test]
async fn page_whose_browser_is_gone_reports_it() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let mut page = Client::connect_url(&page_urls(&relay).await[0]).await;
    extension.drop_connection().await;
    relay.until_extension(false).await;
    let error = page.error("Runtime.evaluate", json!({})).await;
    assert_message(&error, "browser");
}

#[tokio::test]
async fn page_stays_itself_when_its_browser_is_back() {
    let (relay, extension) = start_relay(&[], &[1, 2]).await;
    let mut page = Client::connect_url(&page_urls(&relay).await[1]).await;
    extension.drop_connection().await;
    relay.until_extension(false).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    relay.until_extension(true).await;
    let info = page.ok("Target.getTargetInfo", json!({})).await;
    assert_eq!(info["targetInfo"]["targetId"], target_of(2));
    page.ok("Runtime.evaluate", json!({})).await;
}
