//! Clients that connect and disconnect.

use crate::Core;
use crate::model::target::Target;
use crate::protocol::ids::ClientId;

impl Core {
    pub(crate) fn on_client_opened(&mut self, client_id: ClientId) {
        let root = self.out.ids.session();
        self.world
            .sessions
            .open(root, client_id, None, Target::Browser);
        self.world.clients.open(client_id, root);
    }

    /// Nothing of a client remains: its sessions, what it waits for, and the debugger of tabs that
    /// nobody else uses.
    pub(crate) fn on_client_closed(&mut self, client_id: ClientId) {
        if self.world.clients.close(client_id) {
            self.release_client(client_id);
        }
    }
}
