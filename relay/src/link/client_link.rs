//! `/cdp`: takes a client slot, upgrades the request, and connects the socket to the hub until it
//! closes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::outbox::outbox;
use super::socket;
use super::upgrade::{Reader, Upgrade, Writer};
use crate::app::App;
use crate::hub::{HubSender, ToHub};
use crate::registry::ClientSlot;

/// The guard has already checked host, origin and token.
pub async fn upgrade(State(app): State<Arc<App>>, upgrade: Upgrade) -> Response {
    let slot = match app.registry.take_client_slot() {
        Ok(slot) => slot,
        Err(report) => {
            let body = serde_json::json!({
                "error": "Another client is connected, and this relay accepts one at a time. Wait until GET /client-slot returns busy: false, or start the relay with --client-mode multi-client.",
                "activeClientId": report.active_client_id,
                "connectedAt": report.connected_at,
            });
            return (StatusCode::CONFLICT, axum::Json(body)).into_response();
        }
    };
    let (hub, limit) = (app.hub.clone(), app.config.outbox_limit);
    upgrade.run(app.config.max_message, move |reader, writer| {
        run((reader, writer), slot, hub, limit)
    })
}

async fn run(socket: (Reader, Writer), slot: ClientSlot, hub: HubSender, limit: usize) {
    let client = slot.client;
    let (outbox, drain) = outbox(limit);
    slot.open(outbox.clone());
    tracing::info!(%client, "client connected");
    let _ = hub.send(ToHub::ClientOpened(client, outbox.clone())).await;
    socket::run(socket, &outbox, drain, &hub, |text| {
        ToHub::ClientText(client, text)
    })
    .await;
    let _ = hub.send(ToHub::ClientClosed(client)).await;
    tracing::info!(%client, "client disconnected");
}
