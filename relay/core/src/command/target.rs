//! `Target.*`: discovering targets, and opening and closing sessions and tabs. Answered here for
//! every session; Chrome receives only what concerns the children of a page.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::browser::{Bounds, unknown_window_state};
use crate::Core;
use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::calls::{Continuation, Note};
use crate::model::target::{AutoAttach, Filter, Target};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, SessionId, TabId};
use crate::protocol::methods::refused;
use crate::protocol::wire::Call;

/// Enough for two sessions in each of thousands of tabs.
const MAX_SESSIONS: usize = 20_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OneTarget {
    target_id: Option<String>,
    flatten: Option<bool>,
}

impl Core {
    pub(crate) fn handle_target(
        &mut self,
        caller: Caller,
        target: &Target,
        request: &Request<'_>,
    ) -> HandlerResult {
        match request.method.as_ref() {
            "Target.setDiscoverTargets" => self.set_discover_targets(caller.session_id, request),
            "Target.setAutoAttach" => self.set_auto_attach(caller, target, request),
            "Target.getTargets" => self.get_targets(request),
            "Target.getTargetInfo" => self.get_target_info(target, request),
            "Target.attachToTarget" => self.attach_to_target(caller, request),
            "Target.attachToBrowserTarget" => self.attach_and_announce(caller, Target::Browser),
            "Target.detachFromTarget" => self.detach_from_target(caller, request),
            "Target.createTarget" => self.create_target(caller, request),
            "Target.closeTarget" => self.close_target(caller, request),
            "Target.activateTarget" => {
                let tab = self.find_tab(caller, request, true)?;
                let continuation = reply_to(caller, Note::None);
                self.out.call(&Call::ActivateTab { tab }, continuation);
                Ok(Handled::Later)
            }
            "Target.getBrowserContexts" => Ok(Handled::json(&serde_json::json!({
                "browserContextIds": [], "defaultBrowserContextId": self.world.browser_context,
            }))),
            "Target.createBrowserContext" | "Target.disposeBrowserContext" => {
                Err(CdpError::Refused(format!(
                    "{}: Chrome does not let extensions divide the user's profile, so it is the only context. Use it (Playwright: browser.contexts()[0]), or a browser that was started with `tabwire launch --direct`.",
                    request.method
                )))
            }
            "Target.autoAttachRelated" => Err(CdpError::Refused(format!(
                "{}: the relay does not relate targets to each other. Use Target.setAutoAttach or Target.attachToTarget.",
                request.method
            ))),
            "Target.sendMessageToTarget" => Err(CdpError::Refused(format!(
                "{}: only flat sessions are supported. Send the message itself, with its sessionId.",
                request.method
            ))),
            other => Err(refused::error(other)),
        }
    }

    fn set_discover_targets(
        &mut self,
        session_id: SessionId,
        request: &Request<'_>,
    ) -> HandlerResult {
        #[derive(Deserialize)]
        struct Params {
            discover: bool,
            filter: Option<Filter>,
        }
        let params: Params = request.read_params()?;
        let filter = params.discover.then(|| params.filter.unwrap_or_default());
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.set_discovers(filter);
        }
        if params.discover {
            self.announce_browser_to(session_id);
            for tab_id in self.world.tabs.ids() {
                self.announce_created_to(session_id, tab_id);
            }
        }
        Ok(Handled::empty())
    }

    fn set_auto_attach(
        &mut self,
        caller: Caller,
        target: &Target,
        request: &Request<'_>,
    ) -> HandlerResult {
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
            return Err(needs_flatten(request));
        }
        let wanted = AutoAttach {
            filter: params.filter.unwrap_or_default(),
            pauses: params.wait_for_debugger_on_start,
        };
        if let Some(session) = self.world.sessions.get_mut(caller.session_id) {
            session.set_auto_attach(params.auto_attach.then_some(wanted));
        }
        match target {
            Target::Browser => {
                for tab_id in self.world.tabs.ids() {
                    self.auto_attach_tab(caller.session_id, tab_id);
                }
                Ok(Handled::empty())
            }
            Target::Tab(tab_id) => {
                self.auto_attach_tab(caller.session_id, *tab_id);
                Ok(Handled::empty())
            }
            Target::Page(_) | Target::Child(..) => self.request_children(caller, target, request),
        }
    }

    fn get_targets(&self, request: &Request<'_>) -> HandlerResult {
        #[derive(Deserialize)]
        struct Params {
            filter: Option<Filter>,
        }
        let filter = request.read_params::<Params>()?.filter.unwrap_or_default();
        let infos = self.all_target_infos(&filter);
        Ok(Handled::json(&serde_json::json!({ "targetInfos": infos })))
    }

    fn get_target_info(&self, target: &Target, request: &Request<'_>) -> HandlerResult {
        let params: OneTarget = request.read_params()?;
        let info = match params.target_id {
            Some(id) => {
                let frame = self.find_frame(&id);
                let info = frame.map(|(tab, frame)| self.frame_target_info(tab, &frame));
                let named = || self.target_info(&self.find_target(&id)?);
                info.or_else(named).ok_or(CdpError::TargetNotFound(id))?
            }
            None => self.target_info(target).ok_or(CdpError::SessionNotFound)?,
        };
        Ok(Handled::Reply(format!("{{\"targetInfo\":{info}}}")))
    }

    fn attach_to_target(&mut self, caller: Caller, request: &Request<'_>) -> HandlerResult {
        let params: OneTarget = request.read_params()?;
        if params.flatten != Some(true) {
            return Err(needs_flatten(request));
        }
        let id = params.target_id.unwrap_or_default();
        if self.find_frame(&id).is_some() {
            return self.attach_to_frame(caller, request, id);
        }
        let target = self.find_attachable(caller.client_id, &id);
        let target = target.ok_or(CdpError::TargetNotFound(id))?;
        self.attach_and_announce(caller, target)
    }

    pub(super) fn attach_and_announce(&mut self, caller: Caller, target: Target) -> HandlerResult {
        let opened = self.attach_explicitly(caller, target)?;
        self.announce_attached(opened, false);
        Ok(session_result(opened))
    }

    fn attach_explicitly(&mut self, caller: Caller, target: Target) -> Result<SessionId, CdpError> {
        if self.world.sessions.count_of_client(caller.client_id) >= MAX_SESSIONS {
            return Err(CdpError::Refused(format!(
                "This client already has {MAX_SESSIONS} sessions. Detach the ones it no longer uses."
            )));
        }
        let opened = self.open_session(caller.session_id, target);
        if let Some(session) = self.world.sessions.get_mut(opened) {
            session.mark_explicitly_attached();
        }
        Ok(opened)
    }

    fn detach_from_target(&mut self, caller: Caller, request: &Request<'_>) -> HandlerResult {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            session_id: Option<String>,
        }
        let named = request.read_params::<Params>()?.session_id;
        let ended = match named.as_deref() {
            // Puppeteer and Playwright name the session; a session can also detach itself.
            None => Some(caller.session_id),
            Some(name) => SessionId::parse(name),
        };
        let is_own = |id: &SessionId| {
            let session = self.world.sessions.get(*id);
            session.is_some_and(|s| s.client_id() == caller.client_id && !s.is_root())
        };
        let ended = ended.filter(is_own).ok_or(CdpError::SessionNotFound)?;
        if ended == caller.session_id {
            // Clients expect the reply before the session ends.
            self.send_reply(caller, "{}");
            self.end_session(ended);
            return Ok(Handled::Later);
        }
        self.end_session(ended);
        Ok(Handled::empty())
    }

    fn create_target(&mut self, caller: Caller, request: &Request<'_>) -> HandlerResult {
        let params: NewTarget = request.read_params()?;
        params.check(&request.method)?;
        let own = self.world.browser_context.as_str();
        if let Some(id) = params.browser_context_id.as_ref().filter(|id| *id != own) {
            // Chrome words it differently for other commands.
            return Err(CdpError::Refused(format!(
                "Failed to find browser context with id {id}"
            )));
        }
        let url = match params.url.as_str() {
            "" => "about:blank",
            url => url,
        };
        let window = params.window_options();
        let call = Call::CreateTab {
            url,
            new_window: params.new_window,
            // The person's view changes only if the client explicitly asks for it.
            active: params.background == Some(false) || params.focus == Some(true),
            attach: self.world.clients.owns_tabs(caller.client_id),
            window: window.as_deref(),
            group: self.world.clients.group(caller.client_id),
        };
        self.out.call(&call, Continuation::Created { caller });
        Ok(Handled::Later)
    }

    fn close_target(&mut self, caller: Caller, request: &Request<'_>) -> HandlerResult {
        let tab_id = self.find_tab(caller, request, false)?;
        self.close_tab(caller, tab_id);
        Ok(Handled::Later)
    }

    /// The tab of the target that a command names, unless the person does not allow its use.
    fn find_tab(
        &self,
        caller: Caller,
        request: &Request<'_>,
        allows_frame: bool,
    ) -> Result<TabId, CdpError> {
        let tab_id = self.find_named_tab(request, allows_frame)?;
        match self.find_refusal(caller, tab_id) {
            Some(error) => Err(error),
            None => Ok(tab_id),
        }
    }

    /// The tab of the page or `tab` target that a command names, or of a frame if it applies to the
    /// tab as a whole.
    fn find_named_tab(&self, request: &Request<'_>, allows_frame: bool) -> Result<TabId, CdpError> {
        let params: OneTarget = request.read_params()?;
        let id = params.target_id.unwrap_or_default();
        let target = self.world.tabs.find_target(&id);
        if let Some(tab_id) = target.and_then(|target| target.tab_id()) {
            return Ok(tab_id);
        }
        match self.find_frame(&id) {
            Some((tab, _)) if allows_frame => Ok(tab.id()),
            // Chrome closes the whole tab.
            Some((tab, _)) => Err(CdpError::Refused(format!(
                "{}: {id} is a frame, and closing it would close the whole tab. Close the page {}, or remove the frame with a script.",
                request.method,
                tab.page_id()
            ))),
            None => Err(CdpError::TargetNotFound(id)),
        }
    }
}

/// The parameters of `Target.createTarget`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewTarget {
    url: String,
    #[serde(default)]
    new_window: bool,
    background: Option<bool>,
    focus: Option<bool>,
    #[serde(default)]
    hidden: bool,
    browser_context_id: Option<String>,
    #[serde(flatten)]
    bounds: Bounds,
}

impl NewTarget {
    /// Rejects what Chrome rejects, in its own words, and what an extension cannot do.
    fn check(&self, method: &str) -> Result<(), CdpError> {
        let rejected = |reason: &str| Err(CdpError::rejected(reason));
        if self.hidden {
            return Err(CdpError::Refused(format!(
                "{method}: an extension cannot create hidden targets. Leave out `hidden`: new tabs open in the background."
            )));
        }
        if self.background == Some(true) && self.focus == Some(true) {
            return rejected(
                "Can't focus a target in the background. Use background=false instead.",
            );
        }
        if !self.new_window && self.bounds.has_place() {
            return rejected("Target position can only be set for new windows");
        }
        match self.bounds.window_state.as_deref() {
            Some(_) if !self.new_window => {
                rejected("Target window state can only be set for new windows")
            }
            None | Some("normal" | "minimized" | "maximized" | "fullscreen") => Ok(()),
            Some(other) => Err(unknown_window_state(method, other)),
        }
    }

    /// For the extension: size, position and state of the new window, if the client asks for any.
    fn window_options(&self) -> Option<Box<RawValue>> {
        let bounds = &self.bounds;
        let mut options = serde_json::Map::new();
        for (name, value) in [
            ("left", bounds.left),
            ("top", bounds.top),
            ("width", bounds.width),
            ("height", bounds.height),
        ] {
            options.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        let state = bounds.window_state.as_deref();
        options.extend(state.map(|state| ("windowState".to_owned(), state.into())));
        if options.is_empty() {
            return None;
        }
        serde_json::value::to_raw_value(&options).ok()
    }
}

fn session_result(session_id: SessionId) -> Handled {
    Handled::json(&serde_json::json!({ "sessionId": session_id }))
}

fn needs_flatten(request: &Request<'_>) -> CdpError {
    let method = &request.method;
    CdpError::Refused(format!(
        "{method}: only flat sessions are supported. Pass flatten: true."
    ))
}
