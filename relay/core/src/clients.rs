//! The clients that are connected, each with its root session.

use std::collections::BTreeMap;

use crate::ids::{ClientId, SessionId};
use crate::{Core, Extension};

#[derive(Debug)]
pub struct Client {
    pub root: SessionId,
    /// Messages that came while the extension was still greeting, in order.
    pub deferred: Vec<String>,
}

/// Enters with `ClientOpened`, leaves with `ClientClosed`.
#[derive(Debug, Default)]
pub struct Clients {
    map: BTreeMap<ClientId, Client>,
}

impl Clients {
    pub fn get(&self, id: ClientId) -> Option<&Client> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.map.get_mut(&id)
    }

    pub fn ids(&self) -> Vec<ClientId> {
        self.map.keys().copied().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl Core {
    pub(crate) fn on_client_opened(&mut self, client: ClientId) {
        let root = self.ids.session();
        self.sessions
            .open(root, client, None, crate::sessions::Subject::Browser);
        self.clients.map.insert(
            client,
            Client {
                root,
                deferred: Vec::new(),
            },
        );
    }

    /// Nothing is left of a client that has gone: its sessions, what it waits for, and the debugger of tabs that nobody
    /// else uses.
    pub(crate) fn on_client_closed(&mut self, client: ClientId) {
        if self.clients.map.remove(&client).is_none() {
            return;
        }
        let ended: Vec<_> = self
            .sessions
            .of_client(client)
            .into_iter()
            .filter_map(|id| Some((id, self.sessions.close(id)?)))
            .collect();
        for (id, session) in ended {
            self.release(id, session);
        }
        self.release_client(client);
    }

    /// Hands on what clients said while the extension was greeting, now that it is there or has gone again.
    pub(crate) fn resume_deferred(&mut self) {
        if matches!(self.extension, Extension::Greeting { .. }) {
            return;
        }
        for client in self.clients.ids() {
            let texts = self
                .clients
                .get_mut(client)
                .map(|client| std::mem::take(&mut client.deferred))
                .unwrap_or_default();
            for text in texts {
                self.on_client_text(client, &text);
            }
        }
    }
}
