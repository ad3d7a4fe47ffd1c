//! The browser as a target: `Browser.*`, and what else a client may ask of it without a tab.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ClientId, SessionId, TabId};
use crate::intercept::Handled;
use crate::{CloseReason, Core, Extension, Output};

impl Core {
    pub(crate) fn intercept_browser(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        match request.method.as_ref() {
            "Browser.getVersion" => self.get_version(),
            // The browser is the person's: only the client's own connection ends.
            "Browser.close" => {
                self.send_reply(client, session, request.id, "{}");
                self.outputs
                    .push_back(Output::CloseClient(client, CloseReason::Asked));
                Ok(Handled::Later)
            }
            // Playwright sends this as it connects and gives up when it is refused. Downloads go where the person's
            // browser puts them, which is what a client that shares it can expect.
            "Browser.setDownloadBehavior" => Ok(Handled::empty()),
            // Cookies belong to the profile. Chrome serves them through any tab that has the debugger.
            "Storage.getCookies" | "Storage.setCookies" | "Storage.clearCookies" => {
                let tab = self.any_tab().ok_or_else(|| {
                    CdpError::Refused(format!("{}: needs at least one open tab", request.method))
                })?;
                let through = Request {
                    params: without_context(request)?.into(),
                    ..request.clone()
                };
                self.through_tab(session, tab, through)
            }
            other => Err(CdpError::MethodNotFound(other.to_owned())),
        }
    }

    fn get_version(&self) -> Result<Handled, CdpError> {
        let Extension::Ready { hello } = &self.extension else {
            return Err(CdpError::ExtensionAbsent);
        };
        let version = serde_json::json!({
            "protocolVersion": "1.3",
            "product": hello.browser,
            "revision": "",
            "userAgent": hello.user_agent,
            "jsVersion": "",
        });
        Ok(Handled::Reply(version.to_string()))
    }

    /// A tab to ask browser-wide things through: one that is live already, else the first.
    fn any_tab(&self) -> Option<TabId> {
        self.tabs
            .iter()
            .find(|tab| tab.is_live())
            .or_else(|| self.tabs.iter().next())
            .map(|tab| tab.id)
    }

    /// The `tab` target above a page can do nothing of its own; clients only resume it.
    pub(crate) fn intercept_tab_target(request: &Request<'_>) -> Result<Handled, CdpError> {
        match request.method.as_ref() {
            "Runtime.runIfWaitingForDebugger" => Ok(Handled::empty()),
            other => Err(CdpError::MethodNotFound(other.to_owned())),
        }
    }
}

/// Chrome does not know the context id that the relay gave the person's profile. The other parameters pass unread.
fn without_context(request: &Request<'_>) -> Result<String, CdpError> {
    let mut params: BTreeMap<String, &RawValue> = request.read_params()?;
    params.remove("browserContextId");
    serde_json::to_string(&params).map_err(|error| CdpError::InvalidParams {
        method: request.method.to_string(),
        reason: error.to_string(),
    })
}
