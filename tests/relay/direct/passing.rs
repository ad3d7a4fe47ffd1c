//! What passes between a client and the browser, and what does not.

use serde_json::{Value, json};
use tabwire_tests::{Client, until};

use super::{start, start_with_client};
use crate::setup::{MULTI_CLIENT, assert_message};

#[tokio::test]
async fn messages_pass_byte_for_byte() {
    let (_relay, _browser, mut client, mut link) = start_with_client(&[]).await;
    let requests = [
        r#"{"id":1,"method":"Runtime.evaluate","params":{"expression" : "\u0041é\ud83d\ude00"},"sessionId":"S"}"#,
        r#" { "sessionId":"S", "params" :{"a":[1e400, 1.0]}, "method":"No.such", "id":-7, "extra":null } "#,
    ];
    for request in requests {
        client.send_text(request).await;
        assert_eq!(link.text().await, request);
    }
    let messages = [
        r#"{"id":1,"result":{"value" : 1.50},"sessionId":"S"}"#,
        r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"T" }}"#,
        r#"{"method":"Inspector.detached","params":{"reason":"Render process gone."},"sessionId":"S"}"#,
        r#" {"params":{},"method":"Some.event"} "#,
        "not even JSON",
        "",
    ];
    for message in messages {
        link.send(message).await;
        assert_eq!(client.next_text().await, message);
    }
    let large = format!(r#"{{"id":-7,"result":{{"a":"{}"}}}}"#, "x".repeat(20 << 20));
    link.send(large.clone()).await;
    assert!(client.next_text().await == large);
}

#[tokio::test]
async fn malformed_requests_are_answered_and_not_passed() {
    let (_relay, _browser, mut client, mut link) = start_with_client(&[]).await;
    client.send_text("nonsense").await;
    assert_eq!(client.reply_without_id().await["error"]["code"], -32700);
    client.send_text(r#"{"id":5,"method":3}"#).await;
    assert_eq!(client.error_of(5).await["code"], -32600);
    client.send(None, "Browser.getVersion", json!({})).await;
    link.expect("Browser.getVersion").await;
}

#[tokio::test]
async fn clients_have_connections_of_their_own() {
    let (relay, mut browser) = start(MULTI_CLIENT).await;
    let mut clients = Vec::new();
    for number in 0..3 {
        let client = Client::connect(&relay).await;
        clients.push((client, browser.link().await, number));
    }
    for (client, link, number) in &mut clients {
        let id = client
            .send(None, "Some.method", json!({ "number": number }))
            .await;
        let request = link.expect("Some.method").await;
        assert_eq!(request["params"]["number"], *number);
        link.reply(&request, json!({ "number": number })).await;
        assert_eq!(client.reply_to(id).await.unwrap()["number"], *number);
    }
    let (leaving, mut link, _) = clients.remove(0);
    leaving.close().await;
    link.wait_for_close().await;
    let (client, link, _) = &mut clients[0];
    client.send(None, "Some.method", json!({})).await;
    link.expect("Some.method").await;
}

#[tokio::test]
async fn message_sent_just_before_leaving_reaches_the_browser() {
    let (_relay, _browser, mut client, mut link) = start_with_client(&[]).await;
    client.send(None, "Target.closeTarget", json!({})).await;
    client.close().await;
    link.expect("Target.closeTarget").await;
    link.wait_for_close().await;
}

#[tokio::test]
async fn browser_close_disconnects_only_the_client() {
    let (relay, mut browser) = start(MULTI_CLIENT).await;
    let texts = [
        r#"{"id":-9999,"method":"Browser.close"}"#,
        r#"{"id":3,"method":"Browser.\u0063lose","sessionId":"S","params":{}}"#,
    ];
    let replies = [
        json!({ "id": -9999, "result": {} }),
        json!({ "id": 3, "result": {}, "sessionId": "S" }),
    ];
    let mut other = Client::connect(&relay).await;
    let mut other_link = browser.link().await;
    for (text, reply) in texts.into_iter().zip(replies) {
        let mut client = Client::connect(&relay).await;
        let mut link = browser.link().await;
        client.send_text(text).await;
        assert_eq!(client.next_message().await, reply);
        assert_eq!(client.wait_for_close().await.unwrap().0, 1000);
        // No request came before the end.
        link.wait_for_close().await;
    }
    let id = other.send(None, "Browser.getVersion", json!({})).await;
    other_link.answer("Browser.getVersion").await;
    other.reply_to(id).await.unwrap();
}

#[tokio::test]
async fn client_that_does_not_read_is_disconnected() {
    const PART: usize = 8 << 20;
    let (mut relay, _browser, mut client, mut link) = start_with_client(&[]).await;
    // A browser sends nothing before it is asked.
    client.send(None, "Some.method", json!({})).await;
    link.expect("Some.method").await;
    let event = format!(r#"{{"method":"A.b","params":"{}"}}"#, "x".repeat(PART));
    for _ in 0..36 {
        link.send(event.clone()).await;
    }
    until("the relay closes the slow reader", async || {
        relay.stderr().contains("does not read").then_some(())
    })
    .await;
    assert_eq!(client.wait_for_close().await.unwrap().0, 1013);
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn message_over_the_limit_ends_only_its_connection() {
    let (mut relay, mut browser, mut client, mut link) =
        start_with_client(&["--max-message-mib", "1"]).await;
    let id = client.send(None, "Some.method", json!({})).await;
    link.expect("Some.method").await;
    link.send(format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(2 << 20)))
        .await;
    assert_message(&client.error_of(id).await, "outcome is unknown");
    let id = client.send(None, "Some.method", json!({})).await;
    browser.link().await.answer("Some.method").await;
    assert_eq!(client.reply_to(id).await, Ok(json!({})));
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn requests_wait_until_the_connection_is_open() {
    let (relay, mut browser) = start(&[]).await;
    let mut client = Client::connect(&relay).await;
    for number in 0..50 {
        client
            .send(None, "Some.method", json!({ "number": number }))
            .await;
    }
    let mut link = browser.link().await;
    let mut numbers = Vec::new();
    for _ in 0..50 {
        numbers.push(link.expect("Some.method").await["params"]["number"].clone());
    }
    assert_eq!(Value::from(numbers), json!((0..50).collect::<Vec<_>>()));
}
