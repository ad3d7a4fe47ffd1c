//! Commands to the browser: `Browser.*`, and what a client can ask for without a tab.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::emit::out::{Handled, HandlerResult};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, TabId};
use crate::{CloseReason, Core, Output};

impl Core {
    pub(crate) fn handle_browser(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        match request.method.as_ref() {
            "Browser.getVersion" => self.get_version(),
            // The browser is the person's: only the client's own connection ends.
            "Browser.close" => {
                self.send_reply(caller, "{}");
                let close = Output::CloseClient(caller.client_id, CloseReason::Requested);
                self.out.push(close);
                Ok(Handled::Later)
            }
            // Playwright sends this when it connects and gives up if it is refused. Downloads go
            // where the person's browser puts them.
            "Browser.setDownloadBehavior" => Ok(Handled::empty()),
            // Cookies belong to the profile. Chrome serves them through any tab with a debugger.
            "Storage.getCookies" | "Storage.setCookies" | "Storage.clearCookies" => {
                let tab_id = self.any_tab().ok_or_else(|| {
                    let method = &request.method;
                    CdpError::Refused(format!("{method}: needs at least one open tab"))
                })?;
                let params = without_context(request)?;
                let through_tab = Request {
                    params: params.into(),
                    ..request.clone()
                };
                self.forward_or_wake(caller, tab_id, through_tab)
            }
            other => Err(CdpError::MethodNotFound(other.to_owned())),
        }
    }

    fn get_version(&self) -> HandlerResult {
        let browser = self.world.link.browser();
        let browser = browser.ok_or(CdpError::ExtensionAbsent)?;
        Ok(Handled::json(&serde_json::json!({
            "protocolVersion": "1.3",
            "product": browser.product,
            "revision": "",
            "userAgent": browser.user_agent,
            "jsVersion": "",
        })))
    }

    /// A tab for browser-wide commands: preferably one that is live already.
    fn any_tab(&self) -> Option<TabId> {
        let tabs = &self.world.tabs;
        let live = tabs.iter().find(|tab| tab.is_live());
        live.or_else(|| tabs.iter().next()).map(|tab| tab.id())
    }

    /// The `tab` target of a page has no commands of its own; clients only resume it.
    pub(crate) fn handle_tab_target(request: &Request<'_>) -> HandlerResult {
        match request.method.as_ref() {
            "Runtime.runIfWaitingForDebugger" => Ok(Handled::empty()),
            other => Err(CdpError::MethodNotFound(other.to_owned())),
        }
    }
}

/// Chrome does not know the relay's id of the person's profile. The other parameters stay unparsed.
fn without_context(request: &Request<'_>) -> Result<String, CdpError> {
    let mut params: BTreeMap<String, &RawValue> = request.read_params()?;
    params.remove("browserContextId");
    serde_json::to_string(&params).map_err(|error| CdpError::InvalidParams {
        method: request.method.to_string(),
        reason: error.to_string(),
    })
}
