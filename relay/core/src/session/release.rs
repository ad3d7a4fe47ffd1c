//! The end of a session and of a client: what they waited for is answered, what they set is undone,
//! and the debugger is detached from tabs that nobody uses any more.

use std::collections::BTreeSet;

use crate::emit::page::CONTEXT_DESTROYED;
use crate::model::calls::{Continuation, Note, Step};
use crate::model::pending_call::PendingCall;
use crate::model::sessions::Session;
use crate::model::tab::Attachment;
use crate::model::target::Target;
use crate::protocol::cdp;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{CallId, ClientId, SessionId, TabId};
use crate::protocol::wire::Call;
use crate::{CloseReason, Core, OnDisconnect, Output};

impl Core {
    /// Ends a session and its descendants, and notifies their parents.
    pub(crate) fn end_session(&mut self, session_id: SessionId) {
        let top = self.world.sessions.get(session_id);
        if let Some(client_id) = top.filter(|s| s.is_root()).map(Session::client_id) {
            return self.close_with_target(client_id);
        }
        for id in self.world.sessions.with_descendants(session_id) {
            self.announce_detached(id);
            if let Some(ended) = self.world.sessions.close(id) {
                self.release(id, ended);
            }
        }
    }

    /// Disconnects a client whose target is gone, as Chrome does.
    pub(crate) fn close_with_target(&mut self, client_id: ClientId) {
        if !self.world.clients.is_connected(client_id) {
            return;
        }
        let reason = r#"{"reason":"target_closed"}"#;
        let detached = cdp::event(None, "Inspector.detached", reason);
        self.send_to_client(client_id, detached);
        let close = Output::CloseClient(client_id, CloseReason::TargetClosed);
        self.out.push(close);
        self.world.clients.close(client_id);
        self.release_client(client_id);
    }

    /// Ends all sessions of a client and everything it waits for.
    pub(crate) fn release_client(&mut self, client_id: ClientId) {
        let sessions = &mut self.world.sessions;
        let ids = sessions.ids_of_client(client_id).into_iter();
        // All sessions are closed first: none of them counts as another user of a target.
        let ended: Vec<_> = ids
            .filter_map(|id| Some((id, sessions.close(id)?)))
            .collect();
        for (id, session) in ended {
            self.release(id, session);
        }
        let is_of_client = |call: &PendingCall| call.is_awaited_by_client(client_id);
        for (call_id, call) in self.out.calls.take_where(is_of_client) {
            self.abandon_call(call_id, call);
        }
        self.release_downloads(client_id);
        for tab_id in self.world.tabs.ids() {
            if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                tab.remove_user(client_id);
            }
            self.close_or_detach(tab_id);
        }
        self.forget_permissions(client_id);
        self.world.interner.forget_unused();
    }

    /// Nobody waits for this call any more. If it still changes something in Chrome, that is undone
    /// when it succeeds.
    fn abandon_call(&mut self, call_id: CallId, call: PendingCall) {
        let Continuation::Reply { caller, note } = call.continuation() else {
            return;
        };
        let session_id = caller.session_id;
        let Some(tab_id) = call.tab_id() else {
            return;
        };
        let step = match note {
            Note::Script { .. } => Step::Script {
                session_id,
                announced: String::new(),
            },
            Note::Breakpoint => Step::Breakpoint { session_id },
            Note::Frame { .. } => return self.release_children(&Target::Page(tab_id)),
            Note::Leaving => {
                // The tab was about to load another document only for this client. Others that wait
                // for it retry.
                let reason = "the client that navigated it has disconnected".to_owned();
                return self.fail_call(call, &CdpError::Detached(reason));
            }
            _ => return,
        };
        if let Some(unawaited) = call.unawaited(session_id, step) {
            self.out.calls.insert(call_id, unawaited);
        }
    }

    /// Releases a session that is no longer in the sessions. Other sessions of its target may
    /// continue.
    fn release(&mut self, id: SessionId, ended: Session) {
        self.world.downloads.on_session_ended(id);
        self.update_download_watch(Continuation::Ignore);
        let Some(tab_id) = ended.target().tab_id() else {
            return;
        };
        self.fail_orphaned_commands(tab_id);
        let sessions = &self.world.sessions;
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.bootstraps_mut()
                .retain_sessions(|id| sessions.contains(id));
        }
        self.out.calls.forget_unawaited_of(id, tab_id);
        self.detach_if_unused(tab_id);
        self.forget_worlds(ended.target());
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if let Some(wake) = tab.wake_mut() {
            // Chrome may have received its commands already. They are undone when the tab is live.
            wake.add_ended(ended);
        } else if tab.is_live() {
            self.undo(&ended, tab_id);
            self.end_abandoned_placeholder(ended.target());
        }
    }

    /// The isolated worlds of a dormant page or frame that only ended sessions have named are gone. A
    /// library names them anew whenever it connects.
    pub(crate) fn forget_worlds(&mut self, target: &Target) {
        let Some(debuggee) = target.debuggee() else {
            return;
        };
        let sessions = self.world.sessions.on(target);
        let wanted: BTreeSet<String> = sessions.flat_map(|(_, s)| s.journal().worlds()).collect();
        let tab = self.world.tabs.get_mut(debuggee.tab_id);
        let contexts = tab
            .filter(|tab| tab.is_dormant())
            .and_then(|tab| tab.contexts_of_mut(debuggee.child_id.as_ref()));
        let forgotten =
            contexts.map(|contexts| contexts.retain_worlds(|name| wanted.contains(name)));
        for context in forgotten.into_iter().flatten() {
            self.broadcast(target, CONTEXT_DESTROYED, &context.destroyed_params());
        }
    }

    /// Answers the commands whose session ended while they waited for their tab.
    fn fail_orphaned_commands(&mut self, tab_id: TabId) {
        let sessions = &self.world.sessions;
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        for waiting in wake.take_orphans(|id| sessions.contains(id)) {
            self.send_error(waiting.caller, &CdpError::SessionNotFound);
        }
    }

    /// Closes a tab whose client has disconnected, if the relay is configured to. Otherwise
    /// detaches the debugger if nobody uses the tab.
    pub(crate) fn close_or_detach(&mut self, tab_id: TabId) {
        if !self.is_abandoned(tab_id) {
            self.detach_if_unused(tab_id);
        } else if self.world.link.is_ready() {
            // If closing fails, it is a tab like any other.
            if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                tab.set_created_by(None);
            }
            self.out
                .call(&Call::CloseTab { tab: tab_id }, Continuation::Ignore);
        }
    }

    /// Whether a tab has to be closed because the client that created it has disconnected.
    fn is_abandoned(&self, tab_id: TabId) -> bool {
        let tab = self.world.tabs.get(tab_id);
        let creator = tab.and_then(|tab| tab.created_by());
        self.config.on_disconnect == OnDisconnect::CloseCreated
            && creator.is_some_and(|id| !self.world.clients.is_connected(id))
    }

    /// Detaches the debugger from a tab that no client uses, so that the browser's infobar
    /// disappears. Clients that have only initialized it see a dormant tab again.
    pub(crate) fn detach_if_unused(&mut self, tab_id: TabId) {
        let is_used = self.world.is_used(tab_id) || self.out.is_tab_awaited(tab_id);
        // A tab that is about to be closed keeps the debugger. Without it, the page could ask the
        // person to confirm.
        if is_used || self.is_abandoned(tab_id) || !self.world.is_live(tab_id) {
            return;
        }
        self.out.calls.forget_unawaited(tab_id);
        if self.world.sessions.at(Some(tab_id)).next().is_some() {
            self.retract_page(tab_id);
        } else if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.become_dormant();
            tab.reset_lifecycle();
            self.announce_frame_changes(tab_id);
        }
        // An extension that is disconnected or connecting will report the attachment when it lists
        // its tabs.
        if self.world.link.is_ready() {
            self.out.detach(tab_id);
        }
    }

    /// Detaches the debugger from every tab, whoever uses it.
    pub(crate) fn detach_all(&mut self) {
        for tab_id in self.world.tabs.ids() {
            let Some(tab) = self.world.tabs.get_mut(tab_id) else {
                continue;
            };
            if !matches!(tab.attachment(), Attachment::Dormant) {
                tab.become_dormant();
                self.announce_frame_changes(tab_id);
                self.out.calls.forget_unawaited(tab_id);
                self.out.detach(tab_id);
            }
        }
    }
}
