//! `Fetch.*`: the interception of requests, by many sessions on the one that Chrome gives.
//!
//! 1. Each session has patterns of its own. Chrome is asked for all of them together.
//! 2. A request that Chrome pauses is told to the sessions whose own patterns fit it: they hold it. One that nobody holds goes
//!    on at once.
//! 3. A holder that lets it go on as it is gives up its own say; the first that changes, answers or fails it decides. Who
//!    comes later gets the error that Chrome gives to an answer that comes too late.
//! 4. A holder that ends holds nothing: what nobody else holds goes on.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::Core;
use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ChildId, SessionId, TabId};
use crate::intercept::Handled;
use crate::interception::{Answer, Interception, Pause, Stage};
use crate::pending::{Continuation, Note};
use crate::sessions::{Session, Subject};
use crate::translate::{field, text_field};
use crate::wire::Call;

impl Core {
    /// A command of a session whose tab is live.
    pub(crate) fn intercept_fetch(
        &mut self,
        session: SessionId,
        subject: &Subject,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let (tab, child) = subject.place().ok_or(CdpError::SessionNotFound)?;
        match request.method.as_ref() {
            "Fetch.enable" => {
                let before = self.note_interception(session, request)?;
                let params = self.interception_of(subject).unwrap_or_default();
                let together = Request {
                    params: params.into(),
                    ..request.clone()
                };
                self.forward_noting(
                    session,
                    tab,
                    child,
                    &together,
                    Note::Interception { before },
                );
                Ok(Handled::Later)
            }
            "Fetch.disable" => {
                let before = self.interception_of(subject);
                self.forget_interception(session);
                if self.interception_of(subject).is_none() {
                    self.tabs
                        .get_mut(tab)
                        .into_iter()
                        .for_each(|known| known.paused.clear(child));
                    return self.forward(session, tab, child, request);
                }
                self.narrow_interception(subject, before, |holder| holder == session);
                Ok(Handled::empty())
            }
            "Fetch.continueRequest"
            | "Fetch.continueResponse"
            | "Fetch.continueWithAuth"
            | "Fetch.failRequest"
            | "Fetch.fulfillRequest" => self.answer_paused(session, tab, child, request),
            "Fetch.getResponseBody" | "Fetch.takeResponseBodyAsStream" => {
                let id = text_field(&request.params, "requestId").unwrap_or_default();
                let takes = request.method == "Fetch.takeResponseBodyAsStream";
                let known = self.tabs.get_mut(tab).ok_or(CdpError::TabClosed)?;
                if !known.paused.may_read_body(child, &id, session, takes) {
                    return Err(invalid_id());
                }
                self.forward(session, tab, child, request)
            }
            _ => self.forward(session, tab, child, request),
        }
    }

    /// Keeps what a session wants to intercept; gives what it wanted before.
    pub(crate) fn note_interception(
        &mut self,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Option<Interception>, CdpError> {
        let wanted =
            Interception::read(&request.params).map_err(|error| CdpError::InvalidParams {
                method: request.method.to_string(),
                reason: error.to_string(),
            })?;
        let view = self
            .sessions
            .get_mut(session)
            .ok_or(CdpError::SessionNotFound)?;
        view.enabled.insert("Fetch".to_owned());
        Ok(view.interception.replace(wanted))
    }

    pub(crate) fn forget_interception(&mut self, session: SessionId) {
        if let Some(view) = self.sessions.get_mut(session) {
            view.enabled.remove("Fetch");
            view.interception = None;
        }
    }

    /// The parameters of `Fetch.enable` that ask for what all sessions of a target want.
    pub(crate) fn interception_of(&self, subject: &Subject) -> Option<String> {
        Interception::together(
            self.sessions
                .viewing(subject)
                .filter_map(|(_, view)| view.interception.as_ref()),
        )
    }

    fn answer_paused(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: Option<&ChildId>,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let id = text_field(&request.params, "requestId").unwrap_or_default();
        let known = self.tabs.get_mut(tab).ok_or(CdpError::TabClosed)?;
        match known
            .paused
            .answer(child, &id, session, changes_nothing(request))
        {
            Answer::Decides(number) => {
                if field(&request.params, "interceptResponse") == Some("true") {
                    known.paused.expect_response(child, &id, session);
                }
                self.forward_noting(
                    session,
                    tab,
                    child,
                    request,
                    Note::Answer {
                        request: id,
                        number,
                    },
                );
                Ok(Handled::Later)
            }
            Answer::GivenUp => Ok(Handled::empty()),
            Answer::TooLate => Err(invalid_id()),
        }
    }

    /// Chrome has answered a command of this file.
    pub(crate) fn on_fetch_answered(
        &mut self,
        tab: Option<TabId>,
        child: Option<&ChildId>,
        session: SessionId,
        note: Note,
        succeeded: bool,
    ) {
        match note {
            Note::Interception { before } if !succeeded => {
                if let Some(view) = self.sessions.get_mut(session) {
                    view.interception = before;
                }
            }
            Note::Answer { request, number } => {
                let Some(known) = tab.and_then(|tab| self.tabs.get_mut(tab)) else {
                    return;
                };
                if succeeded {
                    known.paused.taken(child, &request, number);
                } else {
                    known.paused.refused(child, &request, number);
                }
            }
            _ => {}
        }
    }

    /// `Fetch.requestPaused` or `Fetch.authRequired`.
    pub(crate) fn on_request_paused(&mut self, subject: &Subject, method: &str, params: &str) {
        let Some((tab, child)) = subject.place() else {
            return;
        };
        let Some(pause) = Pause::read(method, params) else {
            return self.deliver(subject, method, params);
        };
        let wants = |view: &Session| {
            view.interception
                .as_ref()
                .is_some_and(|wanted| wanted.wants(&pause))
        };
        let mut holders: Vec<SessionId> = self
            .sessions
            .viewing(subject)
            .filter(|(_, view)| wants(view))
            .map(|(id, _)| id)
            .collect();
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        if pause.stage == Stage::Response {
            let expected = known.paused.take_expected(child, &pause.request);
            holders.extend(expected.filter(|session| !holders.contains(session)));
        }
        if holders.is_empty() {
            self.let_go(tab, child, &pause.request, pause.stage);
            return;
        }
        known.paused.enter(child, &pause, holders.clone());
        for holder in holders {
            self.send_event(holder, method, params);
        }
    }

    /// A session has ended; it is out of the book already.
    pub(crate) fn release_interception(&mut self, ended: &Session) {
        let Some((tab, child)) = ended
            .subject
            .place()
            .filter(|_| ended.interception.is_some())
        else {
            return;
        };
        let others = self
            .sessions
            .viewing(&ended.subject)
            .filter_map(|(_, view)| view.interception.as_ref());
        let before = Interception::together(others.chain(&ended.interception));
        if self.interception_of(&ended.subject).is_none() {
            // The domain is switched off with its last session, and Chrome lets everything go.
            self.tabs
                .get_mut(tab)
                .into_iter()
                .for_each(|known| known.paused.clear(child));
            return;
        }
        let there: Vec<SessionId> = self
            .sessions
            .viewing(&ended.subject)
            .map(|(id, _)| id)
            .collect();
        self.narrow_interception(&ended.subject, before, |holder| !there.contains(&holder));
    }

    /// Fewer sessions intercept than `before`: Chrome is asked for what is still wanted, and what the others held goes on.
    fn narrow_interception(
        &mut self,
        subject: &Subject,
        before: Option<String>,
        is_gone: impl Fn(SessionId) -> bool,
    ) {
        let Some((tab, child)) = subject.place() else {
            return;
        };
        let wanted = self.interception_of(subject);
        if let Some(params) = wanted.as_ref().filter(|_| wanted != before) {
            self.call(
                &Call::CdpCommand {
                    tab,
                    method: "Fetch.enable",
                    params,
                    child,
                },
                Continuation::Nothing,
            );
        }
        let orphans = self
            .tabs
            .get_mut(tab)
            .map(|known| known.paused.without(child, is_gone))
            .unwrap_or_default();
        for (request, stage) in orphans {
            self.let_go(tab, child, &request, stage);
        }
    }

    /// Sends a paused request on as it is.
    fn let_go(&mut self, tab: TabId, child: Option<&ChildId>, request: &str, stage: Stage) {
        let (method, params) = match stage {
            Stage::Request => (
                "Fetch.continueRequest",
                serde_json::json!({ "requestId": request }),
            ),
            Stage::Response => (
                "Fetch.continueResponse",
                serde_json::json!({ "requestId": request }),
            ),
            Stage::Auth => (
                "Fetch.continueWithAuth",
                serde_json::json!({ "requestId": request, "authChallengeResponse": { "response": "Default" } }),
            ),
        };
        self.call(
            &Call::CdpCommand {
                tab,
                method,
                params: &params.to_string(),
                child,
            },
            Continuation::Nothing,
        );
    }
}

/// What Chrome says of a request that is not paused, or not for the one who asks.
fn invalid_id() -> CdpError {
    CdpError::Chrome {
        code: -32602,
        message: "Invalid InterceptionId.".to_owned(),
        data: None,
    }
}

/// Whether an answer lets the request go on as if nobody had stopped it.
fn changes_nothing(request: &Request<'_>) -> bool {
    match request.method.as_ref() {
        "Fetch.continueRequest" | "Fetch.continueResponse" => request
            .read_params::<BTreeMap<String, &RawValue>>()
            .is_ok_and(|params| params.keys().all(|key| key == "requestId")),
        "Fetch.continueWithAuth" => {
            field(&request.params, "authChallengeResponse")
                .and_then(|answer| text_field(answer, "response"))
                .as_deref()
                == Some("Default")
        }
        _ => false,
    }
}
