//! Commands to a tab's page. A dormant tab answers init commands; any other command wakes it.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::tab::{Attachment, Tab};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId, TabId};
use crate::protocol::json;
use crate::protocol::methods::browser;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::init::{self, Init};
use crate::protocol::methods::probe;

impl Core {
    pub(crate) fn handle_page(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: Request<'_>,
    ) -> HandlerResult {
        let session_id = caller.session_id;
        if self.world.has_to_wait(session_id, tab_id, &request) {
            if self.out.is_paused() && self.world.is_used_by(caller.client_id, tab_id) {
                // It is not a library that sets this in every page.
                return Err(CdpError::Paused);
            }
            self.world.record_in_journal(session_id, &request);
            return Ok(Handled::empty());
        }
        let init = self.find_init(session_id, &request);
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        check_navigation(tab, &request)?;
        // Playwright repeats it when a frame disappears: the reply tells it whether the frame comes
        // back.
        let is_repeated = Command::classify(&request.method) == Command::Enable("Page")
            && self.has_enabled(session_id, "Page");
        let joins = !is_repeated && self.world.answers_late_join(session_id, tab_id, &request);
        let join = init.filter(|_| joins);
        match tab.attachment() {
            Attachment::Dormant => self.handle_dormant(caller, tab_id, request, init),
            Attachment::Waking(_) if is_repeated => Ok(Handled::empty()),
            Attachment::Waking(_) => match join {
                Some(init) => self.join_waking(session_id, tab_id, &request, init),
                None => self.forward_or_wake(caller, tab_id, request),
            },
            Attachment::Live => match join {
                Some(init) => self.join_live(caller, tab_id, &request, init),
                None => self.send_or_wait(caller, &Debuggee::page(tab_id), &request),
            },
        }
    }

    fn handle_dormant(
        &mut self,
        caller: Caller,
        tab_id: TabId,
        request: Request<'_>,
        init: Option<&'static Init>,
    ) -> HandlerResult {
        let session_id = caller.session_id;
        if Command::classify(&request.method) == Command::RemoveScript {
            return self.remove_script(caller, tab_id, &request);
        }
        if let Some(init) = init {
            return self.answer_dormant(session_id, tab_id, &request, init);
        }
        if browser::is_about_profile_cookies(&request.method) {
            return self.run_in_extension(caller, &request, None);
        }
        if browser::is_about_own_cookies(&request.method) {
            return self.run_in_extension(caller, &request, Some(tab_id));
        }
        if let Some(result) = probe::result_of(&request.method, &request.params) {
            return Ok(Handled::Reply(result.to_owned()));
        }
        match self.accept_bootstrap(session_id, tab_id, &request) {
            Some(handled) => Ok(handled),
            None => self.forward_or_wake(caller, tab_id, request),
        }
    }

    /// The init command that this is. Any other command ends the session's initialization.
    fn find_init(&mut self, session_id: SessionId, request: &Request<'_>) -> Option<&'static Init> {
        let emulates_focus = self.world.emulates_focus;
        let session = self.world.sessions.get_mut(session_id)?;
        // What changes how a page looks is a default while the client's library initializes, and a
        // request of its user afterwards.
        let has_started = session.journal().has_started();
        let init = init::find(&request.method)
            .filter(|init| !init.is_default(emulates_focus) || !has_started)
            .filter(|_| init::has_required_params(&request.method, &request.params));
        if init.is_none() {
            session.finish_initializing();
        }
        init
    }
}

/// Chrome treats a navigation by an extension like one by the page itself, and silently aborts it if
/// it leads to a `data:` address. Frames may show one.
fn check_navigation(tab: &Tab, request: &Request<'_>) -> Result<(), CdpError> {
    if Command::classify(&request.method) != Command::Navigate {
        return Ok(());
    }
    let field = |key| json::string_field(&request.params, key).unwrap_or_default();
    let (url, frame) = (field("url"), field("frameId"));
    let scheme = url.trim_start().get(..5).unwrap_or_default();
    let is_page = frame.is_empty() || frame == tab.page_id().as_str();
    if !is_page || !scheme.eq_ignore_ascii_case("data:") {
        return Ok(());
    }
    Err(CdpError::Refused(format!(
        "{}: Chrome does not let an extension open a data: address in an existing tab. Use page.setContent(), or open a new tab with this address (Target.createTarget). A browser that was started with `tabwire launch --direct` can open it.",
        request.method
    )))
}
