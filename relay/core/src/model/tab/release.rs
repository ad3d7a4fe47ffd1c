//! Clients that may not use a tab, because the person took it back from them.

use super::Tab;
use crate::protocol::ids::ClientId;

impl Tab {
    /// A tab that one of them created is the person's from now on: it is not closed when its creator
    /// leaves.
    pub fn release_from(&mut self, clients: impl IntoIterator<Item = ClientId>) {
        self.released_from.extend(clients);
        if self.created_by.is_some_and(|id| self.is_released_from(id)) {
            self.created_by = None;
        }
    }

    pub fn is_released_from(&self, client_id: ClientId) -> bool {
        self.released_from.contains(&client_id)
    }

    pub fn forget_releases(&mut self) {
        self.released_from.clear();
    }
}
