//! A tab that went to a page that Chrome does not let extensions debug, such as `chrome://settings`:
//! it stays a target. It is dormant, answers init commands like any other, and can be navigated
//! elsewhere, activated and closed. Every other command fails, and code throws the reason.

use crate::Core;
use crate::emit::messages::exception;
use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::calls::{Continuation, Note};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, TabId};
use crate::protocol::json;
use crate::protocol::wire::{Call, TabReport};

impl Core {
    /// The tab shows another restricted page than before. Its sessions receive what a live page
    /// would send.
    pub(crate) fn on_tab_restricted(&mut self, tab_id: TabId, report: &TabReport) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let url = tab.url().to_owned();
        if !tab.is_dormant() {
            let reason = format!("the tab went to {url}, which extensions cannot use");
            let lost = CdpError::Detached(reason);
            self.lose_attachment(tab_id, &lost, &CdpError::Restricted(url));
            // Chrome has usually done this.
            self.out.detach(tab_id);
        }
        self.announce_changed(tab_id);
        // Losing the debugger has just made placeholders of a live tab's frames.
        self.end_placeholders(tab_id);
        self.synthesize_navigation(tab_id);
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.update(report);
        }
        self.synthesize_lifecycle(tab_id, None);
        self.announce_frame_changes(tab_id);
    }

    /// A command that would need the debugger.
    pub(crate) fn handle_restricted(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> HandlerResult {
        match request.method.as_ref() {
            "Page.navigate" => {
                let call = Call::BrowserCommand {
                    method: &request.method,
                    params: &request.params,
                    tab: Some(tab_id),
                };
                let continuation = Continuation::Navigated { caller, tab_id };
                self.out.call(&call, continuation);
                Ok(Handled::Later)
            }
            "Page.close" => {
                let continuation = Continuation::Closed {
                    caller: None,
                    tab_id,
                };
                self.out.call(&Call::CloseTab { tab: tab_id }, continuation);
                Ok(Handled::empty())
            }
            "Page.bringToFront" => {
                let continuation = reply_to(caller, Note::None);
                let call = Call::ActivateTab { tab: tab_id };
                self.out.call(&call, continuation);
                Ok(Handled::Later)
            }
            method => self.refuse_on_restricted(tab_id, method),
        }
    }

    /// The reply to a command that has no meaning without the debugger.
    pub(crate) fn refuse_on_restricted(&self, tab_id: TabId, method: &str) -> HandlerResult {
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        let error = CdpError::Restricted(tab.url().to_owned());
        refusal_of_evaluation(method, &error).ok_or(error)
    }

    /// The extension has navigated a tab. The navigation was announced before, with the relay's own
    /// loader id.
    pub(crate) fn on_navigated(&mut self, caller: Caller, tab_id: TabId, result: &str) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return self.send_error(caller, &CdpError::TabClosed);
        };
        let frame_id = tab.page_id();
        let reply = match json::string_field(result, "errorText") {
            Some(error) => serde_json::json!({ "frameId": frame_id, "errorText": error }),
            None => serde_json::json!({ "frameId": frame_id, "loaderId": tab.loader() }),
        };
        self.send_reply(caller, &reply.to_string());
    }
}

/// The result of code that cannot be run: an exception. Playwright hides any other error of these
/// methods from its user, and tries again until it times out.
fn refusal_of_evaluation(method: &str, error: &CdpError) -> Option<Handled> {
    if !matches!(method, "Runtime.evaluate" | "Runtime.callFunctionOn") {
        return None;
    }
    Some(exception(error))
}
