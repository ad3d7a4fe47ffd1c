//! How clients prepare pages that are dormant tabs: accepted without waking, carried out when the tab
//! wakes. The steps are described in `model::bootstraps`.

use crate::Core;
use crate::emit::out::Handled;
use crate::emit::page::{CONTEXT_CREATED, CONTEXT_DESTROYED};
use crate::model::bootstraps::{HELPER_CLASS, helper_context, keeper_script};
use crate::model::calls::{Continuation, Step};
use crate::model::context_ids;
use crate::model::contexts::JsWorld;
use crate::protocol::cdp::Request;
use crate::protocol::ids::{Debuggee, SessionId, TabId};
use crate::protocol::{json, playwright, stagehand};

/// The reply to a script that returns nothing.
const NO_RESULT: &str = r#"{"result":{"type":"undefined"}}"#;

impl Core {
    /// Answers a command to a dormant tab if it can be carried out on waking.
    pub(crate) fn accept_bootstrap(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> Option<Handled> {
        match request.method.as_ref() {
            "Runtime.evaluate" => {
                if let Some(source) = keeper_script(&request.params) {
                    return self.accept_keeper(session_id, tab_id, &source, &request.params);
                }
                let context = helper_context(request)?;
                self.accept_helper(session_id, tab_id, context, &request.params)
            }
            "Runtime.callFunctionOn" => self
                .accept_run(session_id, tab_id, &request.params)
                .or_else(|| self.answer_title(session_id, tab_id, &request.params)),
            _ => None,
        }
    }

    fn accept_helper(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        context: i64,
        params: &str,
    ) -> Option<Handled> {
        let journal = self.world.sessions.get(session_id)?.journal();
        let tab = self.world.tabs.get_mut(tab_id)?;
        let is_accepted = match tab.contexts().by_announced(context)?.world {
            JsWorld::Default => {
                journal.has_user_scripts() && !json::is_true(params, "returnByValue")
            }
            JsWorld::Isolated(_) => playwright::creates_helper(params),
        };
        if !is_accepted {
            return None;
        }
        let params = self.world.interner.intern(params);
        let handle = tab.bootstraps_mut().add(session_id, params);
        Some(Handled::json(&serde_json::json!({ "result": {
            "type": "object", "className": HELPER_CLASS, "description": HELPER_CLASS, "objectId": handle,
        } })))
    }

    fn accept_keeper(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        source: &str,
        params: &str,
    ) -> Option<Handled> {
        self.has_added(session_id, source).then_some(())?;
        let params = self.world.interner.intern(params);
        let tab = self.world.tabs.get_mut(tab_id)?;
        let is_kept = tab.bootstraps_mut().add_keeper(session_id, params);
        is_kept.then(|| Handled::Reply(NO_RESULT.to_owned()))
    }

    /// As for a page. Stagehand also runs a script that it has not added.
    pub(crate) fn accept_frame_script(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> Option<Handled> {
        let params = &request.params;
        let is_accepted = request.method == "Runtime.evaluate"
            && (stagehand::prepares_frame(params)
                || keeper_script(params).is_some_and(|source| self.has_added(session_id, &source)));
        is_accepted.then_some(())?;
        let params = self.world.interner.intern(params);
        let bootstraps = self.world.tabs.get_mut(tab_id)?.bootstraps_mut();
        let is_kept = bootstraps.add_frame_script(session_id, params);
        is_kept.then(|| Handled::Reply(NO_RESULT.to_owned()))
    }

    /// Chrome has attached a frame. Runs what its session considers done.
    pub(crate) fn run_frame_scripts(&mut self, session_id: SessionId, child: &Debuggee) {
        let Some(tab) = self.world.tabs.get_mut(child.tab_id) else {
            return;
        };
        for params in tab.bootstraps_mut().take_frame_scripts(session_id) {
            self.out.command_ignored(child, "Runtime.evaluate", &params);
        }
    }

    /// Whether a session has added this script for new documents.
    fn has_added(&self, session_id: SessionId, source: &str) -> bool {
        let session = self.world.sessions.get(session_id);
        session.is_some_and(|session| {
            let mut scripts = session.journal().main_world_scripts();
            scripts.any(|script| script == source)
        })
    }

    fn accept_run(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        params: &str,
    ) -> Option<Handled> {
        let journal = self.world.sessions.get(session_id)?.journal();
        let sources: Vec<String> = journal.user_scripts().collect();
        let bootstraps = self.world.tabs.get_mut(tab_id)?.bootstraps_mut();
        if !bootstraps.can_run(session_id, params, &sources) {
            return None;
        }
        bootstraps.set_run(self.world.interner.intern(params));
        Some(Handled::Reply(NO_RESULT.to_owned()))
    }

    /// The title of a dormant page, if it is certain. `@playwright/mcp` lists tabs with their titles.
    fn answer_title(&self, session_id: SessionId, tab_id: TabId, params: &str) -> Option<Handled> {
        let tab = self.world.tabs.get(tab_id)?;
        let helper = playwright::reads_title(params)?;
        let title = tab.document_title()?;
        tab.bootstraps().contains(session_id, &helper).then(|| {
            Handled::json(&serde_json::json!({ "result": { "type": "string", "value": title } }))
        })
    }

    /// Creates the helpers of a waking tab in Chrome. Returns how many there are.
    pub(crate) fn create_helpers(&mut self, tab_id: TabId) -> usize {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return 0;
        };
        let to_real = |params| {
            context_ids::params_to_real(tab.contexts(), "Runtime.evaluate", params).into_owned()
        };
        let helpers = tab.bootstraps().to_create();
        let helpers: Vec<(String, String)> = helpers
            .map(|(handle, params)| (handle.to_owned(), to_real(params)))
            .collect();
        let count = helpers.len();
        for (handle, params) in helpers {
            let step = Step::Helper { handle };
            let continuation = Continuation::Waking { tab_id, step };
            let page = Debuggee::page(tab_id);
            self.out
                .command(&page, "Runtime.evaluate", &params, continuation);
        }
        count
    }

    /// Runs the scripts that clients consider done in the current document.
    pub(crate) fn run_bootstraps(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let page = Debuggee::page(tab_id);
        for params in tab.bootstraps_mut().take_keepers() {
            self.out.command_ignored(&page, "Runtime.evaluate", &params);
        }
        for run in tab.bootstraps_mut().take_runs() {
            let params = tab.bootstraps().to_real((&*run).into());
            self.out
                .command_ignored(&page, "Runtime.callFunctionOn", &params);
        }
    }

    /// Playwright creates its helper once per context and never retries. So the context is
    /// destroyed and created again for that session.
    pub(crate) fn on_helper_failed(&mut self, session_id: SessionId, context: i64) {
        let session = self.world.sessions.get(session_id);
        let debuggee = session
            .filter(|session| session.has_enabled("Runtime"))
            .and_then(|session| session.target().debuggee());
        let Some(debuggee) = debuggee else {
            return;
        };
        let tab = self.world.tabs.get(debuggee.tab_id);
        let contexts = tab.and_then(|tab| tab.contexts_of(debuggee.child_id.as_ref()));
        let context = contexts.and_then(|contexts| contexts.by_announced(context));
        let Some(context) = context.cloned() else {
            return;
        };
        self.send_event(session_id, CONTEXT_DESTROYED, &context.destroyed_params());
        self.send_event(session_id, CONTEXT_CREATED, &context.created_params());
    }
}
