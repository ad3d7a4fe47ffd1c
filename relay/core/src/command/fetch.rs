//! `Fetch.*` on a live page or a child. `session::interception` describes how sessions share it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::calls::Note;
use crate::model::paused::Answer;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee};
use crate::protocol::json::{self, string_field};

impl Core {
    pub(crate) fn handle_fetch(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        self.note_use(caller.session_id, debuggee.tab_id, request);
        match request.method.as_ref() {
            "Fetch.enable" => self.enable_fetch(caller, debuggee, request),
            "Fetch.disable" => self.disable_fetch(caller, debuggee, request),
            "Fetch.continueRequest"
            | "Fetch.continueResponse"
            | "Fetch.continueWithAuth"
            | "Fetch.failRequest"
            | "Fetch.fulfillRequest" => self.answer_paused(caller, debuggee, request),
            "Fetch.getResponseBody" => self.read_body(caller, debuggee, request, false),
            "Fetch.takeResponseBodyAsStream" => self.read_body(caller, debuggee, request, true),
            _ => self.forward(caller, debuggee, request),
        }
    }

    fn enable_fetch(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        let before = self.set_interception(caller.session_id, request)?;
        let params = self.merged_interception(&Target::from(debuggee));
        let merged = Request {
            params: params.unwrap_or_default().into(),
            ..request.clone()
        };
        Ok(self.forward_noting(caller, debuggee, &merged, Note::Interception { before }))
    }

    fn disable_fetch(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        let target = Target::from(debuggee);
        let before = self.merged_interception(&target);
        self.clear_interception(caller.session_id);
        if self.merged_interception(&target).is_none() {
            self.clear_paused(debuggee);
            return self.forward(caller, debuggee, request);
        }
        self.narrow_interception(&target, before, |holder| holder == caller.session_id);
        Ok(Handled::empty())
    }

    fn answer_paused(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        let request_id = string_field(&request.params, "requestId").unwrap_or_default();
        let (session_id, child_id) = (caller.session_id, debuggee.child_id.as_ref());
        let tab = self.world.tabs.get_mut(debuggee.tab_id);
        let paused = tab.ok_or(CdpError::TabClosed)?.paused_mut();
        match paused.answer(child_id, &request_id, session_id, changes_nothing(request)) {
            Answer::Decides(number) => {
                if json::is_true(&request.params, "interceptResponse") {
                    paused.expect_response(child_id, &request_id, session_id);
                }
                let note = Note::PauseAnswer { request_id, number };
                Ok(self.forward_noting(caller, debuggee, request, note))
            }
            Answer::Released => Ok(Handled::empty()),
            Answer::TooLate => Err(not_paused()),
        }
    }

    fn read_body(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
        as_stream: bool,
    ) -> HandlerResult {
        let request_id = string_field(&request.params, "requestId").unwrap_or_default();
        let (session_id, child_id) = (caller.session_id, debuggee.child_id.as_ref());
        let tab = self.world.tabs.get_mut(debuggee.tab_id);
        let paused = tab.ok_or(CdpError::TabClosed)?.paused_mut();
        if !paused.may_read_body(child_id, &request_id, session_id, as_stream) {
            return Err(not_paused());
        }
        self.forward(caller, debuggee, request)
    }
}

/// Chrome's error for a request that is not paused, or not for this session.
fn not_paused() -> CdpError {
    CdpError::Chrome {
        code: -32602,
        message: "Invalid InterceptionId.".to_owned(),
        data: None,
    }
}

/// Whether an answer continues the request as if nobody had paused it.
fn changes_nothing(request: &Request<'_>) -> bool {
    match request.method.as_ref() {
        "Fetch.continueRequest" | "Fetch.continueResponse" => request
            .read_params::<BTreeMap<String, &RawValue>>()
            .is_ok_and(|params| params.keys().all(|key| key == "requestId")),
        "Fetch.continueWithAuth" => {
            let answer = json::locate(&request.params, &["authChallengeResponse", "response"]);
            answer == Some("\"Default\"")
        }
        _ => false,
    }
}
