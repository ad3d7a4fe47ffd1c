//! What each session has enabled. Chrome has one switch for all sessions of a target, so enabling
//! what is already on, or disabling what others still use, stays in the relay.

use std::collections::BTreeSet;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::calls::Note;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::ids::{Caller, SessionId};
use crate::protocol::json;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::domains::{LIFECYCLE, SCREENCAST};

impl Core {
    /// Records what a command switches. Returns the result if Chrome must not receive the command,
    /// because other sessions share the switch.
    pub(crate) fn apply_switch(
        &mut self,
        command: Command<'_>,
        caller: Caller,
        request: &Request<'_>,
    ) -> Option<HandlerResult> {
        match command {
            Command::Lifecycle => self.switch_lifecycle(caller, request),
            Command::Enable(domain) => self.enable_domain(domain, caller, request),
            Command::Disable(domain) => self.disable_domain(domain, caller.session_id),
            Command::Subscribe(domain) => {
                self.world
                    .sessions
                    .get_mut(caller.session_id)?
                    .enable(domain);
                None
            }
            _ => None,
        }
    }

    fn switch_lifecycle(&mut self, caller: Caller, request: &Request<'_>) -> Option<HandlerResult> {
        let session_id = caller.session_id;
        let is_on = self
            .world
            .sessions
            .is_enabled_elsewhere(session_id, LIFECYCLE);
        let turns_on = json::is_true(&request.params, "enabled");
        if is_on && turns_on {
            return Some(self.join(LIFECYCLE, caller, request));
        }
        let session = self.world.sessions.get_mut(session_id)?;
        session.set_enabled(LIFECYCLE, turns_on);
        let target = session.target().clone();
        if !is_on {
            self.on_disabled(&target, LIFECYCLE);
        }
        // Chrome keeps sending them as long as any session wants them.
        is_on.then(|| Ok(Handled::empty()))
    }

    fn enable_domain(
        &mut self,
        domain: &str,
        caller: Caller,
        request: &Request<'_>,
    ) -> Option<HandlerResult> {
        let sessions = &mut self.world.sessions;
        let is_new = !sessions.get(caller.session_id)?.has_enabled(domain);
        let is_on = !is_new || sessions.is_enabled_elsewhere(caller.session_id, domain);
        if is_on && domain == "Runtime" {
            // Chrome would report all contexts again, to every session.
            return Some(self.join(domain, caller, request));
        }
        let session = sessions.get_mut(caller.session_id)?;
        session.enable(domain);
        match (domain, session.target()) {
            ("Page", Target::Page(tab_id)) if !is_on => {
                self.world.tabs.get_mut(*tab_id)?.forget_frames();
            }
            // Worlds created while it was disabled: Chrome will report them, and they count as
            // announced.
            ("Runtime", Target::Page(_)) => self.announce_contexts_to(caller.session_id),
            _ if is_on && is_new => self.send_mirrored(caller.session_id, domain),
            _ => {}
        }
        None
    }

    fn disable_domain(&mut self, domain: &str, session_id: SessionId) -> Option<HandlerResult> {
        let session = self.world.sessions.get_mut(session_id)?;
        session.disable(domain);
        let target = session.target().clone();
        let breakpoints = if domain == "Debugger" {
            session.take_breakpoints()
        } else {
            BTreeSet::new()
        };
        if self.world.sessions.is_enabled_elsewhere(session_id, domain) {
            self.release_breakpoints(&target, &breakpoints);
            return Some(Ok(Handled::empty()));
        }
        self.on_disabled(&target, domain);
        None
    }

    /// A switch is off in Chrome, which sends no more events of it: what is known from them becomes
    /// stale.
    pub(crate) fn on_disabled(&mut self, target: &Target, switch: &str) {
        if let Some(mirror) = self.world.mirror_mut(target) {
            mirror.forget(switch);
        }
        let Target::Page(tab_id) = target else {
            return;
        };
        let Some(tab) = self.world.tabs.get_mut(*tab_id) else {
            return;
        };
        match switch {
            "Page" => tab.forget_frames(),
            "Runtime" => {
                tab.contexts_mut().clear();
            }
            _ => {}
        }
    }

    /// Enables something for one session that Chrome has on already. The events it missed must not
    /// overtake the replies to its earlier commands: Playwright listens for contexts only after the
    /// reply to `Page.getFrameTree`.
    fn join(&mut self, switch: &str, caller: Caller, request: &Request<'_>) -> HandlerResult {
        let session = self.world.sessions.get(caller.session_id);
        let debuggee = session.and_then(|session| session.target().debuggee());
        if let Some(debuggee) = debuggee
            && self.out.calls.is_session_waiting(caller.session_id)
        {
            return self.send_barrier(caller, &debuggee, request, Note::Join);
        }
        self.send_missed(caller.session_id, switch);
        Ok(Handled::empty())
    }

    /// Enables a switch and sends the session the events it missed.
    pub(crate) fn send_missed(&mut self, session_id: SessionId, switch: &str) {
        let Some(session) = self.world.sessions.get_mut(session_id) else {
            return;
        };
        let is_page = session.target().is_page();
        if !session.enable(switch) {
            return;
        }
        if switch == "Runtime" && is_page {
            self.announce_contexts_to(session_id);
        } else {
            self.send_mirrored(session_id, switch);
        }
    }

    // ---- screencasts: Chrome has one per tab ----

    pub(crate) fn start_screencast(&mut self, session_id: SessionId) {
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.enable(SCREENCAST);
        }
    }

    /// Returns whether another session's screencast continues, so that Chrome must not stop it.
    pub(crate) fn stop_screencast(&mut self, session_id: SessionId) -> bool {
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.disable(SCREENCAST);
        }
        self.world
            .sessions
            .is_enabled_elsewhere(session_id, SCREENCAST)
    }
}
