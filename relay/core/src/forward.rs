//! Commands to a live tab, and its events to the sessions that asked for them.

use std::borrow::Cow;

use crate::Core;
use crate::cdp::{self, Request};
use crate::error::CdpError;
use crate::ids::{ChildId, ClientId, SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::{Continuation, Note, REVIVING};
use crate::sessions::Subject;
use crate::switches::gate_of;
use crate::wire::Call;
use crate::{bootstrap, journal, translate};

impl Core {
    /// A command of a session whose tab is live.
    pub(crate) fn to_live_page(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        if self.tabs.get(tab).is_some_and(|known| known.is_crashed)
            && !REVIVING.contains(&request.method.as_ref())
        {
            return Err(CdpError::PageCrashed);
        }
        if self.must_wait_for_turn(session, tab, request) {
            return self.wait_for_turn(session, tab, None, request);
        }
        self.send_to_live_page(session, tab, request)
    }

    /// A command whose turn it is.
    pub(crate) fn send_to_live_page(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        match request.method.as_ref() {
            "Page.addScriptToEvaluateOnNewDocument" => {
                let note = Note::Script {
                    params: request.params.to_string(),
                };
                self.forward_noting(session, tab, None, request, note);
                return Ok(Handled::Later);
            }
            "Page.removeScriptToEvaluateOnNewDocument" => {
                return self.remove_script(session, tab, request);
            }
            "Page.getFrameTree" => {
                self.forward_noting(session, tab, None, request, Note::FrameTree);
                return Ok(Handled::Later);
            }
            "Page.startScreencast" | "Page.stopScreencast" => {
                let starts = request.method == "Page.startScreencast";
                if let Some(handled) = self.switch_screencast(session, tab, starts) {
                    return Ok(handled);
                }
            }
            _ => {}
        }
        self.keep_in_journal(session, request);
        if self.is_default_on_persons_tab(session, tab, request) {
            return Ok(Handled::empty());
        }
        match self.forward_breakpoint(session, tab, None, request) {
            Some(handled) => Ok(handled),
            None => self.forward(session, tab, None, request),
        }
    }

    /// A command of a session that sees a target below a tab.
    pub(crate) fn to_child(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: &ChildId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        match self.place_to_wait(session, request) {
            Some(place) => self.wait_for_turn(session, tab, place, request),
            None => self.send_to_child(session, tab, child, request),
        }
    }

    /// A command whose turn it is.
    pub(crate) fn send_to_child(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: &ChildId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        if request.method == "Page.addScriptToEvaluateOnNewDocument" {
            let note = Note::Script {
                params: request.params.to_string(),
            };
            self.forward_noting(session, tab, Some(child), request, note);
            return Ok(Handled::Later);
        }
        self.keep_in_journal(session, request);
        if self.is_default_on_persons_tab(session, tab, request) {
            return Ok(Handled::empty());
        }
        match self.forward_breakpoint(session, tab, Some(child), request) {
            Some(handled) => Ok(handled),
            None => self.forward(session, tab, Some(child), request),
        }
    }

    pub(crate) fn keep_in_journal(&mut self, session: SessionId, request: &Request<'_>) {
        let Some(view) = self.sessions.get_mut(session) else {
            return;
        };
        if journal::is_kept(&request.method)
            && journal::has_required(&request.method, &request.params)
        {
            view.journal
                .record(&request.method, self.texts.share(&request.params), None);
        }
        view.journal.started |= request.method == "Runtime.runIfWaitingForDebugger";
    }

    /// What a client's library sets in every page and frame as it comes must not show in a tab that the client did not create.
    pub(crate) fn is_default_on_persons_tab(
        &self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> bool {
        let Some(view) = self.sessions.get(session) else {
            return false;
        };
        let is_own = self
            .tabs
            .get(tab)
            .is_some_and(|tab| tab.created_by == Some(view.client));
        let can_be_default = journal::find_init(&request.method)
            .is_some_and(|init| init.replay == journal::Replay::Default);
        can_be_default
            && !view.journal.started
            && !is_own
            && journal::has_required(&request.method, &request.params)
    }

    /// A command to a live tab or a target below it, as it is.
    pub(crate) fn forward(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: Option<&ChildId>,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        if let Some(handled) = self.switch_domain(session, request) {
            return handled;
        }
        let translates = child.is_none() && translate::result_names_context(&request.method);
        let note = if translates {
            Note::TranslateResult {
                helper_in: bootstrap::helper_in(request),
            }
        } else {
            Note::None
        };
        self.forward_noting(session, tab, child, request, note);
        Ok(Handled::Later)
    }

    pub(crate) fn forward_noting(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: Option<&ChildId>,
        request: &Request<'_>,
        note: Note,
    ) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let continuation = Continuation::Reply {
            client: view.client,
            session,
            request: request.id,
            note,
        };
        let mut params = Cow::Borrowed(request.params.as_ref());
        if let Some(known) = self.tabs.get(tab).filter(|_| child.is_none()) {
            if known.contexts.translates() {
                params =
                    translate::params_to_real(&known.contexts, &request.method, &request.params);
            }
            params = known.frame_to_real(bootstrap::handles_to_real(&known.bootstraps, params));
        }
        self.call(
            &Call::CdpCommand {
                tab,
                method: &request.method,
                params: &params,
                child,
            },
            continuation,
        );
    }

    /// Tells a client what Chrome answered to its command, in the ids that the client knows. The session may have ended.
    pub(crate) fn on_command_answered(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: i64,
        tab: Option<TabId>,
        note: Note,
        result: &str,
    ) {
        let mut result = Cow::Borrowed(result);
        if let Some(known) = tab.and_then(|tab| self.tabs.get(tab)) {
            result = known.frame_to_announced(result);
            if matches!(note, Note::TranslateResult { .. }) && known.contexts.translates() {
                result = translate::result_to_announced(&known.contexts, result);
            }
        }
        if let Some(tab) = tab.filter(|_| note == Note::FrameTree) {
            self.learn_frames(tab, &result, Some(session));
        }
        if let Note::Script { params } = note {
            let real = translate::text_field(&result, "identifier");
            if let (Some(real), Some(view)) = (real, self.sessions.get_mut(session)) {
                // Chrome counts anew whenever the debugger is attached anew, and the page's session outlives that.
                let is_page = matches!(view.subject, Subject::Page(_));
                let announced = if is_page {
                    format!("tabwire.{}", self.ids.call().0)
                } else {
                    real.clone()
                };
                result = Cow::Owned(serde_json::json!({ "identifier": announced }).to_string());
                let script = journal::Script {
                    announced,
                    real: Some(real),
                };
                view.journal.record(
                    "Page.addScriptToEvaluateOnNewDocument",
                    self.texts.share(&params),
                    Some(script),
                );
            }
        }
        self.send_reply(client, session, request, &result);
    }

    /// An event of this target, in the ids that clients know.
    pub(crate) fn in_clients_words<'p>(
        &self,
        subject: &Subject,
        method: &str,
        params: &'p str,
    ) -> Cow<'p, str> {
        let Subject::Page(tab) = subject else {
            return Cow::Borrowed(params);
        };
        match self.tabs.get(*tab) {
            Some(tab) if tab.contexts.translates() => {
                translate::event_to_announced(&tab.contexts, method, params)
            }
            _ => Cow::Borrowed(params),
        }
    }

    /// An event to the sessions of its target that asked for it.
    pub(crate) fn deliver(&mut self, subject: &Subject, method: &str, params: &str) {
        let domain = cdp::domain(method);
        let gate = gate_of(method);
        let translated = self.in_clients_words(subject, method, params);
        for (id, view) in self.sessions.viewing(subject) {
            if domain == "Inspector" || view.enabled.contains(gate) {
                let text = cdp::event(view.parent.map(|_| id), method, &translated);
                self.outputs
                    .push_back(crate::Output::ToClient(view.client, text));
            }
        }
    }
}
