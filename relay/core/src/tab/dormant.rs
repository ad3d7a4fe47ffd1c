//! Init commands to a dormant tab: answered by the relay and journaled. Any other command waits
//! until the tab is awake.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::wake::Waiting;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId, TabId};
use crate::protocol::json;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::domains::LIFECYCLE;
use crate::protocol::methods::init::{Answer, Init, Replay};

impl Core {
    pub(crate) fn answer_dormant(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> HandlerResult {
        self.switch_interception(session_id, request)?;
        let result = match init.answer {
            Answer::FrameTree => {
                let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
                tab.frame_tree()
            }
            Answer::ScriptIdentifier => return Ok(self.journal_script(session_id, request)),
            Answer::IsolatedWorld => self.synthesize_world(tab_id, request)?.0,
            Answer::Empty | Answer::Contexts | Answer::Lifecycle => "{}".to_owned(),
        };
        let session = self.world.sessions.get_mut(session_id);
        let session = session.ok_or(CdpError::SessionNotFound)?;
        if init.replay != Replay::Never {
            let params = self.world.interner.intern(&request.params);
            session.journal_mut().record(&request.method, params, None);
        }
        self.switch_dormant(session_id, tab_id, request, init);
        Ok(Handled::Reply(result))
    }

    /// Notes which requests a session of a dormant page or frame wants to be paused on waking.
    pub(crate) fn switch_interception(
        &mut self,
        session_id: SessionId,
        request: &Request<'_>,
    ) -> Result<(), CdpError> {
        match Command::classify(&request.method) {
            Command::Enable("Fetch") => drop(self.set_interception(session_id, request)?),
            Command::Disable("Fetch") => self.clear_interception(session_id),
            _ => {}
        }
        Ok(())
    }

    /// Applies the switch of an init command, and sends the events that follow from it.
    fn switch_dormant(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
        init: &Init,
    ) {
        let Some(session) = self.world.sessions.get_mut(session_id) else {
            return;
        };
        match Command::classify(&request.method) {
            Command::Enable(domain) => {
                let is_new = session.enable(domain);
                if is_new && init.answer == Answer::Contexts {
                    self.synthesize_contexts(tab_id, false);
                    self.announce_contexts_to(session_id);
                }
            }
            Command::Disable(domain) => session.disable(domain),
            Command::Lifecycle => {
                let turns_on = json::is_true(&request.params, "enabled");
                session.set_enabled(LIFECYCLE, turns_on);
                self.synthesize_lifecycle(tab_id, Some(session_id));
            }
            Command::RunIfWaiting => session.journal_mut().start(),
            _ => {}
        }
    }

    /// A command that needs the debugger: forwarded if the tab is live, otherwise queued until it
    /// is awake.
    pub(crate) fn forward_or_wake(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: Request<'_>,
    ) -> HandlerResult {
        if !self.world.sessions.contains(caller.session_id) {
            return Err(CdpError::SessionNotFound);
        }
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        // The reply to a dialog must not wait for the tab that is blocked by it.
        let is_dialog_reply = Command::classify(&request.method) == Command::HandleDialog;
        if tab.is_live() || is_dialog_reply && !tab.is_dormant() {
            self.note_use(caller.session_id, tab_id, &request);
            return self.forward(caller, &Debuggee::page(tab_id), &request);
        }
        if tab.is_dormant() && tab.is_restricted() {
            return self.handle_restricted(caller, tab_id, &request);
        }
        self.wait_for_tab(caller, tab_id, request)
    }

    /// Queues a command until the tab is awake.
    pub(crate) fn wait_for_tab(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: Request<'_>,
    ) -> HandlerResult {
        if let Some(error) = self.find_refusal(caller, tab_id) {
            self.refuse(caller, &request, error);
            return Ok(Handled::Later);
        }
        self.note_use(caller.session_id, tab_id, &request);
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        if tab.is_dormant() {
            self.wake(tab_id);
        }
        self.queue_until_awake(caller, tab_id, request)
    }

    /// Queues a command of a tab that is waking.
    pub(crate) fn queue_until_awake(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: Request<'_>,
    ) -> HandlerResult {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return Err(CdpError::ExtensionAbsent);
        };
        let waiting = Waiting {
            caller,
            request: request.into_owned(),
        };
        if wake.queue(waiting) {
            Ok(Handled::Later)
        } else {
            Err(CdpError::Refused(
                "Too many commands are waiting for the debugger to attach to this tab. Try again in a moment.".to_owned(),
            ))
        }
    }
}
