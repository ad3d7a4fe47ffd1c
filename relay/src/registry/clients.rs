//! The clients of one browser: their slots, their names, and the tabs they use.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use dashmap::DashMap;
use tabwire_core::ids::ClientId;
use tabwire_home::{ClientReport, SlotReport, TabInUse, milliseconds};

use super::connections::Connections;
use crate::config::ClientMode;
use crate::http::guard::Admission;
use crate::http::peer::{Peer, Process};
use crate::link::outbox::Outbox;

/// What a client calls itself, and which process it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    /// Whether it has chosen this name, as agents do. Otherwise it is its library's.
    pub names_itself: bool,
    /// The same in each of its connections.
    pub identity: Option<String>,
    pub process: Option<Process>,
    /// The other end of its connection.
    pub peer: Option<Peer>,
    /// Why it may be connected.
    pub admission: Admission,
    /// Whether it asked for a browser by its name.
    pub named_browser: bool,
}

pub struct Clients {
    mode: ClientMode,
    /// A client enters when it takes a slot and leaves when its socket is closed.
    map: DashMap<ClientId, ConnectedClient>,
    /// Who holds the only slot in `single-active`: a program, with all its sockets. In one place, so
    /// that one of several clients wins.
    active: Mutex<Vec<ClientId>>,
    last_id: Arc<AtomicU64>,
    /// Whether the hub reports which tabs each client uses.
    pub(super) knows_tabs: bool,
}

struct ConnectedClient {
    info: ClientInfo,
    /// The first socket of the same program, or itself. They count as one client.
    program: ClientId,
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
            active: Mutex::default(),
            last_id,
        }
    }

    /// Takes a client slot. `None`: another client holds the only one.
    pub fn take_slot(connections: &Arc<Connections>, info: ClientInfo) -> Option<ClientSlot> {
        let id = connections.clients.new_id();
        if connections.clients.mode == ClientMode::SingleActive {
            let mut active = connections.clients.active();
            if !active.is_empty() {
                return None;
            }
            active.push(id);
        }
        Some(Self::admit(connections, id, id, info))
    }

    /// Takes a place beside the client that holds the only slot, for another socket of the same
    /// program. `None`: that client has left.
    pub fn join_slot(
        connections: &Arc<Connections>,
        holder: ClientId,
        info: ClientInfo,
    ) -> Option<ClientSlot> {
        let id = connections.clients.new_id();
        let mut active = connections.clients.active();
        if !active.contains(&holder) {
            return None;
        }
        let program = connections.clients.map.get(&holder)?.program;
        active.push(id);
        Some(Self::admit(connections, id, program, info))
    }

    fn admit(
        connections: &Arc<Connections>,
        id: ClientId,
        program: ClientId,
        info: ClientInfo,
    ) -> ClientSlot {
        let clients = &connections.clients;
        let client = ConnectedClient {
            info,
            program,
            connected_at: SystemTime::now(),
            outbox: None,
            tabs: clients.knows_tabs.then(Vec::new),
        };
        clients.map.insert(id, client);
        ClientSlot {
            client: id,
            connections: connections.clone(),
        }
    }

    /// Who holds the only slot.
    pub fn holder(&self) -> Option<(ClientId, ClientInfo)> {
        let holder = self.active().first().copied()?;
        Some((holder, self.map.get(&holder)?.info.clone()))
    }

    fn new_id(&self) -> ClientId {
        ClientId(self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn active(&self) -> MutexGuard<'_, Vec<ClientId>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket that stands for all sockets of this client's program.
    pub fn program_of(&self, id: ClientId) -> ClientId {
        self.map.get(&id).map_or(id, |client| client.program)
    }

    /// How many sockets are open.
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
        self.close_admitted_by(code, reason, |admission| match admission {
            Admission::Token { generation } => generation < token_generation,
            Admission::OpenPort(_) => false,
        });
    }

    /// Closes the clients that connected through the open port in another of its openings.
    pub fn close_of_openings_except(&self, current: u64, code: u16, reason: &str) {
        self.close_admitted_by(code, reason, |admission| match admission {
            Admission::Token { .. } => false,
            Admission::OpenPort(opening) => opening != current,
        });
    }

    fn close_admitted_by(&self, code: u16, reason: &str, is_meant: impl Fn(Admission) -> bool) {
        let mut meant = self.map.iter();
        while let Some(client) = meant.find(|client| is_meant(client.info.admission)) {
            if let Some(outbox) = &client.outbox {
                // Nothing that it has sent since then may count.
                outbox.abort(code, reason);
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

    /// The name of the tab group for the tabs that a client creates: what it calls itself, without
    /// its version. A client that does not name itself has none.
    pub fn group_of(&self, id: ClientId) -> Option<String> {
        let client = self.map.get(&id)?;
        let name = without_version(&client.info.name).to_owned();
        client.info.names_itself.then_some(name)
    }

    pub fn identity_of(&self, id: ClientId) -> Option<String> {
        self.map.get(&id)?.info.identity.clone()
    }

    /// What people call this client, with its process if that is known.
    pub fn display_name(&self, id: ClientId) -> Option<String> {
        let client = self.map.get(&id)?;
        Some(client.report(id, false).to_string())
    }

    /// `with_tabs`: whether addresses and titles are included, which only clients may see. The sockets
    /// of one program are one client.
    pub fn report(&self, browser: Option<String>, with_tabs: bool) -> SlotReport {
        let mut programs = BTreeMap::<ClientId, ClientReport>::new();
        for client in &self.map {
            let report = client.report(client.program, true);
            match programs.entry(client.program) {
                Entry::Vacant(entry) => drop(entry.insert(report)),
                Entry::Occupied(mut entry) => merge(entry.get_mut(), report),
            }
        }
        let mut connected: Vec<ClientReport> = programs.into_values().collect();
        connected.sort_by_key(|client| client.connected_at);
        if !with_tabs {
            for client in &mut connected {
                client.tabs = None;
            }
        }
        SlotReport {
            mode: self.mode.name().to_owned(),
            busy: !self.active().is_empty(),
            active_client_id: connected.first().map(|client| client.id.clone()),
            connected_at: connected.first().map(|client| client.connected_at),
            clients: connected.len(),
            browser,
            connected,
        }
    }
}

/// `claude-code 2.1` is the version 2.1 of `claude-code`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((rest, last)) if last.starts_with(|c: char| c.is_ascii_digit()) => rest.trim_end(),
        _ => name,
    }
}

/// Adds another socket of the same program.
fn merge(report: &mut ClientReport, other: ClientReport) {
    report.connected_at = report.connected_at.min(other.connected_at);
    if let (Some(tabs), Some(others)) = (&mut report.tabs, other.tabs) {
        tabs.extend(others);
        tabs.sort_by(|a, b| a.id.cmp(&b.id));
        tabs.dedup_by(|a, b| a.id == b.id);
        report.tabs_in_use = Some(tabs.len());
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
        clients.active().retain(|holder| *holder != self.client);
    }
}
