//! Clients' sockets: takes a client slot of a browser, upgrades the request, and connects the socket to
//! the browser's hub until it closes. `/cdp` is here, Chrome's own paths are in `devtools_link`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tabwire_core::ids::ClientId;
use tabwire_home::printable;

use super::backlog::Backlog;
use super::outbox::client_outbox;
use super::socket;
use super::upgrade::{Reader, Upgrade, Writer};
use crate::app::App;
use crate::http::browser_query::BrowserQuery;
use crate::http::guard::{Admission, Refusal, refusal};
use crate::http::peer::{Peer, Process};
use crate::hub::{ConnectedTo, ToHub};
use crate::registry::Entry;
use crate::registry::clients::{ClientInfo, ClientSlot, Clients};

/// The header with which a client can name itself.
pub const CLIENT_NAME: HeaderName = HeaderName::from_static("x-tabwire-client");
/// The header by which a client is recognized when it connects again: the same text that nobody else has.
const CLIENT_IDENTITY: HeaderName = HeaderName::from_static("x-tabwire-identity");
const MAX_NAME: usize = 80;

/// What a handler knows of a client that wants to connect.
pub struct Candidate {
    headers: HeaderMap,
    peer: Peer,
    admission: Admission,
    named_browser: bool,
}

impl<S: Sync> FromRequestParts<S> for Candidate {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = BrowserQuery::from_request_parts(parts, state).await?;
        let extensions = &parts.extensions;
        let admitted = extensions.get::<Peer>().zip(extensions.get());
        let Some((peer, admission)) = admitted else {
            // The guard admits nobody without them.
            return Err(refusal(StatusCode::UNAUTHORIZED, "Not admitted."));
        };
        Ok(Self {
            headers: parts.headers.clone(),
            peer: *peer,
            admission: *admission,
            named_browser: query.browser.is_some(),
        })
    }
}

impl Candidate {
    fn info(&self) -> ClientInfo {
        ClientInfo {
            name: client_name(&self.headers),
            names_itself: self.headers.contains_key(CLIENT_NAME),
            identity: text_of(&self.headers, CLIENT_IDENTITY),
            process: None,
            peer: Some(self.peer),
            admission: self.admission,
            named_browser: self.named_browser,
        }
    }

    /// Takes the slot of a client, or joins the one that another socket of the same program holds.
    pub async fn take_or_join_slot(&self, entry: &Entry) -> Option<ClientSlot> {
        let (connections, info) = (&entry.connections, self.info());
        if let Some(slot) = Clients::take_slot(connections, info.clone()) {
            return Some(slot);
        }
        let joined = match connections.clients.holder() {
            Some((holder, held_by)) if is_same_program(&info, &held_by).await => {
                Clients::join_slot(connections, holder, info.clone())
            }
            _ => None,
        };
        // The holder may have left meanwhile.
        joined.or_else(|| Clients::take_slot(connections, info))
    }

    /// Runs the socket of a client that has a slot.
    pub fn connect(
        self,
        app: &App,
        entry: Entry,
        slot: ClientSlot,
        to: ConnectedTo,
        upgrade: Upgrade,
    ) -> Response {
        tokio::spawn(name_process(entry.clone(), slot.client, self.peer));
        let limits = Limits {
            outbox: app.config.outbox_limit,
            backlog: app.backlog.clone(),
            silence: app.config.client_timeout,
        };
        upgrade.run(app.config.max_message, move |reader, writer| {
            run((reader, writer), slot, to, entry, limits)
        })
    }
}

/// `/cdp`. Each of its sockets is a client of its own. The guard has already checked host, origin and
/// token.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    candidate: Candidate,
    upgrade: Upgrade,
) -> Response {
    let entry = match app.browser_for_socket(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    let Some(slot) = Clients::take_slot(&entry.connections, candidate.info()) else {
        return conflict(&entry);
    };
    candidate.connect(&app, entry, slot, ConnectedTo::Browser, upgrade)
}

/// Whether two sockets belong to the same program: the same process, or, where processes are unknown,
/// the same name.
async fn is_same_program(one: &ClientInfo, other: &ClientInfo) -> bool {
    match (process_of(one).await, process_of(other).await) {
        (Some(one), Some(other)) => one.pid == other.pid,
        (None, None) => one.name == other.name,
        _ => false,
    }
}

async fn process_of(info: &ClientInfo) -> Option<Process> {
    match (&info.process, info.peer) {
        (Some(process), _) => Some(process.clone()),
        (None, Some(peer)) => peer.process().await,
        (None, None) => None,
    }
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
    text_of(headers, CLIENT_NAME)
        .or_else(|| text_of(headers, header::USER_AGENT))
        .unwrap_or_else(|| "unnamed client".to_owned())
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let value = String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned();
    Some(printable(value.trim(), MAX_NAME)).filter(|text| !text.is_empty())
}

/// Finds out which process a client is, which takes a moment.
async fn name_process(entry: Entry, client: ClientId, peer: Peer) {
    if let Some(process) = peer.process().await {
        entry.connections.clients.set_process(client, process);
        let _ = entry.hub.send(ToHub::StatusChanged).await;
    }
}

/// What a client may do.
struct Limits {
    /// How much may wait for it.
    outbox: usize,
    /// What waits for all clients.
    backlog: Arc<Backlog>,
    /// How long it may be silent.
    silence: Option<Duration>,
}

async fn run(
    socket: (Reader, Writer),
    slot: ClientSlot,
    to: ConnectedTo,
    entry: Entry,
    limits: Limits,
) -> Option<(Reader, Writer)> {
    let (client, hub) = (slot.client, entry.hub.for_client());
    let (outbox, drain) = client_outbox(limits.outbox, &limits.backlog);
    slot.open(outbox.clone());
    tracing::info!(%client, "client connected");
    let opened = ToHub::ClientOpened(client, to, outbox.clone());
    let _ = hub.send(opened).await;
    let to_hub = |text| ToHub::ClientText(client, text);
    let (_, closing) = socket::run(socket, (&outbox, drain), limits.silence, &hub, to_hub).await;
    let _ = hub.send(ToHub::ClientClosed(slot)).await;
    let reason = outbox.abort_reason();
    tracing::info!(%client, reason, "client disconnected");
    closing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClientMode;
    use crate::http::peer::Owner;
    use crate::registry::connections::Connections;

    /// A socket of a user, so that finding its process takes a moment. No process has it.
    fn candidate() -> Candidate {
        let uid = rustix::process::geteuid().as_raw();
        Candidate {
            headers: HeaderMap::new(),
            peer: Peer {
                owner: Owner::User { uid, inode: 0 },
            },
            admission: Admission::Token { generation: 1 },
            named_browser: false,
        }
    }

    #[tokio::test]
    async fn slot_that_becomes_free_during_the_search_is_taken() {
        let connections = Connections::new(
            ClientMode::SingleActive,
            Arc::default(),
            Arc::default(),
            Arc::default(),
        );
        let entry = Entry {
            id: "".into(),
            hub: crate::hub::inbox().0,
            connections: Arc::new(connections),
            direct: None,
        };
        let held = Clients::take_slot(&entry.connections, candidate().info());
        assert!(held.is_some());
        let second = candidate();
        // The second one finds the slot taken, and the holder leaves while it searches.
        let (slot, ()) = tokio::join!(second.take_or_join_slot(&entry), async { drop(held) });
        assert!(slot.is_some());
        let joined = candidate().take_or_join_slot(&entry).await;
        assert!(joined.is_some());
        assert_eq!(entry.connections.clients.report(None, false).clients, 1);
    }

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
