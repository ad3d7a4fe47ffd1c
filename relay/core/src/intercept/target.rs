//! `Target.*`: which targets there are, and sessions on them. Answered here on every session; Chrome is told only what
//! concerns the targets below a page.

use serde::Deserialize;

use crate::Core;
use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ClientId, SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::Continuation;
use crate::sessions::{AutoAttach, Filter, Subject};
use crate::wire::Call;

/// More than a client with two sessions for each of thousands of tabs needs.
const MAX_SESSIONS: usize = 20_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OneTarget {
    target_id: Option<String>,
    flatten: Option<bool>,
}

impl Core {
    pub(crate) fn intercept_target(
        &mut self,
        client: ClientId,
        session: SessionId,
        subject: &Subject,
        request: Request<'_>,
    ) -> Result<Handled, CdpError> {
        match request.method.as_ref() {
            "Target.setDiscoverTargets" => self.set_discover_targets(session, &request),
            "Target.setAutoAttach" => self.set_auto_attach(session, subject, request),
            "Target.getTargets" => self.get_targets(&request),
            "Target.getTargetInfo" => self.get_target_info(subject, &request),
            "Target.attachToTarget" => self.attach_to_target(client, session, &request),
            "Target.attachToBrowserTarget" => {
                let opened = self.open_asked_session(client, session, Subject::Browser)?;
                Ok(Handled::Reply(
                    serde_json::json!({ "sessionId": opened }).to_string(),
                ))
            }
            "Target.detachFromTarget" => self.detach_from_target(client, session, &request),
            "Target.createTarget" => self.create_target(client, session, &request),
            "Target.closeTarget" => self.close_target(client, session, &request),
            "Target.activateTarget" => {
                let tab = self.named_tab(&request)?;
                let note = crate::pending::Note::None;
                self.call(
                    &Call::ActivateTab { tab },
                    Continuation::Reply {
                        client,
                        session,
                        request: request.id,
                        note,
                    },
                );
                Ok(Handled::Later)
            }
            "Target.getBrowserContexts" => {
                let contexts = serde_json::json!({ "browserContextIds": [], "defaultBrowserContextId": self.context });
                Ok(Handled::Reply(contexts.to_string()))
            }
            "Target.createBrowserContext" | "Target.disposeBrowserContext" => {
                Err(CdpError::Refused(format!(
                    "{}: this is the person's own profile, which cannot be divided into contexts; use the default one (Playwright: browser.contexts()[0])",
                    request.method
                )))
            }
            other => Err(CdpError::MethodNotFound(other.to_owned())),
        }
    }

    fn set_discover_targets(
        &mut self,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        struct Params {
            discover: bool,
            filter: Option<Filter>,
        }
        let params: Params = request.read_params()?;
        let filter = params.discover.then(|| params.filter.unwrap_or_default());
        if let Some(view) = self.sessions.get_mut(session) {
            view.discovers = filter;
        }
        if params.discover {
            for tab in self.tabs.ids() {
                self.announce_created_to(session, tab);
            }
        }
        Ok(Handled::empty())
    }

    fn set_auto_attach(
        &mut self,
        session: SessionId,
        subject: &Subject,
        request: Request<'_>,
    ) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            auto_attach: bool,
            #[serde(default)]
            wait_for_debugger_on_start: bool,
            flatten: Option<bool>,
            filter: Option<Filter>,
        }
        let params: Params = request.read_params()?;
        if params.auto_attach && params.flatten != Some(true) {
            return Err(CdpError::Refused(
                "Target.setAutoAttach: only flat sessions are served; pass flatten: true"
                    .to_owned(),
            ));
        }
        let wanted = AutoAttach {
            filter: params.filter.unwrap_or_default(),
            stops: params.wait_for_debugger_on_start,
        };
        if let Some(view) = self.sessions.get_mut(session) {
            view.auto_attach = params.auto_attach.then_some(wanted);
        }
        match subject {
            Subject::Browser => {
                for tab in self.tabs.ids() {
                    self.auto_attach_tab(session, tab);
                }
                Ok(Handled::empty())
            }
            Subject::Tab(tab) => {
                self.auto_attach_tab(session, *tab);
                Ok(Handled::empty())
            }
            Subject::Page(_) | Subject::Child(..) => {
                self.ask_for_children(session, subject, &request)
            }
        }
    }

    fn get_targets(&self, request: &Request<'_>) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        struct Params {
            filter: Option<Filter>,
        }
        let filter = request.read_params::<Params>()?.filter.unwrap_or_default();
        let mut infos = Vec::new();
        for tab in self.tabs.iter() {
            if filter.wants("tab") {
                infos.push(self.tab_target_info(tab));
            }
            if filter.wants("page") {
                infos.push(self.page_target_info(tab));
            }
        }
        Ok(Handled::Reply(
            serde_json::json!({ "targetInfos": infos }).to_string(),
        ))
    }

    fn get_target_info(
        &self,
        subject: &Subject,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let params: OneTarget = request.read_params()?;
        let info = match (params.target_id, subject) {
            (Some(id), _) => self
                .target_info_by_id(&id)
                .ok_or(CdpError::TargetNotFound(id))?,
            (None, Subject::Browser) => self.browser_target_info(),
            (None, subject) => self
                .subject_info(subject)
                .ok_or(CdpError::SessionNotFound)?,
        };
        Ok(Handled::Reply(format!("{{\"targetInfo\":{info}}}")))
    }

    fn attach_to_target(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let params: OneTarget = request.read_params()?;
        if params.flatten != Some(true) {
            return Err(CdpError::Refused(
                "Target.attachToTarget: only flat sessions are served; pass flatten: true"
                    .to_owned(),
            ));
        }
        let id = params.target_id.unwrap_or_default();
        let subject = self
            .subject_by_id(client, &id)
            .ok_or(CdpError::TargetNotFound(id))?;
        let opened = self.open_asked_session(client, session, subject)?;
        self.announce_attached(opened, false);
        Ok(Handled::Reply(
            serde_json::json!({ "sessionId": opened }).to_string(),
        ))
    }

    /// A session that the client itself asked for: what it says is a wish from the first word, never a library's default.
    fn open_asked_session(
        &mut self,
        client: ClientId,
        parent: SessionId,
        subject: Subject,
    ) -> Result<SessionId, CdpError> {
        if self.sessions.count_of(client) >= MAX_SESSIONS {
            return Err(CdpError::Refused(format!(
                "this client has {MAX_SESSIONS} sessions already; detach those it no longer uses"
            )));
        }
        let opened = self.open_session(parent, subject);
        if let Some(view) = self.sessions.get_mut(opened) {
            view.journal.started = true;
            view.is_asked = true;
            view.sets_up = false;
        }
        Ok(opened)
    }

    fn detach_from_target(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            session_id: Option<String>,
        }
        let named = request.read_params::<Params>()?.session_id;
        let ended = match named.as_deref() {
            // Puppeteer and Playwright name the session; a session may also detach itself.
            None => Some(session),
            Some(name) => SessionId::parse(name),
        };
        let ended = ended.filter(|id| {
            self.sessions
                .get(*id)
                .is_some_and(|s| s.client == client && s.parent.is_some())
        });
        let ended = ended.ok_or(CdpError::SessionNotFound)?;
        if ended == session {
            // The reply goes out under the session's name, so before it ends.
            self.send_reply(client, session, request.id, "{}");
            self.end_session(ended);
            return Ok(Handled::Later);
        }
        self.end_session(ended);
        Ok(Handled::empty())
    }

    fn create_target(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            url: String,
            #[serde(default)]
            new_window: bool,
            background: Option<bool>,
            browser_context_id: Option<String>,
        }
        let params: Params = request.read_params()?;
        if let Some(id) = params
            .browser_context_id
            .filter(|id| id != self.context.as_str())
        {
            return Err(CdpError::Refused(format!(
                "Target.createTarget: no browser context with id {id}"
            )));
        }
        let url = if params.url.is_empty() {
            "about:blank"
        } else {
            &params.url
        };
        // Nothing changes in front of the person unless the client says `background: false` itself.
        let active = params.background == Some(false);
        let call = Call::CreateTab {
            url,
            new_window: params.new_window,
            active,
        };
        self.call(
            &call,
            Continuation::Created {
                client,
                session,
                request: request.id,
            },
        );
        Ok(Handled::Later)
    }

    fn close_target(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let tab = self.named_tab(request)?;
        self.call(
            &Call::CloseTab { tab },
            Continuation::Closed {
                client,
                session,
                request: request.id,
                tab,
            },
        );
        Ok(Handled::Later)
    }

    fn named_tab(&self, request: &Request<'_>) -> Result<TabId, CdpError> {
        let id = request
            .read_params::<OneTarget>()?
            .target_id
            .unwrap_or_default();
        self.tabs
            .by_target(&id)
            .map(|tab| tab.id)
            .ok_or(CdpError::TargetNotFound(id))
    }
}
