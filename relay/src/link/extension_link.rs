//! `/extension`: takes the extension's slot, upgrades the request, and connects the socket to the
//! hub until it closes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::outbox::outbox;
use super::socket;
use super::upgrade::{Reader, Upgrade, Writer};
use crate::app::App;
use crate::hub::{HubSender, ToHub};
use crate::registry::{ExtensionSlot, milliseconds};

/// The largest message before the extension has introduced itself.
const MAX_HELLO: usize = 64 << 10;

/// The guard has already checked host and origin.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let origin = headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .unwrap_or_default();
    let slot = match app.registry.take_extension_slot(origin) {
        Ok(slot) => slot,
        Err(holder) => {
            let body = serde_json::json!({
                "error": "Another browser is connected to this relay. Disconnect it in its popup, or start a second relay with --port.",
                "holder": holder.origin,
                "connectedAt": milliseconds(holder.connected_at),
            });
            return (StatusCode::CONFLICT, axum::Json(body)).into_response();
        }
    };
    let (hub, limit) = (app.hub.clone(), app.config.outbox_limit);
    upgrade.run(app.config.max_message, move |reader, writer| {
        run(
            (reader.limit_first_message(MAX_HELLO), writer),
            slot,
            hub,
            limit,
        )
    })
}

async fn run(socket: (Reader, Writer), slot: ExtensionSlot, hub: HubSender, limit: usize) {
    let link = slot.link;
    let (outbox, drain) = outbox(limit);
    slot.open(outbox.clone());
    let _ = hub.send(ToHub::ExtensionOpened(link, outbox.clone())).await;
    socket::run(socket, &outbox, drain, &hub, |text| {
        ToHub::ExtensionText(link, text)
    })
    .await;
    let _ = hub.send(ToHub::ExtensionClosed(link)).await;
    tracing::info!("extension disconnected");
}
