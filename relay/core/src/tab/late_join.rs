//! The init commands of a session that joins a tab others already use.
//!
//! Client libraries send many init commands to each page and wait for the replies. A page that is
//! stopped, or that shows a dialog, must not delay the connection to all the others. So the relay
//! answers them, as for a dormant tab, and sends them to Chrome without anyone waiting:
//!
//! 1. Frames, contexts and lifecycle are known from what other sessions received (`frames`,
//!    `contexts`, `mirror`).
//! 2. Scripts and isolated worlds get ids of the relay, which are paired with Chrome's once it has
//!    created them.
//! 3. A command that names such a world too early waits at a barrier.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::calls::Step;
use crate::model::contexts::Created;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, SessionId, TabId};
use crate::protocol::json;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::init::{Answer, Init, Replay};

/// What to do when Chrome has carried out an init command that was answered with `handled`.
fn step_of(init: &Init, session_id: SessionId, request: &Request<'_>, handled: &Handled) -> Step {
    match (init.answer, handled) {
        (Answer::ScriptIdentifier, Handled::Reply(result)) => Step::Script {
            session_id,
            announced: json::string_field(result, "identifier").unwrap_or_default(),
        },
        (Answer::IsolatedWorld, _) => Step::world(&request.params),
        _ => Step::other(&request.method),
    }
}

impl Core {
    /// An init command to a tab that is waking.
    pub(crate) fn join_waking(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> HandlerResult {
        let handled = self.answer_dormant(session_id, tab_id, request, init)?;
        let tab = self.world.tabs.get(tab_id);
        let is_replayed_later = tab.is_some_and(|tab| !tab.has_replayed());
        if is_replayed_later || init.replay == Replay::Never {
            return Ok(handled);
        }
        let page = Target::Page(tab_id);
        let is_sent = || {
            let mut sessions = self.world.sessions.on(&page);
            sessions.any(|(id, session)| {
                let journal = session.journal();
                id != session_id && journal.contains(&request.method, &request.params)
            })
        };
        let is_needed = init.answer == Answer::ScriptIdentifier || !is_sent();
        if is_needed && !self.world.is_withheld_default(session_id, tab_id, request) {
            let step = step_of(init, session_id, request, &handled);
            self.send_unawaited(session_id, tab_id, request, step);
        }
        Ok(handled)
    }

    /// An init command to a live tab.
    pub(crate) fn join_live(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> HandlerResult {
        let session_id = caller.session_id;
        match init.answer {
            Answer::FrameTree => self.join_frame_tree(session_id, tab_id, request),
            Answer::ScriptIdentifier => {
                let handled = self.journal_script(session_id, request);
                let step = step_of(init, session_id, request, &handled);
                self.send_unawaited(session_id, tab_id, request, step);
                Ok(handled)
            }
            Answer::IsolatedWorld => {
                let (result, created) = self.synthesize_world(tab_id, request)?;
                self.world.record_in_journal(session_id, request);
                if created == Created::New {
                    let step = Step::world(&request.params);
                    self.send_unawaited(session_id, tab_id, request, step);
                }
                Ok(Handled::Reply(result))
            }
            Answer::Empty | Answer::Contexts | Answer::Lifecycle => {
                self.join_switch(caller, tab_id, request, init)
            }
        }
    }

    fn join_frame_tree(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> HandlerResult {
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        let tree = tab.frame_tree();
        let is_current = tab.frames().is_complete()
            && self.world.sessions.is_enabled_elsewhere(session_id, "Page");
        if !is_current {
            self.send_unawaited(session_id, tab_id, request, Step::FrameTree);
        }
        Ok(Handled::Reply(tree))
    }

    fn join_switch(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> HandlerResult {
        let session_id = caller.session_id;
        self.world.record_in_journal(session_id, request);
        let command = Command::classify(&request.method);
        let tab = self.world.tabs.get(tab_id);
        if command == Command::Enable("Inspector") && tab.is_some_and(|tab| tab.is_crashed()) {
            self.send_event(session_id, "Inspector.targetCrashed", "{}");
        }
        let is_withheld = self.world.is_withheld_default(session_id, tab_id, request);
        if init.replay == Replay::Never || is_withheld {
            return Ok(Handled::empty());
        }
        if let Some(result) = self.apply_switch(command, caller, request) {
            return result;
        }
        let step = Step::other(&request.method);
        self.send_unawaited(session_id, tab_id, request, step);
        Ok(Handled::empty())
    }
}
