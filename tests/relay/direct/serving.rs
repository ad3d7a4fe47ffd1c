//! What a browser with its own port shares with every other one: token, slots, names and discovery;
//! and where its port may be.

use serde_json::{Value, json};
use tabwire_tests::{
    Client, EXTENSION_ID, Relay, ScriptedBrowser, ScriptedExtension, StartOptions, http, run, tab,
    until,
};

use super::{start, start_with_client};
use crate::open_port::{close_port, open_port};

async fn get(relay: &Relay, path: &str) -> http::Response {
    let bearer = format!("Bearer {}", relay.token());
    http::get(relay.port, path, &[("Authorization", &bearer)]).await
}

#[tokio::test]
async fn discovery_is_the_browsers_own_with_the_relays_address() {
    let (relay, browser) = start(&[]).await;
    let own = format!("ws://127.0.0.1:{}/devtools", relay.port);
    let query = format!("?token={}", relay.token());
    let version = get(&relay, "/json/version").await.json();
    assert_eq!(version["Browser"], "Chrome/156.0.1.2");
    assert_eq!(version["User-Agent"], "scripted");
    let url = version["webSocketDebuggerUrl"].as_str().unwrap();
    assert!(url.starts_with(&format!("{own}/browser/")), "{url}");
    assert!(url.ends_with(&query), "{url}");
    for path in ["/json", "/json/list/"] {
        let response = get(&relay, path).await;
        let list = response.json();
        assert_eq!(list[0]["id"], "A1");
        assert_eq!(list[1]["type"], "worker");
        let page = format!("{own}/page/A1{query}");
        assert_eq!(list[0]["webSocketDebuggerUrl"], page);
        let port = format!(":{}", browser.port);
        assert!(!response.body.contains(&port), "{}", response.body);
    }
    let protocol = get(&relay, "/json/protocol").await;
    assert_eq!(protocol.body, r#"{"domains" : []}"#);
    let named = get(&relay, "/json/version?browser=chrome").await.json();
    assert_eq!(
        named["webSocketDebuggerUrl"],
        format!("{url}&browser=chrome")
    );
    assert_eq!(get(&relay, "/json/version?browser=edge").await.status, 404);
}

#[tokio::test]
async fn open_port_leads_to_it_without_a_token() {
    let (relay, mut browser) = start(&[]).await;
    let port = open_port(&relay, &[]);
    let list = http::get(port, "/json/list", &[]).await.json();
    let page = format!("ws://127.0.0.1:{port}/devtools/page/A1");
    assert_eq!(list[0]["webSocketDebuggerUrl"], page);
    let version = http::get(port, "/json/version", &[]).await.json();
    let mut client = Client::connect_url(version["webSocketDebuggerUrl"].as_str().unwrap()).await;
    let _link = browser.link().await;
    close_port(&relay);
    let (_, reason) = client.wait_for_close().await.unwrap();
    assert!(reason.contains("`tabwire close-port`"), "{reason}");
}

#[tokio::test]
async fn everything_needs_the_token() {
    let (relay, _browser) = start(&[]).await;
    for path in ["/json/version", "/json/list", "/json/protocol", "/browsers"] {
        assert_eq!(http::get(relay.port, path, &[]).await.status, 401, "{path}");
    }
    let (_, refused) = http::upgrade(relay.port, "/cdp?token=wrong", &[]).await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn second_client_gets_409_with_the_name_of_the_first() {
    let (relay, mut browser) = start(&["--browser-name", "work"]).await;
    let client = Client::connect_as(&relay, "first").await;
    let _link = browser.link().await;
    let (_, refused) = http::upgrade(relay.port, &relay.cdp_path(), &[]).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.json()["client"]["name"], "first");
    let slot = relay.get("/client-slot").await;
    assert_eq!(slot["browser"], "work");
    assert_eq!(slot["connected"][0]["name"], "first");
    client.close().await;
    relay.until_clients(0).await;
    Client::connect(&relay).await;
}

/// Runs on several threads, because `run` blocks one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_shows_the_browser() {
    let (relay, browser) = start(&["--browser-name", "work"]).await;
    let browsers = get(&relay, "/browsers").await.json();
    let expected = json!([{ "name": "work", "product": "Chrome/156.0.1.2", "url": browser.url(), "extension": "",
            "ownership": "attached", "connected": true, "tabs": 1, "clients": [] }]);
    assert_eq!(browsers, expected);
    let status = relay.get("/").await;
    assert_eq!(
        (&status["extension"], &status["targets"]),
        (&json!(true), &json!(1))
    );
    let exit = run(&relay.home(), &["status"], &[]);
    let expected = format!("work (Chrome/156.0.1.2) at {}, 1 tab", browser.url());
    assert!(exit.stdout.contains(&expected), "{exit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn product_cannot_control_a_terminal() {
    let (relay, browser) = start(&[]).await;
    browser.set_product("Chrome/1\u{1b}[2J\u{202e}2");
    for command in ["status", "browsers"] {
        let exit = run(&relay.home(), &[command], &[]);
        assert!(exit.stdout.contains("Chrome/1[2J2"), "{exit:?}");
    }
}

#[tokio::test]
async fn pages_of_a_browser_that_is_gone_are_unavailable_and_not_unknown() {
    let (relay, browser) = start(&[]).await;
    browser.stop().await;
    let bearer = format!("Bearer {}", relay.token());
    let headers = [("Authorization", bearer.as_str()), ("Content-Length", "0")];
    for (method, path) in [
        ("GET", "/json/close/A1"),
        ("GET", "/json/activate/A1"),
        ("PUT", "/json/new"),
    ] {
        let response = http::request(relay.port, method, path, &headers).await;
        assert_eq!(response.status, 503, "{response:?}");
        assert!(
            response.body.contains("No browser can be used"),
            "{response:?}"
        );
    }
}

/// Whoever asks for the browsers gives up after two seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hung_browser_is_not_connected_and_does_not_hide_others() {
    let (relay, browser) = start(&["--browsers", "many", "--browser-name", "hung"]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    until("both are connected", async || {
        (relay.get("/").await["browsers"] == 2).then_some(())
    })
    .await;
    browser.hang();
    let browsers = get(&relay, "/browsers").await.json();
    let state = |index: usize| {
        let browser = &browsers[index];
        ["name", "connected", "tabs"].map(|field| browser[field].clone())
    };
    assert_eq!(state(0), [json!("hung"), json!(false), json!(0)]);
    assert_eq!(state(1), [json!("chrome"), json!(true), json!(1)]);
    let exit = run(&relay.home(), &["status"], &[]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let silent = format!("browser  hung at {} does not respond", browser.url());
    for expected in [&silent, "browser  chrome (", ", 1 tab"] {
        assert!(exit.stdout.contains(expected), "{exit:?}");
    }
    let exit = run(&relay.home(), &["browsers"], &[]);
    assert!(exit.stdout.contains("does not respond"), "{exit:?}");
    assert!(exit.stdout.contains("connected, 1 tab"), "{exit:?}");
}

/// What passes between a client and the browser is not read, so the relay must not claim to know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_does_not_claim_to_know_which_tabs_a_client_uses() {
    let (relay, _browser, _client, _link) = start_with_client(&[]).await;
    let slot = get(&relay, "/client-slot").await.json();
    let client = slot["connected"][0].as_object().unwrap();
    assert!(client.contains_key("connectedAt"), "{slot}");
    assert!(!client.contains_key("tabsInUse"), "{slot}");
    assert!(!client.contains_key("tabs"), "{slot}");
    let exit = run(&relay.home(), &["status"], &[]);
    assert!(exit.stdout.contains("  client "), "{exit:?}");
    assert!(!exit.stdout.contains("uses"), "{exit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_browser_can_take_its_name() {
    let (relay, _browser) = start(&["--browsers", "many"]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let names = until("both have a name", async || {
        let browsers = get(&relay, "/browsers").await.json();
        let names = browsers.as_array().unwrap().iter();
        let names: Vec<Value> = names.map(|browser| browser["name"].clone()).collect();
        (names.len() == 2).then_some(names)
    })
    .await;
    assert_eq!(names, ["chrome", "chrome-2"]);
    let rename = |to| run(&relay.home(), &["browsers", "rename", "chrome-2", to], &[]);
    let exit = rename("CHROME");
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(
        exit.stderr.contains("Another browser is called"),
        "{exit:?}"
    );
    assert_eq!(rename("work").code, Some(0));
}

#[tokio::test]
async fn extension_finds_the_place_taken_even_if_the_user_prefers_it() {
    let (relay, _browser) = start(&[]).await;
    for take_over in [false, true] {
        let own = relay.installation();
        let refused = ScriptedExtension::prove(&relay, &own, EXTENSION_ID, take_over).await;
        let refused = refused.unwrap_err();
        let busy = refused.busy.unwrap();
        assert_eq!(busy["holder"], "chrome");
        assert_eq!(busy["canTakeOver"], false);
        assert_eq!(refused.close, Some(4409));
    }
}

#[tokio::test]
async fn is_one_of_several_browsers_by_its_name() {
    let (relay, mut browser) = start(&["--browsers", "many", "--browser-name", "direct"]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    until("both are connected", async || {
        (relay.get("/").await["browsers"] == 2).then_some(())
    })
    .await;
    let several = get(&relay, "/json/version").await;
    assert_eq!(several.status, 400);
    assert_eq!(several.json()["browsers"], json!(["direct", "chrome"]));
    let mut client = Client::connect_to(&relay, "direct").await;
    client.send(None, "Some.method", json!({})).await;
    browser.link().await.expect("Some.method").await;
    let mut other = Client::connect_to(&relay, "chrome").await;
    let targets = other.ok("Target.getTargets", json!({})).await;
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    let browsers = get(&relay, "/browsers").await.json();
    assert_eq!(browsers.as_array().unwrap().len(), 2);
}

/// A POST request with the token.
fn post(relay: &Relay, path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        relay.port,
        relay.token(),
        body.len(),
    )
}

#[tokio::test]
async fn debug_http_reaches_the_browser() {
    let (relay, mut browser) = start(&["--debug-http"]).await;
    let body = json!({ "action": "cdp", "payload": { "method": "Some.method" } });
    let request = post(&relay, "/command", &body);
    let answering = async {
        let mut link = browser.link().await;
        let request = link.expect("Some.method").await;
        link.reply(&request, json!({ "a": 1 })).await;
        link
    };
    let ((_, response), _link) = tokio::join!(http::exchange(relay.port, request), answering);
    assert_eq!(response.json(), json!({ "result": { "a": 1 } }));
}

#[tokio::test]
async fn no_browser_is_launched_in_place_of_the_only_one() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    let request = post(&relay, "/launch", &json!({}));
    let (_, refused) = http::exchange(relay.port, request).await;
    assert_eq!(refused.status, 409);
    let error = refused.json()["error"].to_string();
    assert!(error.contains(&browser.url()), "{error}");
    assert!(error.contains("--browsers many"), "{error}");
    client.send(None, "Some.method", json!({})).await;
    link.expect("Some.method").await;
}

#[tokio::test]
async fn browser_url_excludes_launching() {
    let home = tempfile::TempDir::new().unwrap();
    let url = ["--port", "0", "--browser-url", "http://127.0.0.1:9222"];
    let serve = [&["serve", "--launch", "auto"], &url[..]].concat();
    let exit = run(home.path(), &serve, &[]);
    assert_eq!(exit.code, Some(2), "{exit:?}");
    assert!(exit.stderr.contains("cannot be used with"), "{exit:?}");
    let up = [&["up"], &url[..]].concat();
    let exit = run(home.path(), &up, &[]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(
        exit.stderr.contains("tabwire serve --browser-url"),
        "{exit:?}"
    );
}

#[tokio::test]
async fn only_ports_of_this_machine_are_accepted() {
    let home = tempfile::TempDir::new().unwrap();
    for url in [
        "http://192.168.0.1:9222",
        "http://example.com:9222",
        "ws://127.0.0.1:9222",
    ] {
        let exit = run(
            home.path(),
            &["serve", "--port", "0", "--browser-url", url],
            &[],
        );
        assert_eq!(exit.code, Some(2), "{url}: {exit:?}");
        assert!(exit.stderr.contains("http://127.0.0.1:9222"), "{exit:?}");
    }
}

#[tokio::test]
async fn port_without_a_browser_is_an_error_at_start() {
    let port = ScriptedBrowser::start().await.stop().await;
    let url = format!("http://localhost:{port}");
    let options = StartOptions {
        arguments: &["--port", "0", "--browser-url", &url],
        ..StartOptions::default()
    };
    let exit = Relay::try_start(options).await.err().unwrap();
    assert_eq!(exit.code, Some(1));
    let advice = format!("--remote-debugging-port={port}");
    assert!(exit.stderr.contains(&advice), "{exit:?}");
}
