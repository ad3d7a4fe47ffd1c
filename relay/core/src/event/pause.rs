//! The person stops all clients of this browser, lets them go on, or takes one tab back. The tabs
//! are dormant then. Their sessions stay, and nothing attaches to a tab by itself.

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::pending_call::PendingCall;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{ClientId, TabId};

impl Core {
    pub(crate) fn set_paused(&mut self, is_paused: bool) {
        if is_paused == self.out.is_paused() {
            return;
        }
        tracing::info!(is_paused, "the person stops clients or lets them go on");
        self.out.set_paused(is_paused);
        if is_paused {
            self.stop_clients();
        } else {
            self.world.tabs.forget_releases();
        }
    }

    /// The extension has detached the debugger, or is about to. Whatever clients wait for fails at
    /// once.
    fn stop_clients(&mut self) {
        let interrupted = CdpError::Paused.interrupting();
        for tab_id in self.world.tabs.ids() {
            self.lose_attachment(tab_id, &interrupted, &CdpError::Paused);
            self.process_queues();
            if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                tab.stay_detached();
            }
        }
        let is_stopped = |call: &PendingCall| {
            let attaches = matches!(call.continuation(), Continuation::Attached { .. });
            call.acts() && (attaches || call.caller().is_some())
        };
        for (id, call) in self.out.calls.take_where(is_stopped) {
            // A tab that is attached or created anyway is released again.
            if let Some(late) = call.late() {
                self.out.calls.insert(id, late);
            }
            self.fail_call(call, &interrupted);
            self.process_queues();
        }
    }

    /// The person has taken a tab back. The clients that have a session anywhere in it may not use it
    /// until they connect as new ones.
    pub(crate) fn on_tab_released(&mut self, tab_id: TabId) {
        let lost = CdpError::Released.interrupting();
        self.lose_attachment(tab_id, &lost, &CdpError::Released);
        if self.out.is_paused() {
            return;
        }
        let sessions = self.world.sessions.at(Some(tab_id));
        let clients: Vec<ClientId> = sessions.map(|(_, session)| session.client_id()).collect();
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            for client_id in clients {
                tab.release_from(client_id, self.world.clients.identity(client_id));
            }
        }
    }
}
