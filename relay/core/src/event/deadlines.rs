//! Calls that are not answered in time.
//!
//! The browser has to attach, create and close within `tab_call_timeout`. A client's command may
//! take as long as the page needs: it can await a promise or a slow load. So shortly before
//! `command_timeout`, the page is probed. If it answers, the command is only slow and gets the same
//! time again. If not, the page is stopped or hung, and the command fails. While a dialog is open,
//! the page waits for a client and not the other way round. While a page navigates, both wait for a
//! server.

use std::collections::BTreeSet;

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::pending_call::PendingCall;
use crate::model::target::Target;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{CallId, Debuggee, TabId};

/// How many command timeouts a command may take while a server does not answer.
const SERVER_PATIENCE: u32 = 10;

impl Core {
    pub(crate) fn check_calls(&mut self) {
        let overdue = self.out.calls.take_overdue(self.out.now);
        if overdue.is_empty() {
            return;
        }
        let waiting_for_server = self.tabs_waiting_for_server(&overdue);
        for (id, call) in overdue {
            if call.is_awaited() && call.is_command() {
                let waits_for_server =
                    waiting_for_server.contains(&call.tab_id()) && self.is_within_patience(&call);
                self.on_overdue_command(id, call, waits_for_server);
            } else {
                self.on_overdue_call(id, call);
            }
            self.process_queues();
        }
    }

    /// Until a slow server answers, Chrome holds back the commands to a page that is about to be
    /// left.
    fn tabs_waiting_for_server(
        &self,
        overdue: &[(CallId, PendingCall)],
    ) -> BTreeSet<Option<TabId>> {
        let calls = self.out.calls.iter();
        let all = calls.chain(overdue.iter().map(|(_, call)| call));
        all.filter(|call| call.leaves_page() && self.may_wait_for_server(call))
            .map(PendingCall::tab_id)
            .collect()
    }

    /// Whether a navigation can take long because of a server. If no session has `Network` enabled,
    /// Chrome does not say.
    fn may_wait_for_server(&self, call: &PendingCall) -> bool {
        let Some(debuggee) = call.debuggee() else {
            return false;
        };
        let child_id = debuggee.child_id.as_ref();
        let Some(tab) = self.world.tabs.get(debuggee.tab_id) else {
            return false;
        };
        if child_id.is_some_and(|id| tab.child(id).is_none()) {
            return false;
        }
        let target = Target::from(debuggee);
        tab.awaits_document(child_id) || !self.world.is_enabled(&target, "Network")
    }

    fn is_within_patience(&self, call: &PendingCall) -> bool {
        self.out.now < call.sent_at() + self.out.command_timeout() * SERVER_PATIENCE
    }

    fn on_overdue_command(&mut self, id: CallId, call: PendingCall, waits_for_server: bool) {
        let Some(debuggee) = call.debuggee().cloned() else {
            return;
        };
        let tab = self.world.tabs.get(debuggee.tab_id);
        let waits_for_dialog = tab.is_some_and(|tab| tab.dialog_is_open());
        if waits_for_dialog || waits_for_server {
            self.extend_deadline(id, call);
        } else if call.is_probed() {
            let seconds = self.out.command_timeout().as_secs();
            let error = CdpError::PageSilent(call.client_method().to_owned(), seconds);
            self.on_failure(call, &error);
        } else {
            self.probe(&debuggee);
            let deadline = self.out.now + self.out.probe_timeout();
            self.out.calls.insert(id, call.probed(deadline));
        }
    }

    /// Gives a command the whole timeout again.
    fn extend_deadline(&mut self, id: CallId, call: PendingCall) {
        let deadline = self.out.command_deadline();
        self.out.calls.insert(id, call.extended(deadline));
    }

    /// Sends a target the smallest possible command, unless a probe is pending.
    fn probe(&mut self, debuggee: &Debuggee) {
        let is_probe = |call: &PendingCall| call.is_probe() && call.is_on(debuggee);
        // The newest first: of many overdue commands, the first one has just sent it.
        if !self.out.calls.iter().rev().any(is_probe) {
            let params = r#"{"expression":"0","silent":true}"#;
            self.out
                .command(debuggee, "Runtime.evaluate", params, Continuation::Probe);
        }
    }

    /// The page responds: its slow commands continue.
    pub(crate) fn on_probe_answered(&mut self, debuggee: &Debuggee) {
        let is_slow = |call: &PendingCall| call.is_probed() && call.is_on(debuggee);
        for (id, call) in self.out.calls.take_where(is_slow) {
            self.extend_deadline(id, call);
        }
    }

    fn on_overdue_call(&mut self, id: CallId, call: PendingCall) {
        if let Some(late) = call.late() {
            self.out.calls.insert(id, late);
        }
        let seconds = self.out.now.saturating_sub(call.sent_at()).as_secs();
        let method = call.method().to_owned();
        let error = if call.is_waking() {
            CdpError::PageSilent(method, seconds)
        } else {
            CdpError::DeadlinePassed(method, seconds)
        };
        self.on_failure(call, &error);
    }
}
