//! Commands to a tab's page. While it is dormant init commands are answered here and journaled, anything else wakes it.

use serde::Deserialize;

use crate::Core;
use crate::cdp::Request;
use crate::contexts::{Created, World};
use crate::error::CdpError;
use crate::ids::{SessionId, TabId};
use crate::intercept::Handled;
use crate::journal::{self, Answer, Init, Replay, Script};
use crate::router::MAX_WAITING_BYTES;
use crate::sessions::Subject;
use crate::switches::LIFECYCLE;
use crate::targets::{Attachment, Waiting};
use crate::wire::LoadStatus;

impl Core {
    /// A command of a session that sees this tab's page.
    pub(crate) fn to_page(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: Request<'_>,
    ) -> Result<Handled, CdpError> {
        let init = self.init_of(session, &request);
        let known = self.tabs.get(tab).ok_or(CdpError::TabClosed)?;
        // Playwright says it again when a frame goes, to learn by the answer whether the frame comes back.
        let is_said_again = request.method == "Page.enable" && self.has_on(session, "Page");
        let set_up = init.filter(|_| !is_said_again && self.answers_set_up(session, tab, &request));
        match known.attachment {
            Attachment::Live => match set_up {
                Some(init) => self.set_up_live(session, tab, &request, init),
                None => self.to_live_page(session, tab, &request),
            },
            Attachment::Waking(_) if is_said_again => Ok(Handled::empty()),
            Attachment::Waking(_) => match set_up {
                Some(init) => self.set_up_waking(session, tab, &request, init),
                None => self.through_tab(session, tab, request),
            },
            Attachment::Dormant => {
                if request.method == "Page.removeScriptToEvaluateOnNewDocument" {
                    return self.remove_script(session, tab, &request);
                }
                match init {
                    Some(init) => self.answer_dormant(session, tab, &request, init),
                    None => match self.keep_bootstrap(session, tab, &request) {
                        Some(kept) => Ok(kept),
                        None => self.through_tab(session, tab, request),
                    },
                }
            }
        }
    }

    /// The init command that this is. Any other ends the set-up of its session.
    fn init_of(&mut self, session: SessionId, request: &Request<'_>) -> Option<&'static Init> {
        let has_required = journal::has_required(&request.method, &request.params);
        let init = journal::find_init(&request.method)
            .filter(|init| has_required && !self.is_wish(session, init));
        if init.is_none()
            && let Some(view) = self.sessions.get_mut(session)
        {
            view.sets_up = false;
        }
        init
    }

    fn has_on(&self, session: SessionId, domain: &str) -> bool {
        self.sessions
            .get(session)
            .is_some_and(|view| view.enabled.contains(domain))
    }

    /// A command on its way to this tab, of any session: at once where it is live, else when it is awake.
    pub(crate) fn through_tab(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: Request<'_>,
    ) -> Result<Handled, CdpError> {
        let known = self.tabs.get(tab).ok_or(CdpError::TabClosed)?;
        let client = self
            .sessions
            .get(session)
            .map(|view| view.client)
            .ok_or(CdpError::SessionNotFound)?;
        // The answer to a dialog cannot wait for the tab that waits for it.
        let is_answer = request.method == "Page.handleJavaScriptDialog" && !known.is_dormant();
        if known.is_live() || is_answer {
            return self.forward(session, tab, None, &request);
        }
        if known.is_dormant() {
            self.wake(tab);
        }
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return Err(CdpError::ExtensionAbsent);
        };
        wake.waiting_bytes += request.params.len();
        if wake.waiting_bytes > MAX_WAITING_BYTES {
            return Err(CdpError::Refused(
                "Too many commands are waiting for the debugger to attach to this tab. Try again in a moment.".to_owned(),
            ));
        }
        wake.waiting.push_back(Waiting {
            client,
            session,
            request: request.into_owned(),
        });
        Ok(Handled::Later)
    }

    /// What only the look of a page depends on is a default while the client's library sets up, and a wish afterwards.
    fn is_wish(&self, session: SessionId, init: &Init) -> bool {
        init.replay == Replay::Default
            && self
                .sessions
                .get(session)
                .is_some_and(|view| view.journal.started)
    }

    pub(crate) fn answer_dormant(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> Result<Handled, CdpError> {
        match request.method.as_ref() {
            "Fetch.enable" => drop(self.note_interception(session, request)?),
            "Fetch.disable" => self.forget_interception(session),
            _ => {}
        }
        let result = match init.answer {
            Answer::FrameTree => {
                let known = self.tabs.get(tab).ok_or(CdpError::TabClosed)?;
                known.frames.tree(&known.frame())
            }
            Answer::ScriptIdentifier => return Ok(self.journal_script(session, request)),
            Answer::IsolatedWorld => self.imagine_world(tab, request)?.0,
            Answer::Empty | Answer::Contexts | Answer::Lifecycle => "{}".to_owned(),
        };
        let Some(view) = self.sessions.get_mut(session) else {
            return Err(CdpError::SessionNotFound);
        };
        if init.replay != Replay::Never {
            view.journal
                .record(&request.method, self.texts.share(&request.params), None);
        }
        match request.method.split_once('.') {
            Some((domain, "enable")) => {
                let is_new = view.enabled.insert(domain.to_owned());
                if is_new && init.answer == Answer::Contexts {
                    self.imagine_contexts(tab, false);
                    self.announce_contexts_to(session);
                }
            }
            Some((domain, "disable")) => {
                view.enabled.remove(domain);
            }
            Some((_, "runIfWaitingForDebugger")) => view.journal.started = true,
            _ => {}
        }
        if init.answer == Answer::Lifecycle {
            self.note_lifecycle_switch(session, &request.params);
            self.imagine_lifecycle(tab, Some(session));
        }
        Ok(Handled::Reply(result))
    }

    pub(crate) fn journal_script(&mut self, session: SessionId, request: &Request<'_>) -> Handled {
        let identifier = format!("tabwire.{}", self.ids.call().0);
        if let Some(view) = self.sessions.get_mut(session) {
            let script = Script {
                announced: identifier.clone(),
                real: None,
            };
            view.journal.record(
                &request.method,
                self.texts.share(&request.params),
                Some(script),
            );
        }
        Handled::Reply(serde_json::json!({ "identifier": identifier }).to_string())
    }

    pub(crate) fn remove_script(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        struct Params {
            identifier: String,
        }
        let identifier = request.read_params::<Params>()?.identifier;
        let view = self
            .sessions
            .get_mut(session)
            .ok_or(CdpError::SessionNotFound)?;
        match view.journal.remove_script(&identifier) {
            None => Err(CdpError::Refused("Script not found".to_owned())),
            Some(Script { real: None, .. }) => Ok(Handled::empty()),
            Some(Script {
                real: Some(real), ..
            }) => {
                let params = serde_json::json!({ "identifier": real }).to_string();
                let named = Request {
                    params: params.into(),
                    ..request.clone()
                };
                self.forward(session, tab, None, &named)
            }
        }
    }

    /// Gives the result of `Page.createIsolatedWorld`, and whether the world is new.
    pub(crate) fn imagine_world(
        &mut self,
        tab: TabId,
        request: &Request<'_>,
    ) -> Result<(String, Created), CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            frame_id: String,
            #[serde(default)]
            world_name: String,
        }
        let params: Params = request.read_params()?;
        let known = self.tabs.get_mut(tab).ok_or(CdpError::TabClosed)?;
        if params.frame_id != known.page.as_str() && !known.frames.contains(&params.frame_id) {
            return Err(CdpError::Refused("No frame for given id found".to_owned()));
        }
        let origin = known.origin();
        let (context, created) = known.contexts.imagine(
            &params.frame_id,
            World::Isolated(params.world_name),
            &origin,
        );
        let (announced, event) = (
            context.announced,
            format!(r#"{{"context":{}}}"#, context.description),
        );
        if created == Created::New {
            self.deliver(
                &Subject::Page(tab),
                "Runtime.executionContextCreated",
                &event,
            );
        }
        Ok((
            serde_json::json!({ "executionContextId": announced }).to_string(),
            created,
        ))
    }

    /// Enters the contexts that a document of this tab would have: the default one, and after a navigation
    /// (`all_worlds`) one for each world a client's scripts run in.
    pub(crate) fn imagine_contexts(&mut self, tab: TabId, all_worlds: bool) {
        let mut worlds = vec![World::Default];
        if all_worlds {
            for (_, view) in self.sessions.viewing(&Subject::Page(tab)) {
                for entry in view
                    .journal
                    .entries()
                    .iter()
                    .filter(|entry| entry.method == "Page.addScriptToEvaluateOnNewDocument")
                {
                    let name = crate::translate::text_field(&entry.params, "worldName");
                    worlds.extend(name.map(World::Isolated));
                }
            }
        }
        if let Some(known) = self.tabs.get_mut(tab) {
            let (frame, origin) = (known.page.clone(), known.origin());
            for world in worlds {
                known.contexts.imagine(frame.as_str(), world, &origin);
            }
        }
    }

    /// Tells of the lifecycle events that fit the tab's load status and were not told yet; all of them to one session
    /// that has just asked for them.
    pub(crate) fn imagine_lifecycle(&mut self, tab: TabId, only: Option<SessionId>) {
        let timestamp = self.now.as_secs_f64();
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let names: &[&str] = match known.status {
            LoadStatus::Complete => &[
                "init",
                "commit",
                "DOMContentLoaded",
                "load",
                "networkAlmostIdle",
                "networkIdle",
            ],
            LoadStatus::Interactive => &["init", "commit", "DOMContentLoaded"],
            LoadStatus::Loading | LoadStatus::Unloaded => &["init", "commit"],
        };
        let mut events = Vec::new();
        for name in names {
            let is_new = known.lifecycle.insert((*name).to_owned());
            if is_new || only.is_some() {
                let params = serde_json::json!({ "frameId": known.page, "loaderId": known.loader, "name": name, "timestamp": timestamp });
                events.push(params.to_string());
            }
        }
        for params in events {
            match only {
                Some(session)
                    if self
                        .sessions
                        .get(session)
                        .is_some_and(|view| view.enabled.contains(LIFECYCLE)) =>
                {
                    self.send_event(session, LIFECYCLE, &params);
                }
                Some(_) => {}
                None => self.deliver(&Subject::Page(tab), LIFECYCLE, &params),
            }
        }
    }
}
