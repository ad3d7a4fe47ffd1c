//! `/cdp`: takes a client slot of a browser, upgrades the request, and connects the socket to the
//! browser's hub until it closes.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tabwire_core::ids::ClientId;

use super::outbox::outbox;
use super::socket;
use super::upgrade::{Reader, Upgrade, Writer};
use crate::app::App;
use crate::http::browser_query::BrowserQuery;
use crate::http::guard::TokenGeneration;
use crate::http::peer::Peer;
use crate::hub::ToHub;
use crate::registry::Entry;
use crate::registry::clients::{ClientInfo, ClientSlot, Clients};

/// The header with which a client can name itself.
pub const CLIENT_NAME: HeaderName = HeaderName::from_static("x-tabwire-client");
const MAX_NAME: usize = 80;

/// The guard has already checked host, origin and token.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    Extension(TokenGeneration(token_generation)): Extension<TokenGeneration>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    let info = ClientInfo {
        name: client_name(&headers),
        process: None,
        token_generation,
        named_browser: query.browser.is_some(),
    };
    let Some(slot) = Clients::take_slot(&entry.connections, info) else {
        return conflict(&entry);
    };
    tokio::spawn(name_process(entry.clone(), slot.client, peer));
    let limit = app.config.outbox_limit;
    upgrade.run(app.config.max_message, move |reader, writer| {
        run((reader, writer), slot, entry, limit)
    })
}

/// Another client holds the only slot.
pub fn conflict(entry: &Entry) -> Response {
    let report = entry
        .connections
        .clients
        .report(entry.connections.browser_name(), false);
    let holder = report.connected.first();
    let name = holder.map_or_else(|| "Another client".to_owned(), ToString::to_string);
    let body = serde_json::json!({
        "error": format!("{name} is connected, and this relay accepts one client at a time. Wait until GET /client-slot returns busy: false, or start the relay with --client-mode multi-client."),
        "activeClientId": report.active_client_id,
        "connectedAt": report.connected_at,
        "client": holder,
    });
    (StatusCode::CONFLICT, axum::Json(body)).into_response()
}

/// The name that the client gives itself, or else that of its library.
pub fn client_name(headers: &HeaderMap) -> String {
    let text = |name| {
        let value = String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned();
        let printable = value.trim().chars().filter(|c| !changes_layout(*c));
        Some(printable.take(MAX_NAME).collect::<String>()).filter(|name| !name.is_empty())
    };
    text(CLIENT_NAME)
        .or_else(|| text(header::USER_AGENT))
        .unwrap_or_else(|| "unnamed client".to_owned())
}

/// Control characters, and those that change the direction of text.
fn changes_layout(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Finds out which process a client is, which takes a moment.
async fn name_process(entry: Entry, client: ClientId, peer: Peer) {
    if let Some(process) = peer.process().await {
        entry.connections.clients.set_process(client, process);
        let _ = entry.hub.send(ToHub::ClientNamed).await;
    }
}

async fn run(socket: (Reader, Writer), slot: ClientSlot, entry: Entry, limit: usize) {
    let (client, hub) = (slot.client, entry.hub);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_named_by_its_header_and_else_by_its_library() {
        let mut headers = HeaderMap::new();
        assert_eq!(client_name(&headers), "unnamed client");
        headers.insert(header::USER_AGENT, "Playwright/1.65".parse().unwrap());
        assert_eq!(client_name(&headers), "Playwright/1.65");
        headers.insert(CLIENT_NAME, "\tmy agent ".parse().unwrap());
        assert_eq!(client_name(&headers), "my agent");
        headers.insert(CLIENT_NAME, "x".repeat(500).parse().unwrap());
        assert_eq!(client_name(&headers).len(), MAX_NAME);
    }
}
