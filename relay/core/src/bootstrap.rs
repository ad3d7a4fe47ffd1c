//! What Playwright prepares in every page when a function is exposed in one of them: it adds a script for new documents and
//! runs the same script in the present one. For that no tab has to wake.
//!
//! 1. `Runtime.evaluate` makes Playwright's helper object in the page: answered with a handle of the relay's own.
//! 2. `Runtime.callFunctionOn` runs the script through the helper: answered as done. Whatever else the helper is asked, the
//!    exposed function itself among it, wakes the tab.
//! 3. A tab that wakes is prepared before anything else happens in it, and its helper's handle is translated from then on.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::Core;
use crate::cdp::Request;
use crate::contexts::{Context, World};
use crate::ids::{SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::{Continuation, Step};
use crate::translate::{self, text_field};
use crate::wire::Call;

/// In every version of Playwright the code of the helper ends by making one of these.
const HELPER: &str = "UtilityScript";

/// The context in which a command makes the helper.
pub fn helper_in(request: &Request<'_>) -> Option<i64> {
    let makes = request.method == "Runtime.evaluate" && request.params.contains(HELPER);
    if makes {
        translate::field(&request.params, "contextId")?.parse().ok()
    } else {
        None
    }
}

/// One helper of a dormant document. Enters with the first command, and leaves with its document or its session.
#[derive(Debug)]
pub struct Bootstrap {
    session: SessionId,
    /// What the client calls the helper, and what Chrome does.
    handle: String,
    real: Option<String>,
    /// The parameters of the two commands.
    make: Arc<str>,
    run: Option<Arc<str>>,
}

impl Core {
    /// Answers a command to a dormant tab that can be made good when it wakes.
    pub(crate) fn keep_bootstrap(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> Option<Handled> {
        match request.method.as_ref() {
            "Runtime.evaluate" => {
                self.keep_helper(session, tab, helper_in(request)?, &request.params)
            }
            "Runtime.callFunctionOn" => self.keep_run(session, tab, &request.params),
            _ => None,
        }
    }

    fn keep_helper(
        &mut self,
        session: SessionId,
        tab: TabId,
        context: i64,
        params: &str,
    ) -> Option<Handled> {
        let has_scripts = self
            .sessions
            .get(session)?
            .journal
            .own_scripts()
            .next()
            .is_some();
        if !has_scripts || translate::field(params, "returnByValue") == Some("true") {
            return None;
        }
        let known = self.tabs.get_mut(tab)?;
        known
            .contexts
            .iter()
            .find(|known| known.announced == context && known.world == World::Default)?;
        // Handles need differ within a tab only, so that all tabs keep the same texts.
        known.helpers_given += 1;
        let handle = format!("tabwire.helper.{}", known.helpers_given);
        let result = serde_json::json!({ "result": { "type": "object", "className": HELPER, "description": HELPER, "objectId": handle } });
        let make = self.texts.share(params);
        known.bootstraps.push(Bootstrap {
            session,
            handle,
            real: None,
            make,
            run: None,
        });
        Some(Handled::Reply(result.to_string()))
    }

    fn keep_run(&mut self, session: SessionId, tab: TabId, params: &str) -> Option<Handled> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            arguments: Vec<Argument<'a>>,
        }
        #[derive(Deserialize)]
        struct Argument<'a> {
            #[serde(borrow)]
            value: Option<Value<'a>>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value<'a> {
            Text(#[serde(borrow)] Cow<'a, str>),
            Other(serde::de::IgnoredAny),
        }
        let object = text_field(params, "objectId")?;
        let bootstrap = self
            .tabs
            .get_mut(tab)?
            .bootstraps
            .iter_mut()
            .find(|kept| kept.handle == object)?;
        if bootstrap.run.is_some() || bootstrap.session != session {
            return None;
        }
        let sources: Vec<String> = self
            .sessions
            .get(session)?
            .journal
            .own_scripts()
            .filter_map(|script| text_field(&script.params, "source"))
            .collect();
        let called: Params<'_> = serde_json::from_str(params).ok()?;
        let is_script = |argument: &Argument<'_>| matches!(&argument.value, Some(Value::Text(text)) if sources.iter().any(|s| s == text));
        if !called.arguments.iter().any(is_script) {
            return None;
        }
        bootstrap.run = Some(self.texts.share(params));
        Some(Handled::Reply(
            r#"{"result":{"type":"undefined"}}"#.to_owned(),
        ))
    }

    /// Asks Chrome for the helpers of a tab that is waking; says for how many.
    pub(crate) fn make_helpers(&mut self, tab: TabId) -> usize {
        let Some(known) = self.tabs.get(tab) else {
            return 0;
        };
        let wanted: Vec<(String, String)> = known
            .bootstraps
            .iter()
            .map(|kept| {
                (
                    kept.handle.clone(),
                    translate::params_to_real(&known.contexts, "Runtime.evaluate", &kept.make)
                        .into_owned(),
                )
            })
            .collect();
        for (handle, params) in &wanted {
            let call = Call::CdpCommand {
                tab,
                method: "Runtime.evaluate",
                params,
                child: None,
            };
            self.call(
                &call,
                Continuation::Waking {
                    tab,
                    step: Step::Helper {
                        handle: handle.clone(),
                    },
                },
            );
        }
        wanted.len()
    }

    pub(crate) fn on_helper_made(&mut self, tab: TabId, handle: &str, result: &str) {
        let real =
            translate::field(result, "result").and_then(|object| text_field(object, "objectId"));
        let kept = self
            .tabs
            .get_mut(tab)
            .and_then(|tab| tab.bootstraps.iter_mut().find(|kept| kept.handle == handle));
        if let Some(kept) = kept {
            kept.real = real;
        }
    }

    /// Runs what was kept in the present document. Nobody waits for it: the client was answered long ago.
    pub(crate) fn run_bootstraps(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let runs: Vec<Arc<str>> = known
            .bootstraps
            .iter_mut()
            .filter_map(|kept| kept.run.take())
            .collect();
        for run in runs {
            let Some(known) = self.tabs.get(tab) else {
                return;
            };
            let params = handles_to_real(&known.bootstraps, (&*run).into()).into_owned();
            let call = Call::CdpCommand {
                tab,
                method: "Runtime.callFunctionOn",
                params: &params,
                child: None,
            };
            self.call(&call, Continuation::Nothing);
        }
    }

    /// Playwright asks for its helper once in a context, and where that fails never again: so the context ends for it, and
    /// begins anew.
    pub(crate) fn on_helper_failed(&mut self, session: SessionId, context: i64) {
        let tab = self
            .sessions
            .get(session)
            .filter(|view| view.enabled.contains("Runtime"))
            .and_then(|view| view.subject.tab());
        let known = tab
            .and_then(|tab| self.tabs.get(tab))
            .and_then(|tab| tab.contexts.iter().find(|known| known.announced == context));
        let Some(Context {
            announced_unique,
            description,
            ..
        }) = known.cloned()
        else {
            return;
        };
        let ended = serde_json::json!({ "executionContextId": context, "executionContextUniqueId": announced_unique }).to_string();
        self.send_event(session, "Runtime.executionContextDestroyed", &ended);
        self.send_event(
            session,
            "Runtime.executionContextCreated",
            &format!(r#"{{"context":{description}}}"#),
        );
    }

    pub(crate) fn drop_bootstraps_of_ended(&mut self, tab: TabId) {
        let sessions = &self.sessions;
        if let Some(known) = self.tabs.get_mut(tab) {
            known
                .bootstraps
                .retain(|kept| sessions.get(kept.session).is_some());
        }
    }
}

/// A client's parameters with Chrome's names of the helpers in them.
pub fn handles_to_real<'p>(bootstraps: &[Bootstrap], params: Cow<'p, str>) -> Cow<'p, str> {
    bootstraps
        .iter()
        .fold(params, |text, kept| match &kept.real {
            Some(real) => translate::rename(text, &kept.handle, real),
            None => text,
        })
}
