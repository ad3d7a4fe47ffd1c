//! Changes the permissions that sites should have, one change at a time, and takes back those of a
//! client that has left.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::calls::{Continuation, Note};
use crate::model::permissions::{Change, ClientRules, MAX_RULES};
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, ClientId};
use crate::protocol::wire::Call;

impl Core {
    /// Changes the rules and answers when Chrome has them. If that fails, the client's rules are as
    /// before.
    pub(crate) fn change_permissions(&mut self, caller: Caller, change: Change) -> HandlerResult {
        let permissions = &mut self.world.permissions;
        if permissions.changing().is_none() {
            return self.start_change(caller, change);
        }
        if permissions.wait(caller, change) {
            Ok(Handled::Later)
        } else {
            Err(CdpError::Refused(
                "Too many changes of permissions are waiting. Try again in a moment.".to_owned(),
            ))
        }
    }

    fn start_change(&mut self, caller: Caller, change: Change) -> HandlerResult {
        let client_id = caller.client_id;
        let permissions = &mut self.world.permissions;
        let (before, effective) = (permissions.of(client_id), permissions.effective());
        if !permissions.apply(client_id, change) {
            permissions.restore(client_id, before);
            return Err(CdpError::Refused(format!(
                "A client can set at most {MAX_RULES} permissions of sites. Send Browser.resetPermissions to start again."
            )));
        }
        if permissions.effective() == effective {
            return Ok(Handled::empty());
        }
        permissions.set_changing(Some(client_id));
        self.send_permissions(reply_to(caller, Note::Permissions { before }));
        Ok(Handled::Later)
    }

    /// A change is done, or has failed. The next one begins.
    pub(crate) fn on_permissions_changed(&mut self) {
        self.world.permissions.set_changing(None);
        while self.world.permissions.changing().is_none()
            && let Some((caller, change)) = self.world.permissions.next_waiting()
        {
            let result = self.start_change(caller, change);
            self.answer(caller, result);
        }
    }

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
        if self.world.permissions.changing() == Some(client_id) {
            // Nobody waits for the reply any more.
            self.on_permissions_changed();
        }
    }

    /// New rules of a client could not be set.
    pub(crate) fn restore_permissions(&mut self, client_id: ClientId, before: ClientRules) {
        self.world.permissions.restore(client_id, before);
        if self.world.link.is_ready() {
            self.send_permissions(Continuation::Ignore);
        }
        self.on_permissions_changed();
    }
}
