//! The connected clients, each with its root session and the messages it sent before the browser
//! was ready.

use std::collections::BTreeMap;

use crate::protocol::ids::{ClientId, SessionId};
use crate::{MAX_WAITING_BYTES, Now};

/// What a deferred message counts besides its text. It takes less, but each takes time when the browser is
/// ready, and the relay does nothing else meanwhile.
const DEFERRED_OVERHEAD: usize = 1 << 10;

#[derive(Debug)]
struct Client {
    root: SessionId,
    /// Connected for a single HTTP request, so that it owns no tabs.
    is_request: bool,
    /// The first client of the same program, or itself.
    program: ClientId,
    /// The name of the tab group for the tabs that it creates.
    group: Option<String>,
    /// The same in each of its connections. `None`: each is a client of its own.
    identity: Option<String>,
    /// Messages received while the extension was connecting, in order.
    deferred: Vec<Deferred>,
    deferred_bytes: usize,
}

/// A message that waits for the browser.
#[derive(Debug)]
pub struct Deferred {
    pub text: String,
    /// When it arrived.
    pub since: Now,
}

/// A client enters with `ClientOpened` and leaves with `ClientClosed`.
#[derive(Debug, Default)]
pub struct Clients {
    map: BTreeMap<ClientId, Client>,
    has_deferred: bool,
}

impl Clients {
    pub fn open(&mut self, id: ClientId, root: SessionId, is_request: bool, program: ClientId) {
        let client = Client {
            root,
            is_request,
            program,
            group: None,
            identity: None,
            deferred: Vec::new(),
            deferred_bytes: 0,
        };
        self.map.insert(id, client);
    }

    /// Returns whether the client was connected.
    pub fn close(&mut self, id: ClientId) -> bool {
        self.map.remove(&id).is_some()
    }

    pub fn is_connected(&self, id: ClientId) -> bool {
        self.map.contains_key(&id)
    }

    /// The clients of the same program, this one included.
    pub fn of_same_program(&self, id: ClientId) -> impl Iterator<Item = ClientId> {
        let program = self.map.get(&id).map(|client| client.program);
        let clients = self.map.iter();
        let same = clients.filter(move |(_, client)| Some(client.program) == program);
        same.map(|(id, _)| *id)
    }

    /// Whether the tabs that this client creates are its own.
    pub fn owns_tabs(&self, id: ClientId) -> bool {
        self.map.get(&id).is_none_or(|client| !client.is_request)
    }

    pub fn set_group(&mut self, id: ClientId, name: &str) {
        if let Some(client) = self.map.get_mut(&id) {
            client.group = Some(name.to_owned());
        }
    }

    pub fn group(&self, id: ClientId) -> Option<&str> {
        self.map.get(&id)?.group.as_deref()
    }

    pub fn set_identity(&mut self, id: ClientId, identity: &str) {
        if let Some(client) = self.map.get_mut(&id) {
            client.identity = Some(identity.to_owned());
        }
    }

    pub fn identity(&self, id: ClientId) -> Option<&str> {
        self.map.get(&id)?.identity.as_deref()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn root_session(&self, id: ClientId) -> Option<SessionId> {
        self.map.get(&id).map(|client| client.root)
    }

    /// Keeps a message until the browser is ready. `false` if too much is waiting already.
    pub fn defer(&mut self, id: ClientId, text: &str, since: Now) -> bool {
        let Some(client) = self.map.get_mut(&id) else {
            return false;
        };
        let size = text.len() + DEFERRED_OVERHEAD;
        let fits = client.deferred_bytes + size <= MAX_WAITING_BYTES;
        if fits {
            client.deferred_bytes += size;
            client.deferred.push(Deferred {
                text: text.to_owned(),
                since,
            });
            self.has_deferred = true;
        }
        fits
    }

    /// Whether messages of this client wait for the browser.
    pub fn has_deferred(&self, id: ClientId) -> bool {
        let client = self.map.get(&id);
        client.is_some_and(|client| !client.deferred.is_empty())
    }

    /// All deferred messages, by client.
    pub fn take_deferred(&mut self) -> Vec<(ClientId, Deferred)> {
        let mut taken = Vec::new();
        if !std::mem::take(&mut self.has_deferred) {
            return taken;
        }
        for (id, client) in &mut self.map {
            client.deferred_bytes = 0;
            taken.extend(client.deferred.drain(..).map(|deferred| (*id, deferred)));
        }
        taken
    }
}
