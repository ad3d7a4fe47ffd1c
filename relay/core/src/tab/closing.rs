//! Closing a tab for a client. As on Chrome's own port, the reply precedes every event of the tab's
//! end, and the page cannot object. The extension closes a tab without asking its page where Chrome
//! lets it. Where it does not, a live page that asks gets its answer here.

use crate::Core;
use crate::model::calls::Continuation;
use crate::protocol::ids::{Caller, Debuggee, TabId};
use crate::protocol::json;
use crate::protocol::methods::event::Event;
use crate::protocol::wire::Call;

const HANDLE_DIALOG: &str = "Page.handleJavaScriptDialog";

/// The type of a dialog in which a page asks whether to leave it, as JSON.
const BEFORE_UNLOAD: &str = r#""beforeunload""#;

impl Core {
    pub(crate) fn close_tab(&mut self, caller: Caller, tab_id: TabId) {
        if self.world.is_live(tab_id) {
            // Otherwise the person would have to answer a page that asks.
            let page = Debuggee::page(tab_id);
            self.out.command_ignored(&page, "Page.enable", "{}");
        }
        let continuation = Continuation::Closed {
            caller: Some(caller),
            tab_id,
        };
        self.out.call(&Call::CloseTab { tab: tab_id }, continuation);
    }

    /// A tab is about to disappear. Clients that closed it receive their reply now: if the
    /// event came first, browser-use would conclude that the person closed the tab.
    pub(crate) fn confirm_closing(&mut self, tab_id: TabId) {
        let closing = self
            .out
            .calls
            .take_where(|call| call.tab_id() == Some(tab_id) && call.closes_tab());
        for (call_id, call) in closing {
            self.answer_close(call.caller());
            self.out.calls.insert(call_id, call.answered());
        }
    }

    pub(crate) fn answer_close(&mut self, caller: Option<Caller>) {
        if let Some(caller) = caller {
            self.send_reply(caller, r#"{"success":true}"#);
        }
    }

    /// Handles what a page sends while a client closes its tab. If the page asks for
    /// confirmation, the answer is yes. Returns whether the event ends here and reaches no client.
    pub(crate) fn is_end_of_closing_page(
        &mut self,
        tab_id: TabId,
        event: Event,
        params: &str,
    ) -> bool {
        let is_end = matches!(
            event,
            Event::DialogOpening | Event::DialogClosed | Event::Detached
        );
        if !is_end || !self.is_closing(tab_id) {
            return false;
        }
        let tab = self.world.tabs.get(tab_id);
        let has_dialog = tab.is_some_and(|tab| tab.dialog_is_open());
        match event {
            Event::DialogOpening if json::field(params, "type") == Some(BEFORE_UNLOAD) => {
                let page = Debuggee::page(tab_id);
                let accept = r#"{"accept":true}"#;
                self.out.command_ignored(&page, HANDLE_DIALOG, accept);
                true
            }
            Event::DialogClosed => !has_dialog,
            Event::Detached => {
                self.confirm_closing(tab_id);
                false
            }
            _ => false,
        }
    }

    fn is_closing(&self, tab_id: TabId) -> bool {
        let mut calls = self.out.calls.iter();
        calls.any(|call| call.tab_id() == Some(tab_id) && call.closes_tab())
    }
}
