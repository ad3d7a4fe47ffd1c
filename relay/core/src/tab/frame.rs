//! Commands to a cross-process frame of a dormant tab: init commands are answered and journaled, any
//! other command wakes the tab. `session::dormant_frames` describes what such a frame is.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::emit::page::CONTEXT_CREATED;
use crate::model::child::Child;
use crate::model::contexts::{Context, Created, JsWorld};
use crate::model::frames;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, ChildId, SessionId, TabId};
use crate::protocol::json;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::domains::LIFECYCLE;
use crate::protocol::methods::init::{self, Answer, Init, Replay};

impl Core {
    pub(crate) fn handle_dormant_frame(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        child_id: &ChildId,
        request: Request<'_>,
    ) -> HandlerResult {
        let session = self.world.sessions.get(caller.session_id);
        let has_started = session.is_some_and(|session| session.journal().has_started());
        let emulates_focus = self.world.emulates_focus;
        let init = init::find(&request.method)
            .filter(|init| !init.is_default(emulates_focus) || !has_started)
            .filter(|_| init::has_required_params(&request.method, &request.params));
        match init {
            Some(init) => {
                self.answer_dormant_frame(caller.session_id, tab_id, child_id, &request, init)
            }
            None => match self.accept_frame_script(caller.session_id, tab_id, &request) {
                Some(handled) => Ok(handled),
                None if self.world.is_restricted(tab_id) => {
                    self.refuse_on_restricted(tab_id, &request.method)
                }
                None => self.wait_for_tab(caller, tab_id, request),
            },
        }
    }

    fn answer_dormant_frame(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        child_id: &ChildId,
        request: &Request<'_>,
        init: &Init,
    ) -> HandlerResult {
        self.switch_interception(session_id, request)?;
        let result = match init.answer {
            Answer::FrameTree => {
                let frame = self.describe_dormant_frame(tab_id, child_id);
                let frame = frame.ok_or(CdpError::SessionNotFound)?;
                format!(r#"{{"frameTree":{{"frame":{frame}}}}}"#)
            }
            Answer::ScriptIdentifier => return Ok(self.journal_script(session_id, request)),
            Answer::IsolatedWorld => {
                let name = json::string_field(&request.params, "worldName").unwrap_or_default();
                let world = JsWorld::Isolated(name);
                let context = self.synthesize_in_frame(tab_id, child_id, world)?;
                format!(r#"{{"executionContextId":{}}}"#, context.announced)
            }
            Answer::Empty | Answer::Contexts | Answer::Lifecycle => "{}".to_owned(),
        };
        if init.replay != Replay::Never {
            self.world.record_in_journal(session_id, request);
        }
        self.switch_dormant_frame(session_id, tab_id, child_id, request)?;
        Ok(Handled::Reply(result))
    }

    fn switch_dormant_frame(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        child_id: &ChildId,
        request: &Request<'_>,
    ) -> Result<(), CdpError> {
        let session = self.world.sessions.get_mut(session_id);
        let session = session.ok_or(CdpError::SessionNotFound)?;
        match Command::classify(&request.method) {
            Command::Enable(domain) => {
                let is_new = session.enable(domain);
                if is_new && domain == "Runtime" {
                    self.announce_frame_contexts_to(session_id, tab_id, child_id)?;
                }
            }
            Command::Disable(domain) => session.disable(domain),
            Command::Lifecycle if json::is_true(&request.params, "enabled") => {
                session.enable(LIFECYCLE);
                self.send_frame_lifecycle(session_id, tab_id, child_id);
            }
            Command::Lifecycle => session.disable(LIFECYCLE),
            Command::RunIfWaiting => session.journal_mut().start(),
            _ => {}
        }
        Ok(())
    }

    /// Adds a context of the frame, or finds it, and announces a new one.
    fn synthesize_in_frame(
        &mut self,
        tab_id: TabId,
        child_id: &ChildId,
        world: JsWorld,
    ) -> Result<Context, CdpError> {
        let tab = self.world.tabs.get_mut(tab_id).ok_or(CdpError::TabClosed)?;
        let child = tab.child_mut(child_id).ok_or(CdpError::SessionNotFound)?;
        let url = child.url();
        let frame = child.target_id().clone();
        let contexts = child.contexts_mut();
        let (context, created) = contexts.synthesize(frame.as_str(), world, &frames::origin(&url));
        if created == Created::New {
            let target = Target::Child(tab_id, child_id.clone());
            self.broadcast(&target, CONTEXT_CREATED, &context.created_params());
        }
        Ok(context)
    }

    fn announce_frame_contexts_to(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        child_id: &ChildId,
    ) -> Result<(), CdpError> {
        let tab = self.world.tabs.get(tab_id);
        let known = tab.and_then(|tab| tab.child(child_id)).map(Child::contexts);
        let known: Vec<String> = known
            .into_iter()
            .flat_map(|contexts| contexts.iter().map(Context::created_params))
            .collect();
        for params in known {
            self.send_event(session_id, CONTEXT_CREATED, &params);
        }
        self.synthesize_in_frame(tab_id, child_id, JsWorld::Default)?;
        Ok(())
    }
}
