//! What plain HTTP serves of a browser with a debugging port of its own: the browser's own
//! documents, with the relay's address in place of the port's.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::app::App;
use crate::direct::Browser;
use crate::error::Error;
use crate::http::browser_query::BrowserQuery;
use crate::http::guard::refusal;
use crate::registry::connections::Connections;

pub async fn version(app: &App, query: &BrowserQuery, browser: &Browser) -> Response {
    document(app, query, browser, "/json/version").await
}

pub async fn list(app: &App, query: &BrowserQuery, browser: &Browser) -> Response {
    document(app, query, browser, "/json/list").await
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

async fn document(app: &App, query: &BrowserQuery, browser: &Browser, path: &str) -> Response {
    // A client that looks for the browser needs it: one that can be launched is launched.
    if let Err(error) = browser.ensure_running().await {
        return unavailable(&error);
    }
    let body = match browser.get(path).await {
        Ok(body) => body,
        Err(error) => return unavailable(&error),
    };
    let Ok(mut document) = serde_json::from_slice::<Value>(&body) else {
        let error = format!("The browser's {path} is not JSON.");
        return refusal(StatusCode::BAD_GATEWAY, &error).into_response();
    };
    let url = app.cdp_url(query.browser.as_deref());
    match &mut document {
        Value::Array(targets) => {
            for target in targets {
                replace_url(target, url.as_deref());
            }
        }
        document => replace_url(document, url.as_deref()),
    }
    Json(document).into_response()
}

/// Clients must come through the relay, whose WebSocket serves all targets.
fn replace_url(document: &mut Value, url: Option<&str>) {
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    fields.remove("devtoolsFrontendUrl");
    fields.insert("webSocketDebuggerUrl".to_owned(), url.into());
}

fn unavailable(error: &Error) -> Response {
    refusal(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()).into_response()
}
