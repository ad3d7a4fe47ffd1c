//! Calls that have failed: the client's error reply, and what follows for its session. What follows
//! for the tab or the link is queued, because those layers are above this one.

use crate::Core;
use crate::emit::out::FailedCall;
use crate::model::calls::{Continuation, Note};
use crate::model::pending_call::PendingCall;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee};

impl Core {
    pub(crate) fn fail_call(&mut self, call: PendingCall, error: &CdpError) {
        self.send_call_error(&call, error);
        self.on_call_failed(call, error.clone());
    }

    /// What follows from a failed call, besides the client's error reply.
    pub(crate) fn on_call_failed(&mut self, call: PendingCall, error: CdpError) {
        if !call.is_awaited() || call.is_leaving() {
            self.out.queue_failed(FailedCall {
                call,
                error,
                is_answered: true,
            });
        } else if let (Continuation::Reply { caller, note }, debuggee) = call.into_parts() {
            self.on_command_failed(caller, debuggee.as_ref(), note);
        }
    }

    fn on_command_failed(&mut self, caller: Caller, debuggee: Option<&Debuggee>, note: Note) {
        match note {
            Note::TranslateResult {
                helper_context: Some(context),
            } => self.on_helper_failed(caller.session_id, context),
            Note::Barrier(deferred) => {
                let request = self.undefer(caller, deferred);
                self.on_barrier_failed(caller.session_id, &request);
            }
            Note::Join(deferred) => drop(self.undefer(caller, deferred)),
            Note::Permissions { before } => self.restore_permissions(caller.client_id, before),
            Note::WatchDownloads => self.on_watch_failed(caller),
            note => self.on_fetch_reply(caller.session_id, debuggee, note, false),
        }
    }
}
