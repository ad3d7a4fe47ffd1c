//! A browser that goes away: its clients stay connected, and their next request finds it again.

use serde_json::{Value, json};
use tabwire_tests::{BrowserLink, Client, Relay, ScriptedBrowser, StartOptions, http, until};

use super::start_with_client;
use crate::setup::{MULTI_CLIENT, assert_message, auto_attach_params, methods};

/// The browser ends, and the relay notices.
pub async fn lose(relay: &Relay, browser: ScriptedBrowser, link: BrowserLink) -> u16 {
    let port = browser.stop().await;
    drop(link);
    until_degraded(relay).await;
    port
}

async fn until_degraded(relay: &Relay) {
    until("the relay notices", async || {
        (relay.get("/").await["extension"] == false).then_some(())
    })
    .await;
}

async fn auto_attach(client: &mut Client, link: &mut BrowserLink) {
    let id = client
        .send(None, "Target.setAutoAttach", auto_attach_params())
        .await;
    link.answer("Target.setAutoAttach").await;
    client.reply_to(id).await.unwrap();
}

#[tokio::test]
async fn next_request_finds_the_browser_again() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    auto_attach(&mut client, &mut link).await;
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    let first = client.send(None, "Target.createTarget", json!({})).await;
    let second = client.send(Some("S"), "Page.enable", json!({})).await;
    let mut link = browser.link().await;
    // The relay's own request comes first, and nothing else before its reply.
    let own = link.expect("Target.setAutoAttach").await;
    assert!(own["id"].as_i64().unwrap() < 0, "{own}");
    assert_eq!(own["params"], auto_attach_params());
    let third = client.send(None, "Browser.getVersion", json!({})).await;
    link.attach("NEW", "T1").await;
    let attached = client.next_message().await;
    assert_eq!(attached["params"]["sessionId"], "NEW");
    link.reply(&own, json!({})).await;
    for (id, method) in [
        (first, "Target.createTarget"),
        (second, "Page.enable"),
        (third, "Browser.getVersion"),
    ] {
        let request = link.answer(method).await;
        assert_eq!(request["id"], id);
        // Not the reply to the relay's own request.
        assert_eq!(client.next_message().await["id"], id);
    }
    let log = relay.stderr();
    for field in [
        "transportMode=\"ws\"",
        "runtimeState=\"starting\"",
        "runtimeState=\"degraded\"",
        "ownership=\"attached\"",
        &format!("debugPort={port}"),
        "recoveryAttempt=1",
        "recoveryResult=\"attached\"",
        "recoveryBootstrap=\"started\"",
        "recoveryBootstrap=\"acknowledged\"",
        "shortCircuitBrowserClose=false",
        "disconnectSignals=\"ConnectionClosedPrematurely\"",
    ] {
        assert!(log.contains(field), "{field} in {log}");
    }
}

#[tokio::test]
async fn client_without_auto_attach_gets_none() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    auto_attach(&mut client, &mut link).await;
    // In a session, it concerns the children of a page, which are gone.
    let params = auto_attach_params();
    client.send(Some("S"), "Target.setAutoAttach", params).await;
    link.answer("Target.setAutoAttach").await;
    let off = json!({ "autoAttach": false, "waitForDebuggerOnStart": false, "flatten": true });
    let id = client.send(None, "Target.setAutoAttach", off).await;
    link.answer("Target.setAutoAttach").await;
    client.reply_to(id).await.unwrap();
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    client.send(None, "Some.method", json!({})).await;
    browser.link().await.expect("Some.method").await;
}

#[tokio::test]
async fn what_puppeteer_switches_on_is_restored_as_it_was() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    let filter = json!([{ "type": "page", "exclude": true }, {}]);
    let commands = [
        (
            "Target.setDiscoverTargets",
            json!({ "discover": true, "filter": [{}] }),
        ),
        (
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter }),
        ),
    ];
    for (method, params) in &commands {
        client.send(None, method, params.clone()).await;
        link.answer(method).await;
    }
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    client.send(None, "Some.method", json!({})).await;
    let mut link = browser.link().await;
    for (method, params) in &commands {
        let own = link.answer(method).await;
        assert_eq!(own["params"], *params);
    }
    link.expect("Some.method").await;
}

#[tokio::test]
async fn requests_in_flight_fail_and_are_never_repeated() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    let root = client.send(None, "Some.method", json!({})).await;
    let answered = client.send(None, "Other.method", json!({})).await;
    let page = client.send(Some("S"), "Page.navigate", json!({})).await;
    link.expect("Some.method").await;
    link.answer("Other.method").await;
    link.expect("Page.navigate").await;
    client.reply_to(answered).await.unwrap();
    let port = lose(&relay, browser, link).await;
    let first = client.next_message().await;
    assert_eq!(first["id"], root);
    assert_message(&first["error"], "outcome is unknown");
    let second = client.next_message().await;
    assert_eq!(
        (&second["id"], &second["sessionId"]),
        (&json!(page), &json!("S"))
    );
    assert_message(&second["error"], "outcome is unknown");
    let mut browser = ScriptedBrowser::start_on(port).await;
    client.send(None, "Next.method", json!({})).await;
    browser.link().await.expect("Next.method").await;
}

#[tokio::test]
async fn sessions_end_with_the_connection_children_first() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    auto_attach(&mut client, &mut link).await;
    link.attach("S1", "T1").await;
    link.attach("GONE", "T2").await;
    let child = json!({ "method": "Target.attachedToTarget", "sessionId": "S1", "params": { "sessionId": "S2", "targetInfo": { "targetId": "T3", "type": "iframe" } } });
    link.send(child.to_string()).await;
    link.send(r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"GONE"}}"#)
        .await;
    for _ in 0..4 {
        client.next_message().await;
    }
    lose(&relay, browser, link).await;
    let ended = [client.next_message().await, client.next_message().await];
    assert_eq!(methods(&ended), ["Target.detachedFromTarget"; 2]);
    assert_eq!(ended[0]["sessionId"], "S1");
    assert_eq!(
        ended[0]["params"],
        json!({ "sessionId": "S2", "targetId": "T3" })
    );
    assert_eq!(ended[1].get("sessionId"), None);
    assert_eq!(
        ended[1]["params"],
        json!({ "sessionId": "S1", "targetId": "T1" })
    );
    let log = relay.stderr();
    let signals = "Target.detachedFromTarget,ConnectionClosedPrematurely";
    assert!(log.contains(signals), "{log}");
}

#[tokio::test]
async fn weak_signals_alone_change_nothing() {
    let (relay, _browser, mut client, mut link) = start_with_client(&[]).await;
    auto_attach(&mut client, &mut link).await;
    for _ in 0..20 {
        link.send(r#"{"method":"Inspector.detached","params":{"reason":"x"}}"#)
            .await;
        client.next_message().await;
    }
    let id = client.send(None, "Some.method", json!({})).await;
    link.answer("Some.method").await;
    client.reply_to(id).await.unwrap();
    assert_eq!(relay.get("/").await["extension"], true);
    assert!(!relay.stderr().contains("degraded"));
}

#[tokio::test]
async fn browser_close_while_degraded_does_not_look_for_the_browser() {
    let (mut relay, browser, mut client, link) = start_with_client(&[]).await;
    lose(&relay, browser, link).await;
    let reply = client.request("Browser.close", json!({})).await;
    assert_eq!(reply, Ok(json!({})));
    assert_eq!(client.wait_for_close().await.unwrap().0, 1000);
    assert!(relay.is_alive().await);
    let log = relay.stderr();
    assert!(log.contains("shortCircuitBrowserClose=true"), "{log}");
    assert!(!log.contains("recoveryAttempt"), "{log}");
}

#[tokio::test]
async fn clients_stay_connected_while_the_browser_is_gone() {
    let (relay, browser, mut client, link) = start_with_client(MULTI_CLIENT).await;
    let port = lose(&relay, browser, link).await;
    let bearer = format!("Bearer {}", relay.token());
    let version = http::get(relay.port, "/json/version", &[("Authorization", &bearer)]).await;
    assert_eq!(version.status, 503, "{version:?}");
    // One that connects meanwhile waits as well.
    let mut late = Client::connect(&relay).await;
    relay.until_clients(2).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    late.send(None, "Late.method", json!({})).await;
    // Both get a new connection, in any order.
    let mut links = [browser.link().await, browser.link().await];
    client.send(None, "First.method", json!({})).await;
    let mut seen = Vec::new();
    for link in &mut links {
        seen.push(link.request().await["method"].clone());
    }
    seen.sort_by_key(Value::to_string);
    assert_eq!(seen, ["First.method", "Late.method"]);
}

/// A page that connects while the browser is looked for gets its own socket, not the browser's.
#[tokio::test]
async fn page_that_connects_meanwhile_gets_its_own_socket() {
    let (relay, browser, _client, link) = start_with_client(MULTI_CLIENT).await;
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    let url = format!("ws://127.0.0.1:{}/devtools/page/A1", relay.port);
    let mut page = Client::connect_url(&format!("{url}?token={}", relay.token())).await;
    let id = page.send(None, "Page.reload", json!({})).await;
    let mut links = [browser.link().await, browser.link().await];
    links.sort_by_key(|link| link.path.clone());
    let [of_browser, of_page] = &mut links;
    assert!(of_browser.path.starts_with("/devtools/browser/"));
    assert_eq!(of_page.path, "/devtools/page/A1");
    of_page.answer("Page.reload").await;
    assert_eq!(page.reply_to(id).await, Ok(json!({})));
}

#[tokio::test]
async fn lost_connection_of_one_client_does_not_disturb_another() {
    let (relay, mut browser, mut client, link) = start_with_client(MULTI_CLIENT).await;
    let mut other = Client::connect(&relay).await;
    let mut other_link = browser.link().await;
    link.close().await;
    until_degraded(&relay).await;
    let id = other.send(None, "Other.method", json!({})).await;
    other_link.answer("Other.method").await;
    other.reply_to(id).await.unwrap();
    let id = client.send(None, "Some.method", json!({})).await;
    browser.link().await.answer("Some.method").await;
    client.reply_to(id).await.unwrap();
    assert!(
        relay
            .stderr()
            .contains("disconnectSignals=\"ConnectionClosed\"")
    );
}

#[tokio::test]
async fn browser_may_take_some_time_to_come_back() {
    let (relay, browser, mut client, link) = start_with_client(&["--recovery-timeout", "30"]).await;
    let port = lose(&relay, browser, link).await;
    client.send(None, "Some.method", json!({})).await;
    until("the relay looks for the browser", async || {
        relay.stderr().contains("recoveryAttempt=1").then_some(())
    })
    .await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    browser.link().await.expect("Some.method").await;
}

#[tokio::test]
async fn failed_recovery_ends_the_relay() {
    let (mut relay, browser, mut client, link) =
        start_with_client(&["--recovery-timeout", "0"]).await;
    let port = lose(&relay, browser, link).await;
    client.send(None, "Some.method", json!({})).await;
    let (code, reason) = client.wait_for_close().await.unwrap();
    assert_eq!(code, 1011);
    assert!(reason.contains("The browser is gone"), "{reason}");
    let exit = relay.wait().await;
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains("recoveryResult=\"failed\""),
        "{exit:?}"
    );
    let last = exit.stderr.lines().last().unwrap();
    assert!(last.starts_with("tabwire: The browser is gone"), "{last}");
    assert!(last.contains(&port.to_string()), "{last}");
}

#[tokio::test]
async fn failed_recovery_of_one_of_several_browsers_ends_only_its_clients() {
    let arguments = &["--browsers", "many", "--recovery-timeout", "0"];
    let (mut relay, browser, mut client, link) = start_with_client(arguments).await;
    let port = lose(&relay, browser, link).await;
    client.send(None, "Some.method", json!({})).await;
    let (code, reason) = client.wait_for_close().await.unwrap();
    assert_eq!(code, 1011);
    assert!(reason.contains("The browser is gone"), "{reason}");
    assert!(relay.is_alive().await);
    // It counts again as soon as its port answers.
    let mut browser = ScriptedBrowser::start_on(port).await;
    relay.until_extension(true).await;
    let mut client = Client::connect(&relay).await;
    client.send(None, "Some.method", json!({})).await;
    browser.link().await.expect("Some.method").await;
}

#[tokio::test]
async fn browser_is_looked_for_once_however_many_recoveries_fail() {
    let browser = ScriptedBrowser::start().await;
    let url = browser.url();
    let arguments = ["--browser-url", &url, "--browsers", "many"];
    let relay = Relay::start_with(StartOptions {
        arguments: &[&["--port", "0", "--recovery-timeout", "0"], &arguments[..]].concat(),
        environment: &[("TABWIRE_LOG", "debug")],
        ..StartOptions::default()
    })
    .await;
    let port = browser.stop().await;
    for attempt in 1..=3 {
        let mut client = Client::connect(&relay).await;
        client.send(None, "Some.method", json!({})).await;
        assert_eq!(client.wait_for_close().await.unwrap().0, 1011);
        let log = relay.stderr();
        assert!(
            log.contains(&format!(
                "recoveryAttempt={attempt} recoveryResult=\"failed\""
            )),
            "{log}"
        );
        assert_eq!(log.matches("waiting for a browser").count(), 1, "{log}");
    }
    let mut browser = ScriptedBrowser::start_on(port).await;
    relay.until_extension(true).await;
    let mut client = Client::connect(&relay).await;
    client.send(None, "Some.method", json!({})).await;
    browser.link().await.expect("Some.method").await;
}

#[tokio::test]
async fn refused_bootstrap_ends_only_its_client() {
    let (mut relay, browser, mut client, mut link) = start_with_client(&[]).await;
    auto_attach(&mut client, &mut link).await;
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    client.send(None, "Some.method", json!({})).await;
    let mut link = browser.link().await;
    let own = link.expect("Target.setAutoAttach").await;
    let error = json!({ "id": own["id"], "error": { "code": -32000, "message": "no" } });
    link.send(error.to_string()).await;
    assert_eq!(client.wait_for_close().await.unwrap().0, 1011);
    link.wait_for_close().await;
    assert!(relay.is_alive().await);
    assert!(relay.stderr().contains("recoveryBootstrap=\"failed\""));
}

#[tokio::test]
async fn what_waits_is_bounded() {
    let (relay, browser, mut client, link) = start_with_client(&["--recovery-timeout", "30"]).await;
    let port = lose(&relay, browser, link).await;
    let params = json!({ "a": "x".repeat(40 << 20) });
    let first = client.send(None, "Some.method", params.clone()).await;
    let second = client.send(None, "Some.method", params).await;
    assert_message(&client.error_of(second).await, "waiting for the browser");
    let mut browser = ScriptedBrowser::start_on(port).await;
    assert_eq!(
        browser.link().await.answer("Some.method").await["id"],
        first
    );
    client.reply_to(first).await.unwrap();
}
