//! New connections to a browser that is back: they can fail, too, and restore what a client had
//! switched on.

use serde_json::json;
use tabwire_tests::{Client, ScriptedBrowser};

use super::recovery::lose;
use super::start_with_client;
use crate::setup::MULTI_CLIENT;

const DISCOVER: &str = "Target.setDiscoverTargets";

#[tokio::test]
async fn refused_connection_is_tried_again_until_the_timeout() {
    let arguments = [MULTI_CLIENT, &["--recovery-timeout", "30"]].concat();
    let (relay, mut browser, mut client, link) = start_with_client(&arguments).await;
    let mut other = Client::connect(&relay).await;
    drop(browser.link().await);
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    browser.refuse(3);
    let first = client.send(None, "Some.method", json!({})).await;
    let second = other.send(None, "Some.method", json!({})).await;
    for _ in 0..2 {
        let mut link = browser.link().await;
        tokio::spawn(async move {
            link.answer("Some.method").await;
            link.wait_for_close().await;
        });
    }
    assert_eq!(client.reply_to(first).await, Ok(json!({})));
    assert_eq!(other.reply_to(second).await, Ok(json!({})));
    assert!(!relay.stderr().contains("recoveryResult=\"failed\""));
}

#[tokio::test]
async fn connection_refused_for_good_ends_only_its_client() {
    let arguments = [MULTI_CLIENT, &["--recovery-timeout", "0"]].concat();
    let (mut relay, mut browser, mut client, link) = start_with_client(&arguments).await;
    let mut other = Client::connect(&relay).await;
    drop(browser.link().await);
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    browser.refuse(1);
    client.send(None, "Some.method", json!({})).await;
    let mut link = browser.link().await;
    let ((code, reason), mut kept) = tokio::select! {
        closed = client.wait_for_close() => (closed.unwrap(), other),
        closed = other.wait_for_close() => (closed.unwrap(), client),
    };
    assert_eq!(code, 1011);
    assert!(reason.contains("lost again"), "{reason}");
    assert!(relay.is_alive().await);
    let id = kept.send(None, "Next.method", json!({})).await;
    while link.request().await["id"] != id {}
    link.reply(&json!({ "id": id }), json!({})).await;
    assert_eq!(kept.reply_to(id).await, Ok(json!({})));
}

#[tokio::test]
async fn what_the_browser_has_refused_is_not_restored() {
    let (relay, browser, mut client, mut link) = start_with_client(&[]).await;
    let params = json!({ "discover": true });
    let id = client.send(None, DISCOVER, params.clone()).await;
    link.answer(DISCOVER).await;
    client.reply_to(id).await.unwrap();
    let bad = json!({ "discover": true, "filter": "bad" });
    let id = client.send(None, DISCOVER, bad).await;
    link.expect(DISCOVER).await;
    let error = json!({ "id": id, "error": { "code": -32602, "message": "Invalid parameters" } });
    link.send(error.to_string()).await;
    assert!(client.reply_to(id).await.is_err());
    let port = lose(&relay, browser, link).await;
    let mut browser = ScriptedBrowser::start_on(port).await;
    client.send(None, "Some.method", json!({})).await;
    let mut link = browser.link().await;
    assert_eq!(link.answer(DISCOVER).await["params"], params);
    link.expect("Some.method").await;
}
