//! The clients of one browser: their slots, their names, and the tabs they use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use dashmap::DashMap;
use tabwire_core::ids::ClientId;
use tabwire_home::{ClientReport, SlotReport, TabInUse};

use super::connections::Connections;
use crate::config::ClientMode;
use crate::http::peer::Process;
use crate::link::outbox::Outbox;

/// What a client calls itself, and which process it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    pub process: Option<Process>,
    /// Counts the tokens this relay has had; the client had this one.
    pub token_generation: u64,
    /// Whether it asked for a browser by its name.
    pub named_browser: bool,
}

pub struct Clients {
    mode: ClientMode,
    /// A client enters when it takes a slot and leaves when its socket is closed.
    map: DashMap<ClientId, ConnectedClient>,
    /// Who holds the only slot in `single-active`; 0 if nobody does. Atomic, so that one of several
    /// clients wins.
    active: AtomicU64,
    last_id: Arc<AtomicU64>,
    /// Whether the hub reports which tabs each client uses.
    pub(super) knows_tabs: bool,
}

struct ConnectedClient {
    info: ClientInfo,
    connected_at: SystemTime,
    /// `None` until the socket is open.
    outbox: Option<Outbox>,
    /// Written by the hub. `None` if it does not know.
    tabs: Option<Vec<TabInUse>>,
}

/// A client's right to be connected. Dropping it frees the slot.
pub struct ClientSlot {
    pub client: ClientId,
    connections: Arc<Connections>,
}

impl Clients {
    pub fn new(mode: ClientMode, last_id: Arc<AtomicU64>) -> Self {
        Self {
            mode,
            knows_tabs: true,
            map: DashMap::new(),
            active: AtomicU64::new(0),
            last_id,
        }
    }

    /// Takes a client slot. `None`: another client holds the only one.
    pub fn take_slot(connections: &Arc<Connections>, info: ClientInfo) -> Option<ClientSlot> {
        let clients = &connections.clients;
        let id = clients.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let is_taken = clients.mode == ClientMode::SingleActive
            && clients
                .active
                .compare_exchange(0, id, Ordering::AcqRel, Ordering::Acquire)
                .is_err();
        if is_taken {
            return None;
        }
        let client = ConnectedClient {
            info,
            connected_at: SystemTime::now(),
            outbox: None,
            tabs: clients.knows_tabs.then(Vec::new),
        };
        clients.map.insert(ClientId(id), client);
        Some(ClientSlot {
            client: ClientId(id),
            connections: connections.clone(),
        })
    }

    pub fn count(&self) -> usize {
        self.map.len()
    }

    pub fn close_all(&self, code: u16, reason: &str) {
        for outbox in self.map.iter().filter_map(|client| client.outbox.clone()) {
            outbox.close(code, reason);
        }
    }

    /// Closes the clients that asked for a browser by its name.
    pub fn close_named(&self, code: u16, reason: &str) {
        for client in self.map.iter().filter(|client| client.info.named_browser) {
            if let Some(outbox) = &client.outbox {
                outbox.close(code, reason);
            }
        }
    }

    /// Closes the clients that connected with an earlier token.
    pub fn close_older_than(&self, token_generation: u64, code: u16, reason: &str) {
        let is_older = |client: &ConnectedClient| client.info.token_generation < token_generation;
        for client in self.map.iter().filter(|client| is_older(client)) {
            if let Some(outbox) = &client.outbox {
                outbox.close(code, reason);
            }
        }
    }

    pub fn set_process(&self, id: ClientId, process: Process) {
        if let Some(mut client) = self.map.get_mut(&id) {
            client.info.process = Some(process);
        }
    }

    pub fn set_tabs(&self, id: ClientId, tabs: Vec<TabInUse>) {
        if let Some(mut client) = self.map.get_mut(&id) {
            client.tabs = Some(tabs);
        }
    }

    /// Calls `use_name` with what a client calls itself; empty if it has left.
    pub fn with_name(&self, id: ClientId, use_name: impl FnOnce(&str)) {
        match self.map.get(&id) {
            Some(client) => use_name(&client.info.name),
            None => use_name(""),
        }
    }

    /// What people call this client, with its process if that is known.
    pub fn display_name(&self, id: ClientId) -> Option<String> {
        let client = self.map.get(&id)?;
        Some(client.report(id, false).to_string())
    }

    /// `with_tabs`: whether addresses and titles are included, which only clients may see.
    pub fn report(&self, browser: Option<String>, with_tabs: bool) -> SlotReport {
        let mut connected: Vec<ClientReport> = self
            .map
            .iter()
            .map(|client| client.report(*client.key(), with_tabs))
            .collect();
        connected.sort_by_key(|client| client.connected_at);
        SlotReport {
            mode: self.mode.name().to_owned(),
            busy: self.mode == ClientMode::SingleActive && self.active.load(Ordering::Acquire) != 0,
            active_client_id: connected.first().map(|client| client.id.clone()),
            connected_at: connected.first().map(|client| client.connected_at),
            clients: connected.len(),
            browser,
            connected,
        }
    }
}

impl ConnectedClient {
    fn report(&self, id: ClientId, with_tabs: bool) -> ClientReport {
        let process = self.info.process.as_ref();
        ClientReport {
            id: id.to_string(),
            name: self.info.name.clone(),
            program: process.map(|process| process.name.clone()),
            pid: process.map(|process| process.pid),
            connected_at: milliseconds(self.connected_at),
            tabs_in_use: self.tabs.as_ref().map(Vec::len),
            tabs: self.tabs.clone().filter(|_| with_tabs),
        }
    }
}

/// Milliseconds since 1970, as in JavaScript.
fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

impl ClientSlot {
    pub fn open(&self, outbox: Outbox) {
        if let Some(mut client) = self.connections.clients.map.get_mut(&self.client) {
            client.outbox = Some(outbox);
        }
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let clients = &self.connections.clients;
        clients.map.remove(&self.client);
        let _ =
            clients
                .active
                .compare_exchange(self.client.0, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}
