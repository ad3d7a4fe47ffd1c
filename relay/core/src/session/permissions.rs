//! Sends the permissions that sites should have to the extension, and takes back those of a client
//! that has left.

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::permissions::Rule;
use crate::protocol::ids::ClientId;
use crate::protocol::wire::Call;

impl Core {
    /// Sends the rules of all clients. The extension replaces those from before.
    pub(crate) fn send_permissions(&mut self, continuation: Continuation) {
        let rules = serde_json::json!(self.world.permissions.effective()).to_string();
        let call = Call::SetPermissions { rules: &rules };
        self.out.call(&call, continuation);
    }

    /// Takes back what a client has set. Without a browser, this happens when it connects again.
    pub(crate) fn forget_permissions(&mut self, client_id: ClientId) {
        if self.world.permissions.forget(client_id) && self.world.link.is_ready() {
            self.send_permissions(Continuation::Ignore);
        }
    }

    /// New rules of a client could not be set.
    pub(crate) fn restore_permissions(&mut self, client_id: ClientId, before: Vec<Rule>) {
        self.world.permissions.forget(client_id);
        self.world.permissions.add(client_id, before);
        if self.world.link.is_ready() {
            self.send_permissions(Continuation::Ignore);
        }
    }
}
