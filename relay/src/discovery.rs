//! What plain HTTP tells: the state of the relay to anyone on this machine, the browser's pages to who has the token.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::guard::refusal;
use crate::hub::{Description, ToHub};
use crate::server::App;

/// What `GET /` says: counts, nothing private.
#[derive(Debug, Serialize, Deserialize)]
pub struct RelayStatus {
    pub status: String,
    pub extension: bool,
    pub targets: usize,
    pub clients: usize,
}

pub async fn status(State(app): State<Arc<App>>) -> Json<RelayStatus> {
    Json(RelayStatus {
        status: "ok".to_owned(),
        extension: app.registry.extension_ready.load(Ordering::Relaxed),
        targets: app.registry.pages.load(Ordering::Relaxed),
        clients: app.registry.client_count(),
    })
}

pub async fn client_slot(State(app): State<Arc<App>>) -> Response {
    Json(app.registry.slot_report()).into_response()
}

/// What Chrome's own port answers, so that a client finds the WebSocket from an `http://` address.
pub async fn version(State(app): State<Arc<App>>) -> Response {
    let Some(Description {
        browser: Some(browser),
        ..
    }) = describe(&app).await
    else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "no browser is connected: start the one that has the Tabwire extension, or load it with `tabwire install-extension`",
        )
        .into_response();
    };
    Json(json!({
        "Browser": browser.browser,
        "Protocol-Version": "1.3",
        "User-Agent": browser.user_agent,
        "webSocketDebuggerUrl": app.cdp_url(),
    }))
    .into_response()
}

pub async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    let pages = describe(&app)
        .await
        .map(|description| description.pages)
        .unwrap_or_default();
    let entries = pages.iter().map(|page| {
        json!({
            "description": "", "id": page.id, "title": page.title, "type": "page", "url": page.url,
            "webSocketDebuggerUrl": app.cdp_url(),
        })
    });
    Json(entries.collect())
}

async fn describe(app: &App) -> Option<Description> {
    let (answer, described) = oneshot::channel();
    app.hub.send(ToHub::Describe(answer)).await.ok()?;
    described.await.ok()
}
