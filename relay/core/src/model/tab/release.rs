//! Clients that may not use a tab, because the person took it back from them.

use super::Tab;
use crate::protocol::ids::ClientId;

impl Tab {
    /// A tab that this client created is the person's from now on: it is not closed when its creator
    /// leaves.
    pub fn release_from(&mut self, client_id: ClientId, identity: Option<&str>) {
        self.released_from.insert(client_id);
        self.released_from_identities
            .extend(identity.map(str::to_owned));
        if self.was_created_by(client_id) {
            self.created_by = None;
        }
    }

    /// A client that connects again may not use the tab either.
    pub fn recognize(&mut self, client_id: ClientId, identity: &str) {
        if self.released_from_identities.contains(identity) {
            self.released_from.insert(client_id);
        }
    }

    pub fn is_released_from(&self, client_id: ClientId) -> bool {
        self.released_from.contains(&client_id)
    }

    pub fn forget_releases(&mut self) {
        self.released_from.clear();
        self.released_from_identities.clear();
    }
}
