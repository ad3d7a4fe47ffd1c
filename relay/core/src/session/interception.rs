//! Request interception by several sessions, although Chrome has only one set of patterns per
//! target.
//!
//! 1. Each session has its own patterns. Chrome receives all of them together.
//! 2. A paused request is announced to the sessions whose patterns match: they hold it. A request
//!    that nobody holds continues at once.
//! 3. A holder that continues the request unchanged gives up its hold. The first that modifies,
//!    fulfills or fails it decides. Later answers get Chrome's error for a request that is not
//!    paused.
//! 4. When a holder ends, requests that nobody else holds continue.

use crate::Core;
use crate::model::calls::Note;
use crate::model::interception::{Interception, Pause, Stage};
use crate::model::sessions::Session;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Debuggee, SessionId};

impl Core {
    /// Records what a session intercepts. Returns its previous interception.
    pub(crate) fn set_interception(
        &mut self,
        session_id: SessionId,
        request: &Request<'_>,
    ) -> Result<Option<Interception>, CdpError> {
        let wanted =
            Interception::parse(&request.params).map_err(|error| CdpError::InvalidParams {
                method: request.method.to_string(),
                reason: error.to_string(),
            })?;
        let session = self.world.sessions.get_mut(session_id);
        let session = session.ok_or(CdpError::SessionNotFound)?;
        session.enable("Fetch");
        Ok(session.set_interception(Some(wanted)))
    }

    pub(crate) fn clear_interception(&mut self, session_id: SessionId) {
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.disable("Fetch");
            session.set_interception(None);
        }
    }

    /// The parameters of the `Fetch.enable` that covers all sessions of a target.
    pub(crate) fn merged_interception(&self, target: &Target) -> Option<String> {
        let sessions = self.world.sessions.on(target);
        Interception::merge(sessions.filter_map(|(_, session)| session.interception()))
    }

    /// Chrome has continued everything that was paused in a target.
    pub(crate) fn clear_paused(&mut self, debuggee: &Debuggee) {
        if let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id) {
            tab.paused_mut().clear(debuggee.child_id.as_ref());
        }
    }

    /// Chrome has accepted or refused a command of the `Fetch` domain.
    pub(crate) fn on_fetch_reply(
        &mut self,
        session_id: SessionId,
        debuggee: Option<&Debuggee>,
        note: Note,
        is_accepted: bool,
    ) {
        match note {
            Note::Interception { before } if !is_accepted => {
                if let Some(session) = self.world.sessions.get_mut(session_id) {
                    session.set_interception(before);
                }
            }
            Note::PauseAnswer { request_id, number } => {
                let Some(debuggee) = debuggee else { return };
                let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id) else {
                    return;
                };
                let child_id = debuggee.child_id.as_ref();
                if is_accepted {
                    tab.paused_mut().on_accepted(child_id, &request_id, number);
                } else {
                    tab.paused_mut().on_refused(child_id, &request_id, number);
                }
            }
            _ => {}
        }
    }

    /// `Fetch.requestPaused` or `Fetch.authRequired`.
    pub(crate) fn on_request_paused(&mut self, debuggee: &Debuggee, method: &str, params: &str) {
        let target = Target::from(debuggee);
        let Some(pause) = Pause::parse(method, params) else {
            return self.broadcast(&target, method, params);
        };
        let matches = |session: &Session| {
            let interception = session.interception();
            interception.is_some_and(|interception| interception.matches(&pause))
        };
        let sessions = self.world.sessions.on(&target);
        let holding = sessions.filter(|(_, session)| matches(session));
        let mut holders: Vec<SessionId> = holding.map(|(id, _)| id).collect();
        let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id) else {
            return;
        };
        let (paused, child_id) = (tab.paused_mut(), debuggee.child_id.as_ref());
        if pause.stage == Stage::Response {
            let expected = paused.take_expected_response(child_id, &pause.request_id);
            holders.extend(expected.filter(|id| !holders.contains(id)));
        }
        if holders.is_empty() {
            return self.continue_paused(debuggee, &pause.request_id, pause.stage);
        }
        paused.insert(child_id, &pause, holders.clone());
        for holder in holders {
            self.send_event(holder, method, params);
        }
    }

    /// Releases the interception of a session that has ended and is no longer in the sessions.
    pub(crate) fn release_interception(&mut self, ended: &Session) {
        let Some(debuggee) = ended.target().debuggee() else {
            return;
        };
        if ended.interception().is_none() {
            return;
        }
        let sessions = self.world.sessions.on(ended.target());
        let others = sessions.filter_map(|(_, session)| session.interception());
        let before = Interception::merge(others.chain(ended.interception()));
        if self.merged_interception(ended.target()).is_none() {
            // The domain is disabled with its last session, and Chrome continues everything.
            return self.clear_paused(&debuggee);
        }
        let remaining = self.world.sessions.ids_on(ended.target());
        self.narrow_interception(ended.target(), before, |id| !remaining.contains(&id));
    }

    /// Fewer sessions intercept than `before`: Chrome receives the remaining patterns, and requests
    /// that only the others held continue.
    pub(crate) fn narrow_interception(
        &mut self,
        target: &Target,
        before: Option<String>,
        is_gone: impl Fn(SessionId) -> bool,
    ) {
        let Some(debuggee) = target.debuggee() else {
            return;
        };
        let wanted = self.merged_interception(target);
        if wanted != before
            && let Some(params) = wanted
        {
            self.out.command_ignored(&debuggee, "Fetch.enable", &params);
        }
        let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id) else {
            return;
        };
        let child_id = debuggee.child_id.as_ref();
        for (request_id, stage) in tab.paused_mut().remove_holders(child_id, is_gone) {
            self.continue_paused(&debuggee, &request_id, stage);
        }
    }

    /// Continues a paused request unchanged.
    fn continue_paused(&mut self, debuggee: &Debuggee, request_id: &str, stage: Stage) {
        let mut params = serde_json::json!({ "requestId": request_id });
        let method = match stage {
            Stage::Request => "Fetch.continueRequest",
            Stage::Response => "Fetch.continueResponse",
            Stage::Auth => {
                let default = serde_json::json!({ "response": "Default" });
                params = serde_json::json!({
                    "requestId": request_id, "authChallengeResponse": default,
                });
                "Fetch.continueWithAuth"
            }
        };
        self.out
            .command_ignored(debuggee, method, &params.to_string());
    }
}
