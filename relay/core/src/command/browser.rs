//! Commands to the browser: `Browser.*`, and what a client can ask for without a tab. Nothing here
//! wakes a tab.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::calls::Note;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, TabId};
use crate::protocol::methods::browser::BrowserCommand;
use crate::protocol::methods::refused;
use crate::protocol::wire::Call;
use crate::{CloseReason, Core, Output};

impl Core {
    pub(crate) fn handle_browser(
        &mut self,
        caller: Caller,
        target: &Target,
        request: &Request<'_>,
    ) -> HandlerResult {
        match BrowserCommand::classify(&request.method) {
            BrowserCommand::Version => self.get_version(),
            // The browser is the person's: only the client's own connection ends.
            BrowserCommand::Close => {
                self.send_reply(caller, "{}");
                let close = Output::CloseClient(caller.client_id, CloseReason::Requested);
                self.out.push(close);
                Ok(Handled::Later)
            }
            BrowserCommand::SetDownloadBehavior => self.set_download_behavior(caller, request),
            BrowserCommand::CancelDownload => self.cancel_download(caller, request),
            BrowserCommand::ByExtension => self.run_in_extension(caller, request, None),
            BrowserCommand::WindowForTarget => {
                let tab_id = self.find_window_tab(target, request)?;
                self.run_in_extension(caller, request, Some(tab_id))
            }
            BrowserCommand::SetWindowBounds => {
                check_bounds(request)?;
                self.run_in_extension(caller, request, None)
            }
            BrowserCommand::GrantPermissions
            | BrowserCommand::SetPermission
            | BrowserCommand::ResetPermissions
                if self.out.is_paused() =>
            {
                Err(CdpError::Paused)
            }
            BrowserCommand::GrantPermissions => self.grant_permissions(caller, request),
            BrowserCommand::SetPermission => self.set_permission(caller, request),
            BrowserCommand::ResetPermissions => self.reset_permissions(caller, request),
            BrowserCommand::Unknown => Err(match target {
                Target::Browser => refused::error_in_browser(&request.method),
                _ => refused::error(&request.method),
            }),
        }
    }

    /// Has the extension carry out a command with other APIs than the debugger's.
    pub(crate) fn run_in_extension(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
        tab: Option<TabId>,
    ) -> HandlerResult {
        let params = self.without_context(request)?;
        let call = Call::BrowserCommand {
            method: &request.method,
            params: &params,
            tab,
        };
        self.out.call(&call, reply_to(caller, Note::None));
        Ok(Handled::Later)
    }

    /// The parameters without the relay's id of the person's profile, which Chrome does not know.
    /// The other ones stay unparsed.
    fn without_context(&self, request: &Request<'_>) -> Result<String, CdpError> {
        let mut params: BTreeMap<String, &RawValue> = request.read_params()?;
        if let Some(id) = params.remove("browserContextId") {
            self.check_context(&serde_json::from_str::<String>(id.get()).unwrap_or_default())?;
        }
        serde_json::to_string(&params).map_err(|error| CdpError::InvalidParams {
            method: request.method.to_string(),
            reason: error.to_string(),
        })
    }

    /// The only context is the person's profile.
    pub(crate) fn check_context(&self, id: &str) -> Result<(), CdpError> {
        if id == self.world.browser_context.as_str() {
            return Ok(());
        }
        Err(CdpError::rejected(format!(
            "Failed to find browser context for id {id}"
        )))
    }

    pub(crate) fn check_optional_context(&self, id: Option<&str>) -> Result<(), CdpError> {
        id.map_or(Ok(()), |id| self.check_context(id))
    }

    /// The tab whose window `Browser.getWindowForTarget` asks for.
    fn find_window_tab(&self, target: &Target, request: &Request<'_>) -> Result<TabId, CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            target_id: Option<String>,
        }
        let named = request.read_params::<Params>()?.target_id;
        let found = match named {
            None => Some(target.clone()),
            Some(id) => self.find_target(&id),
        };
        // Chrome's own words.
        let target = found.ok_or_else(|| CdpError::Refused("No target with given id".into()))?;
        let tab_id = target.tab_id();
        tab_id.ok_or_else(|| CdpError::Refused("No web contents in the target".into()))
    }

    fn get_version(&self) -> HandlerResult {
        let browser = self.world.link.browser();
        let browser = browser.ok_or(CdpError::ExtensionAbsent)?;
        Ok(Handled::json(&serde_json::json!({
            "protocolVersion": "1.3",
            "product": browser.product,
            "revision": "",
            "userAgent": browser.user_agent,
            "jsVersion": browser.v8_version(),
        })))
    }

    /// The `tab` target of a page has no commands of its own; clients only resume it.
    pub(crate) fn handle_tab_target(request: &Request<'_>) -> HandlerResult {
        match request.method.as_ref() {
            "Runtime.runIfWaitingForDebugger" => Ok(Handled::empty()),
            other => Err(refused::error(other)),
        }
    }
}

/// `Browser.setWindowBounds` names a window and where it should be.
fn check_bounds(request: &Request<'_>) -> Result<(), CdpError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        #[serde(rename = "windowId")]
        _window_id: i64,
        bounds: Bounds,
    }
    let bounds = request.read_params::<Params>()?.bounds;
    match bounds.window_state.as_deref() {
        None | Some("normal") => Ok(()),
        Some("minimized" | "maximized" | "fullscreen") if !bounds.has_place() => Ok(()),
        Some("minimized" | "maximized" | "fullscreen") => Err(CdpError::rejected(
            "The 'minimized', 'maximized' and 'fullscreen' states cannot be combined with 'left', 'top', 'width' or 'height'",
        )),
        Some(other) => Err(unknown_window_state(&request.method, other)),
    }
}

/// Where a window is. All of it is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bounds {
    pub(crate) left: Option<i32>,
    pub(crate) top: Option<i32>,
    pub(crate) width: Option<i32>,
    pub(crate) height: Option<i32>,
    pub(crate) window_state: Option<String>,
}

impl Bounds {
    /// Whether size or position are given.
    pub(crate) fn has_place(&self) -> bool {
        let place = [self.left, self.top, self.width, self.height];
        place.iter().any(Option::is_some)
    }
}

pub(crate) fn unknown_window_state(method: &str, state: &str) -> CdpError {
    CdpError::rejected(format!(
        "{method}: unknown window state '{state}'. Use normal, minimized, maximized or fullscreen."
    ))
}
