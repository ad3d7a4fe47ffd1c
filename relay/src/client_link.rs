//! `/cdp`: the slot, the upgrade, and one client's socket between its two ends.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use crate::hub::{HubSender, ToHub};
use crate::outbox::outbox;
use crate::registry::ClientSeat;
use crate::server::App;
use crate::socket;
use crate::upgrade::Upgrade;
use crate::websocket::{Reader, Writer};

/// The guard has checked host, origin and token before this is reached.
pub async fn upgrade(State(app): State<Arc<App>>, upgrade: Upgrade) -> Response {
    let seat = match app.registry.seat_client() {
        Ok(seat) => seat,
        Err(report) => {
            let body = serde_json::json!({
                "error": "another client is connected, and this relay takes one at a time; wait until GET /client-slot says busy: false, or start it with --client-mode multi-client",
                "activeClientId": report.active_client_id,
                "connectedAt": report.connected_at,
            });
            return (StatusCode::CONFLICT, axum::Json(body)).into_response();
        }
    };
    let (hub, limit) = (app.hub.clone(), app.config.outbox_limit);
    upgrade.run(app.config.max_message, move |reader, writer| {
        run((reader, writer), seat, hub, limit)
    })
}

async fn run(socket: (Reader, Writer), seat: ClientSeat, hub: HubSender, limit: usize) {
    let client = seat.client;
    let (outbox, drain) = outbox(limit);
    seat.open(outbox.clone());
    tracing::info!(%client, "connected");
    let _ = hub.send(ToHub::ClientOpened(client, outbox.clone())).await;
    socket::run(socket, &outbox, drain, &hub, |text| {
        ToHub::ClientText(client, text)
    })
    .await;
    let _ = hub.send(ToHub::ClientClosed(client)).await;
    tracing::info!(%client, "gone");
}
