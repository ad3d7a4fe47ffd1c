//! Replies and events to clients, and the errors of failed calls.

use std::borrow::Cow;

use super::out::{Handled, HandlerResult};
use crate::model::context_ids;
use crate::model::logged::LogTime;
use crate::model::pending_call::PendingCall;
use crate::model::target::Target;
use crate::protocol::cdp;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, ClientId, SessionId, TabId};
use crate::protocol::methods::domains::{is_ungated, switch_of_event};
use crate::protocol::methods::event::Event;
use crate::{Answered, Core, Output};

impl Core {
    /// Replies with a handler's result, unless the reply follows later.
    pub(crate) fn answer(&mut self, caller: Caller, result: HandlerResult) {
        match result {
            Ok(Handled::Reply(result)) => self.send_reply(caller, &result),
            Ok(Handled::Later) => {}
            Err(error) => self.send_error(caller, &error),
        }
    }

    pub(crate) fn send_reply(&mut self, caller: Caller, result: &str) {
        if self.world.clients.is_connected(caller.client_id) {
            let session = self.announced_session(caller.session_id);
            let text = cdp::reply(caller.request_id, session, result);
            self.send_to_client(caller.client_id, text);
            self.report_answer(caller, session, None);
        }
    }

    pub(crate) fn send_error(&mut self, caller: Caller, error: &CdpError) {
        if self.world.clients.is_connected(caller.client_id) {
            let session = self.announced_session(caller.session_id);
            let name = session.map(|session| session.to_string());
            let text = cdp::error_reply(Some(caller.request_id), name.as_deref(), error);
            self.send_to_client(caller.client_id, text);
            self.report_answer(caller, session, Some(error.code()));
        }
    }

    fn report_answer(&mut self, caller: Caller, session_id: Option<SessionId>, error: Option<i64>) {
        if self.config.reports_answers {
            self.out.push(Output::Answered(Answered {
                client_id: caller.client_id,
                session_id,
                method: caller.method,
                took: self.out.now.saturating_sub(caller.since),
                error,
            }));
        }
    }

    /// The session id in a message to a client; `None` for its root session. A session that has
    /// ended keeps its id, because the client waits for the reply under it. A root session ends
    /// only with its client.
    fn announced_session(&self, id: SessionId) -> Option<SessionId> {
        let session = self.world.sessions.get(id);
        let is_root = session.is_some_and(|session| session.is_root());
        (!is_root).then_some(id)
    }

    pub(crate) fn send_event(&mut self, session_id: SessionId, method: &str, params: &str) {
        if let Some(session) = self.world.sessions.get(session_id) {
            let announced = (!session.is_root()).then_some(session_id);
            let (client_id, text) = (session.client_id(), cdp::event(announced, method, params));
            self.send_to_client(client_id, text);
        }
    }

    pub(crate) fn send_to_client(&mut self, client_id: ClientId, text: String) {
        self.out.push(Output::ToClient(client_id, text));
    }

    /// Sends an event of a target to the sessions that have enabled it.
    pub(crate) fn broadcast(&mut self, target: &Target, method: &str, params: &str) {
        self.broadcast_except(&[], target, method, params);
    }

    /// As `broadcast`, for what a page logs: not again to sessions that have received it before.
    pub(crate) fn broadcast_logged(
        &mut self,
        tab_id: TabId,
        event: Event,
        method: &str,
        params: &str,
    ) {
        let page = Target::Page(tab_id);
        let repeated = LogTime::of(event, params).map(|time| {
            let domain = switch_of_event(method);
            let sessions = &mut self.world.sessions;
            sessions.take_repeated(&page, domain, event, time)
        });
        self.broadcast_except(&repeated.unwrap_or_default(), &page, method, params);
    }

    fn broadcast_except(
        &mut self,
        excepted: &[SessionId],
        target: &Target,
        method: &str,
        params: &str,
    ) {
        let switch = switch_of_event(method);
        let is_ungated = is_ungated(method);
        let params = self.with_client_ids(target, method, params);
        for (id, session) in self.world.sessions.on(target) {
            let is_receiver = is_ungated || session.has_enabled(switch);
            if is_receiver && !excepted.contains(&id) {
                let announced = (!session.is_root()).then_some(id);
                let text = cdp::event(announced, method, &params);
                self.out.push(Output::ToClient(session.client_id(), text));
            }
        }
    }

    /// The parameters of an event of this target, with the ids that clients know.
    pub(crate) fn with_client_ids<'p>(
        &self,
        target: &Target,
        method: &str,
        params: &'p str,
    ) -> Cow<'p, str> {
        let Some(debuggee) = target.debuggee() else {
            return Cow::Borrowed(params);
        };
        let tab = self.world.tabs.get(debuggee.tab_id);
        match tab.and_then(|tab| tab.contexts_of(debuggee.child_id.as_ref())) {
            Some(contexts) if contexts.needs_translation() => {
                context_ids::event_to_announced(contexts, method, params)
            }
            _ => Cow::Borrowed(params),
        }
    }

    pub(crate) fn send_call_error(&mut self, call: &PendingCall, error: &CdpError) {
        let Some(caller) = call.caller() else {
            return;
        };
        // Playwright would hide an error of this command from its user.
        let throws = matches!(error, CdpError::Interrupted(_))
            && call.client_method() == "Runtime.callFunctionOn";
        if throws {
            self.answer(caller, Ok(exception(error)));
        } else {
            self.send_error(caller, error);
        }
    }
}

/// The result of code that cannot be run, or was interrupted.
pub(crate) fn exception(error: &CdpError) -> Handled {
    let exception = serde_json::json!({
        "type": "object", "subtype": "error", "className": "Error",
        "description": format!("Error: {error}"),
    });
    Handled::json(&serde_json::json!({
        "result": exception,
        "exceptionDetails": {
            "exceptionId": 1, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0,
            "exception": exception,
        },
    }))
}
