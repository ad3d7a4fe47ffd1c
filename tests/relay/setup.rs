//! Set-up and checks that several test files share.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, tab, target_of};

pub const MULTI_CLIENT: &[&str] = &["--client-mode", "multi-client"];

/// A relay with these arguments, and an extension with these tabs.
pub async fn start_relay(arguments: &[&str], tabs: &[i64]) -> (Relay, ScriptedExtension) {
    let relay = Relay::start(arguments).await;
    let tabs: Vec<Value> = tabs.iter().map(|id| tab(*id)).collect();
    let extension = ScriptedExtension::connect(&relay, &tabs).await;
    (relay, extension)
}

/// A relay, an extension with these tabs, and a client.
pub async fn start(tabs: &[i64]) -> (Relay, ScriptedExtension, Client) {
    let (relay, extension) = start_relay(&[], tabs).await;
    let client = Client::connect(&relay).await;
    (relay, extension, client)
}

/// A relay, an extension with one tab, and a client with a session on it. The tab is dormant.
pub async fn start_with_session() -> (Relay, ScriptedExtension, Client, String) {
    let (relay, extension, mut client) = start(&[1]).await;
    let session = attach(&mut client, 1).await;
    (relay, extension, client, session)
}

/// Like `start_with_session`, but the tab is live.
pub async fn start_with_live_session() -> (Relay, ScriptedExtension, Client, String) {
    let (relay, extension, mut client, session) = start_with_session().await;
    evaluate(&mut client, &session).await;
    (relay, extension, client, session)
}

/// Attaches to a tab's page and returns the session.
pub async fn attach(client: &mut Client, tab: i64) -> String {
    let params = json!({ "targetId": target_of(tab), "flatten": true });
    session_of(&client.ok("Target.attachToTarget", params).await)
}

/// Attaches to all tabs, as libraries do, and returns the session of one of them.
pub async fn auto_attach(client: &mut Client, tab: i64) -> String {
    client
        .ok("Target.setAutoAttach", auto_attach_params())
        .await;
    loop {
        let attached = client.event("Target.attachedToTarget").await;
        if attached["params"]["targetInfo"]["targetId"] == target_of(tab) {
            return session_of(&attached["params"]);
        }
    }
}

pub fn auto_attach_params() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

/// The `sessionId` of a result or of an event's parameters.
pub fn session_of(params: &Value) -> String {
    params["sessionId"].as_str().unwrap().to_owned()
}

/// A command that needs the browser: it wakes a dormant tab.
pub async fn evaluate(client: &mut Client, session: &str) {
    client.ok_in(session, "Runtime.evaluate", json!({})).await;
}

pub async fn default_context(client: &mut Client) -> Value {
    client.ok("Target.getBrowserContexts", json!({})).await["defaultBrowserContextId"].clone()
}

/// The scripted extension's reply to a command.
pub fn echo(method: &str, params: &Value) -> Value {
    json!({ "echo": method, "params": params })
}

/// Checks that the message of a CDP error contains this text.
#[track_caller]
pub fn assert_message(error: &Value, part: &str) {
    let message = error["message"].as_str();
    assert!(
        message.is_some_and(|message| message.contains(part)),
        "expected {part:?} in {error}"
    );
}

/// Checks that a session does not exist (any more).
pub async fn assert_no_session(client: &mut Client, session: &str) {
    let error = client
        .error_in(session, "Runtime.evaluate", json!({}))
        .await;
    assert_eq!(error["code"], -32001, "{error}");
}

/// Checks that a client has no unread messages.
pub async fn assert_no_messages(client: &mut Client, why: &str) {
    assert_eq!(client.drain().await, Vec::<Value>::new(), "{why}");
}

/// The method of each message, or "reply".
pub fn methods(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message["method"].as_str().unwrap_or("reply"))
        .collect()
}

/// Checks that these parameters reach the browser, and come back as its result, byte for byte. The
/// client must have no unread messages, and the extension must hold `Runtime.callFunctionOn`.
pub async fn assert_forwards_unchanged(
    extension: &mut ScriptedExtension,
    client: &mut Client,
    session: &str,
    payload: &str,
) {
    let method = "Runtime.callFunctionOn";
    client
        .send_text(format!(
            r#"{{"id":901,"method":"{method}","sessionId":"{session}","params":{payload}}}"#
        ))
        .await;
    let call = extension.held_call(method).await;
    assert!(call.params == payload, "changed on the way to the browser");
    extension
        .send_text(format!(r#"{{"id":{},"result":{payload}}}"#, call.id))
        .await;
    let reply = client.next_text().await;
    assert!(
        reply == format!(r#"{{"id":901,"result":{payload},"sessionId":"{session}"}}"#),
        "changed on the way to the client: {}…",
        &reply[..reply.len().min(300)]
    );
}
