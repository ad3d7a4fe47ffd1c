//! What plain HTTP serves of a browser with a debugging port of its own: the browser's own
//! documents, with the relay's address in place of the port's.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::direct::Browser;
use crate::error::Error;
use crate::http::guard::refusal;
use crate::registry::connections::Connections;

pub async fn version(browser: &Browser, url: Option<String>) -> Response {
    match document(browser, "/json/version").await {
        Ok(mut document) => {
            replace_url(&mut document, url);
            Json(document).into_response()
        }
        Err(response) => response,
    }
}

/// Whether the browser responds.
pub async fn check(browser: &Browser) -> Result<(), Response> {
    document(browser, "/json/version").await.map(drop)
}

/// `url`: the relay's address of a target's WebSocket.
pub async fn list(browser: &Browser, url: impl Fn(&str) -> Option<String>) -> Response {
    match targets(browser).await {
        Ok(targets) => {
            let targets = targets.into_iter().map(|target| with_url(target, &url));
            Json(targets.collect::<Value>()).into_response()
        }
        Err(response) => response,
    }
}

pub async fn find_target(
    browser: &Browser,
    id: &str,
    url: impl Fn(&str) -> Option<String>,
) -> Option<Value> {
    let targets = targets(browser).await.ok()?;
    let found = targets.into_iter().find(|target| id_of(target) == id)?;
    Some(with_url(found, url))
}

/// The browser's own description of the protocol.
pub async fn protocol(browser: &Browser) -> Response {
    match browser.get("/json/protocol").await {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => unavailable(&error),
    }
}

/// The product of a browser that responds. Also counts its pages.
pub async fn product(browser: &Browser, connections: &Connections) -> Option<String> {
    let version = browser.version().await.ok()?;
    let pages = browser.pages().await.unwrap_or_default().len();
    connections.pages.store(pages, Ordering::Relaxed);
    Some(version.product)
}

async fn targets(browser: &Browser) -> Result<Vec<Value>, Response> {
    match document(browser, "/json/list").await? {
        Value::Array(targets) => Ok(targets),
        _ => Ok(Vec::new()),
    }
}

fn id_of(target: &Value) -> &str {
    target.get("id").and_then(Value::as_str).unwrap_or_default()
}

async fn document(browser: &Browser, path: &str) -> Result<Value, Response> {
    // A client that looks for the browser needs it: one that can be launched is launched.
    let running = browser.ensure_running().await;
    running.map_err(|error| unavailable(&error))?;
    let body = browser.get(path).await;
    let body = body.map_err(|error| unavailable(&error))?;
    serde_json::from_slice(&body).map_err(|_| {
        let error = format!("The browser's {path} is not JSON.");
        refusal(StatusCode::BAD_GATEWAY, &error).into_response()
    })
}

fn with_url(mut target: Value, url: impl Fn(&str) -> Option<String>) -> Value {
    let url = url(id_of(&target));
    replace_url(&mut target, url);
    target
}

/// Clients must come through the relay.
fn replace_url(document: &mut Value, url: Option<String>) {
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    fields.remove("devtoolsFrontendUrl");
    fields.insert("webSocketDebuggerUrl".to_owned(), url.into());
}

fn unavailable(error: &Error) -> Response {
    refusal(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()).into_response()
}
