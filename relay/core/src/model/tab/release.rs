//! Clients that may not use a tab, because the person took it back from them.

use std::collections::BTreeSet;

use super::Tab;
use crate::protocol::ids::ClientId;

#[derive(Debug, Default)]
pub struct Releases {
    /// Connected clients. One leaves when it disconnects.
    clients: BTreeSet<ClientId>,
    /// The identities of such clients, by which they are recognized when they connect again.
    identities: BTreeSet<String>,
}

impl Releases {
    pub fn forget_client(&mut self, client_id: ClientId) {
        self.clients.remove(&client_id);
    }

    #[cfg(test)]
    pub fn is_free_of_clients(&self) -> bool {
        self.clients.is_empty()
    }
}

impl Tab {
    /// A tab that this client created is the person's from now on: it is not closed when its creator
    /// leaves.
    pub fn release_from(&mut self, client_id: ClientId, identity: Option<&str>) {
        self.releases.clients.insert(client_id);
        let identity = identity.map(str::to_owned);
        self.releases.identities.extend(identity);
        if self.was_created_by(client_id) {
            self.created_by = None;
        }
    }

    /// A client that connects again may not use the tab either.
    pub fn recognize(&mut self, client_id: ClientId, identity: &str) {
        if self.releases.identities.contains(identity) {
            self.releases.clients.insert(client_id);
        }
    }

    pub fn is_released_from(&self, client_id: ClientId) -> bool {
        self.releases.clients.contains(&client_id)
    }

    pub fn forget_releases(&mut self) {
        self.releases = Releases::default();
    }
}
