//! `/extension`: the one slot of the browser's extension, and its socket between its two ends.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::hub::{HubSender, ToHub};
use crate::outbox::outbox;
use crate::registry::{ExtensionSeat, milliseconds};
use crate::server::App;
use crate::socket;
use crate::upgrade::Upgrade;
use crate::websocket::{Reader, Writer};

/// The most that an extension may say before the relay knows what it is.
const HELLO_SIZE: usize = 64 << 10;

/// The guard has checked host and origin before this is reached.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let origin = headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .unwrap_or_default();
    let seat = match app.registry.seat_extension(origin) {
        Ok(seat) => seat,
        Err(holder) => {
            let body = serde_json::json!({
                "error": "another browser's extension is connected to this relay; disconnect it in its popup, or start a second relay with --port",
                "holder": holder.origin,
                "connectedAt": milliseconds(holder.connected_at),
            });
            return (StatusCode::CONFLICT, axum::Json(body)).into_response();
        }
    };
    let (hub, limit) = (app.hub.clone(), app.config.outbox_limit);
    upgrade.run(app.config.max_message, move |reader, writer| {
        run((reader.first_at_most(HELLO_SIZE), writer), seat, hub, limit)
    })
}

async fn run(socket: (Reader, Writer), seat: ExtensionSeat, hub: HubSender, limit: usize) {
    let link = seat.link;
    let (outbox, drain) = outbox(limit);
    seat.open(outbox.clone());
    let _ = hub.send(ToHub::ExtensionOpened(link, outbox.clone())).await;
    socket::run(socket, &outbox, drain, &hub, |text| {
        ToHub::ExtensionText(link, text)
    })
    .await;
    let _ = hub.send(ToHub::ExtensionClosed(link)).await;
    tracing::info!("extension gone");
}
