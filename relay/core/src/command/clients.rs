//! Clients that connect and disconnect.

use crate::model::target::Target;
use crate::protocol::ids::ClientId;
use crate::{Connection, Core};

impl Core {
    pub(crate) fn on_client_opened(
        &mut self,
        client_id: ClientId,
        connection: Connection<'_>,
        program: ClientId,
        group: Option<&str>,
    ) {
        let root = self.out.ids.session();
        let target = match connection {
            Connection::Browser | Connection::Request => Some(Target::Browser),
            Connection::Target(id) => {
                let page = self.world.tabs.find_target(id);
                page.or_else(|| self.connect_to_frame(id))
            }
        };
        let is_request = connection == Connection::Request;
        let clients = &mut self.world.clients;
        clients.open(client_id, root, is_request, program);
        if let Some(name) = group {
            clients.set_group(client_id, name);
        }
        let Some(target) = target else {
            // It was closed after the shell had looked it up.
            return self.close_with_target(client_id);
        };
        let sessions = &mut self.world.sessions;
        sessions.open(root, client_id, None, target.clone());
        if let (Connection::Target(_), Some(session)) = (connection, sessions.get_mut(root)) {
            // The client's user chose this target.
            session.mark_explicitly_attached();
            self.request_frame_of(root, &target);
        }
    }

    /// The person's decisions about a client hold when it connects again.
    pub(crate) fn recognize(&mut self, client_id: ClientId, identity: &str) {
        self.world.clients.set_identity(client_id, identity);
        self.world.tabs.recognize(client_id, identity);
    }

    /// Nothing of a client remains but the person's decisions about it: its sessions, what it waits for, and the debugger of tabs that
    /// nobody else uses.
    pub(crate) fn on_client_closed(&mut self, client_id: ClientId) {
        if self.world.clients.close(client_id) {
            self.release_client(client_id);
        }
    }
}
