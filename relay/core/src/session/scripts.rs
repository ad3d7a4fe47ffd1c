//! Scripts for new documents. Clients know them by identifiers of the relay, because Chrome counts
//! from one again whenever the debugger is attached, and sessions outlive that.

use serde::Deserialize;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::journal::Script;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId, TabId};
use crate::protocol::json;

pub(super) const ADD_SCRIPT: &str = "Page.addScriptToEvaluateOnNewDocument";
pub(super) const REMOVE_SCRIPT: &str = "Page.removeScriptToEvaluateOnNewDocument";

impl Core {
    /// Journals a script that Chrome has not received yet.
    pub(crate) fn journal_script(
        &mut self,
        session_id: SessionId,
        request: &Request<'_>,
    ) -> Handled {
        let identifier = self.new_script_identifier();
        let script = Script {
            announced: identifier.clone(),
            real: None,
        };
        self.record_script(session_id, &request.params, script);
        script_result(&identifier)
    }

    /// Chrome has added a script of a forwarded command. Returns the result for the client.
    pub(crate) fn on_script_added(
        &mut self,
        session_id: SessionId,
        params: &str,
        result: &str,
    ) -> Option<Handled> {
        let real = json::string_field(result, "identifier")?;
        let is_page = self.world.sessions.get(session_id)?.target().is_page();
        let announced = if is_page {
            self.new_script_identifier()
        } else {
            real.clone()
        };
        let result = script_result(&announced);
        let script = Script {
            announced,
            real: Some(real),
        };
        self.record_script(session_id, params, script);
        Some(result)
    }

    /// Chrome has added a script that was journaled before.
    pub(crate) fn on_journaled_script_added(
        &mut self,
        session_id: SessionId,
        debuggee: &Debuggee,
        announced: &str,
        result: &str,
    ) {
        let Some(real) = json::string_field(result, "identifier") else {
            return;
        };
        let session = self.world.sessions.get_mut(session_id);
        let is_wanted =
            session.is_some_and(|session| session.journal_mut().set_real_script(announced, &real));
        if !is_wanted {
            // It was removed before Chrome's identifier was known.
            let params = serde_json::json!({ "identifier": real }).to_string();
            self.out.command_ignored(debuggee, REMOVE_SCRIPT, &params);
        }
    }

    pub(crate) fn remove_script(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> HandlerResult {
        #[derive(Deserialize)]
        struct Params {
            identifier: String,
        }
        let identifier = request.read_params::<Params>()?.identifier;
        let session = self.world.sessions.get_mut(caller.session_id);
        let session = session.ok_or(CdpError::SessionNotFound)?;
        let script = session.journal_mut().remove_script(&identifier);
        let script = script.ok_or_else(|| CdpError::Refused("Script not found".to_owned()))?;
        let Some(real) = script.real else {
            return Ok(Handled::empty());
        };
        let params = serde_json::json!({ "identifier": real }).to_string();
        let with_real = Request {
            params: params.into(),
            ..request.clone()
        };
        self.forward(caller, &Debuggee::page(tab_id), &with_real)
    }

    fn new_script_identifier(&mut self) -> String {
        format!("tabwire.{}", self.out.ids.call().0)
    }

    fn record_script(&mut self, session_id: SessionId, params: &str, script: Script) {
        let params = self.world.interner.intern(params);
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session
                .journal_mut()
                .record(ADD_SCRIPT, params, Some(script));
        }
    }
}

fn script_result(identifier: &str) -> Handled {
    Handled::json(&serde_json::json!({ "identifier": identifier }))
}
