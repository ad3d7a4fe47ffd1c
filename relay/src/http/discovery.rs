//! What plain HTTP serves: the relay's status to any local program, the browser's pages to clients
//! with the token.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tabwire_home::{RelayStatus, SlotReport};
use tokio::sync::oneshot;

use crate::app::App;
use crate::http::guard::refusal;
use crate::hub::{Description, ToHub};

pub async fn status(State(app): State<Arc<App>>) -> Json<RelayStatus> {
    Json(RelayStatus {
        status: "ok".to_owned(),
        extension: app.registry.extension_ready.load(Ordering::Relaxed),
        targets: app.registry.pages.load(Ordering::Relaxed),
        clients: app.registry.client_count(),
    })
}

pub async fn client_slot(State(app): State<Arc<App>>) -> Json<SlotReport> {
    Json(app.registry.slot_report())
}

/// The same response as Chrome's own port, so that a client finds the WebSocket from an `http://`
/// address.
pub async fn version(State(app): State<Arc<App>>) -> Response {
    let browser = describe(&app)
        .await
        .and_then(|description| description.browser);
    let Some(browser) = browser else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "No browser connected. Open the browser that has the Tabwire extension, or run `tabwire install-extension` to add it.",
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
    let (reply, description) = oneshot::channel();
    app.hub.send(ToHub::Describe(reply)).await.ok()?;
    description.await.ok()
}
