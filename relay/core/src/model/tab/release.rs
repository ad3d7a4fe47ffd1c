//! Clients that may not use a tab, because the person took it back from them.

use super::Tab;
use crate::protocol::ids::ClientId;

impl Tab {
    pub fn release_from(&mut self, clients: impl IntoIterator<Item = ClientId>) {
        self.released_from.extend(clients);
    }

    pub fn is_released_from(&self, client_id: ClientId) -> bool {
        self.released_from.contains(&client_id)
    }

    pub fn forget_releases(&mut self) {
        self.released_from.clear();
    }
}
