//! What each session has switched on, and what Chrome hears of it. Each session is a view on the one debugger session that
//! Chrome gives: enabling a domain that is on already, or disabling one that others use, stays here.

use std::collections::BTreeSet;

use crate::Core;
use crate::cdp::{self, Request};
use crate::error::CdpError;
use crate::frames::Frames;
use crate::ids::{ClientId, SessionId};
use crate::intercept::Handled;
use crate::pending::Note;
use crate::screencast::SCREENCAST;
use crate::sessions::Subject;
use crate::translate;

/// Domains that have an `enable`: their events go to sessions that said it. Events of others go to sessions that have used the
/// domain; only those of `Inspector` go to all.
pub(crate) const ENABLED_DOMAINS: &[&str] = &[
    "Accessibility",
    "Animation",
    "Audits",
    "Autofill",
    "CSS",
    "Cast",
    "Console",
    "DOM",
    "DOMStorage",
    "Debugger",
    "DeviceAccess",
    "FedCm",
    "Fetch",
    "HeapProfiler",
    "IndexedDB",
    "LayerTree",
    "Log",
    "Media",
    "Network",
    "Overlay",
    "Page",
    "Performance",
    "PerformanceTimeline",
    "Preload",
    "Profiler",
    "Runtime",
    "Security",
    "ServiceWorker",
    "WebAudio",
    "WebAuthn",
];

/// `Page.lifecycleEvent` has a switch of its own beside `Page.enable`; a session's `enabled` holds it under this name.
pub(crate) const LIFECYCLE: &str = "Page.lifecycleEvent";

/// The name in a session's `enabled` that lets an event of this method through.
pub(crate) fn gate_of(method: &str) -> &str {
    if method == LIFECYCLE || method == SCREENCAST {
        method
    } else {
        cdp::domain(method)
    }
}

impl Core {
    /// Keeps the book of a session's enabled domains. Answers what Chrome must not hear, because other sessions share it.
    pub(crate) fn switch_domain(
        &mut self,
        session: SessionId,
        request: &Request<'_>,
    ) -> Option<Result<Handled, CdpError>> {
        if request.method == "Page.setLifecycleEventsEnabled" {
            let is_on = self.sessions.enabled_elsewhere(session, LIFECYCLE);
            if is_on && translate::field(&request.params, "enabled") == Some("true") {
                return Some(self.join(session, LIFECYCLE, request));
            }
            self.note_lifecycle_switch(session, &request.params);
            if !is_on
                && let Some(subject) = self.sessions.get(session).map(|view| view.subject.clone())
            {
                self.on_switched_off(&subject, LIFECYCLE);
            }
            // Chrome has them on as long as anyone wants them.
            return is_on.then(|| Ok(Handled::empty()));
        }
        let (domain, verb) = request.method.split_once('.')?;
        let view = self.sessions.get_mut(session)?;
        match verb {
            "enable" => {
                let is_new = !view.enabled.contains(domain);
                let is_on = !is_new || self.sessions.enabled_elsewhere(session, domain);
                if is_on && domain == "Runtime" {
                    // Chrome would take it for the wish to hear of all contexts anew, and everyone would.
                    return Some(self.join(session, domain, request));
                }
                let view = self.sessions.get_mut(session)?;
                view.enabled.insert(domain.to_owned());
                let subject = view.subject.clone();
                match (domain, &subject) {
                    // Chrome has told nothing of them meanwhile.
                    ("Page", Subject::Page(tab)) if !is_on => {
                        self.tabs.get_mut(*tab)?.frames = Frames::default()
                    }
                    // Worlds that were made while it was off: Chrome will tell of them, and they count as told.
                    ("Runtime", Subject::Page(_)) => self.announce_contexts_to(session),
                    _ if is_on && is_new => self.tell_mirrored(session, domain),
                    _ => {}
                }
                None
            }
            "disable" => {
                view.enabled.remove(domain);
                let subject = view.subject.clone();
                let breakpoints = if domain == "Debugger" {
                    std::mem::take(&mut view.breakpoints)
                } else {
                    BTreeSet::new()
                };
                if self.sessions.enabled_elsewhere(session, domain) {
                    self.release_breakpoints(&subject, &breakpoints);
                    return Some(Ok(Handled::empty()));
                }
                self.on_switched_off(&subject, domain);
                None
            }
            _ => {
                if !ENABLED_DOMAINS.contains(&domain) && !view.enabled.contains(domain) {
                    view.enabled.insert(domain.to_owned());
                }
                None
            }
        }
    }

    /// Chrome has this off now, and tells nothing of it any more: what the books say would go stale.
    pub(crate) fn on_switched_off(&mut self, subject: &Subject, switch: &str) {
        if let Some(mirror) = self.mirror_of(subject) {
            mirror.forget(switch);
        }
        let Subject::Page(tab) = subject else { return };
        let Some(known) = self.tabs.get_mut(*tab) else {
            return;
        };
        match switch {
            "Page" => known.frames = Frames::default(),
            "Runtime" => known.contexts.clear(),
            _ => {}
        }
    }

    pub(crate) fn note_lifecycle_switch(&mut self, session: SessionId, params: &str) {
        let on = translate::field(params, "enabled") == Some("true");
        if let Some(view) = self.sessions.get_mut(session) {
            if on {
                view.enabled.insert(LIFECYCLE.to_owned());
            } else {
                view.enabled.remove(LIFECYCLE);
            }
        }
    }

    /// Switches on for one session what Chrome has on already. What it missed must not overtake what it has asked before:
    /// Playwright listens for contexts only when `Page.getFrameTree` is answered.
    fn join(
        &mut self,
        session: SessionId,
        switch: &str,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let subject = self.sessions.get(session).map(|view| view.subject.clone());
        if let Some((tab, child)) = subject
            .as_ref()
            .and_then(Subject::place)
            .filter(|_| self.pending.asks_for(session))
        {
            return self.ask_in_turn(session, tab, child, request, Note::Join);
        }
        self.tell_missed(session, switch);
        Ok(Handled::empty())
    }

    /// All that the session asked before is answered. Whoever had it on may have left meanwhile.
    pub(crate) fn on_turn_to_join(
        &mut self,
        client: ClientId,
        session: SessionId,
        request: Request<'_>,
    ) {
        let Some(view) = self.sessions.get(session) else {
            return self.send_error(client, session, request.id, &CdpError::SessionNotFound);
        };
        let switch = if request.method == "Page.setLifecycleEventsEnabled" {
            LIFECYCLE
        } else {
            cdp::domain(&request.method)
        };
        // One that has it on already only said it again: to route that would be to wait for its turn again.
        if view.enabled.contains(switch) || self.sessions.enabled_elsewhere(session, switch) {
            self.tell_missed(session, switch);
            self.send_reply(client, session, request.id, "{}");
        } else {
            self.route(session, request);
        }
    }

    fn tell_missed(&mut self, session: SessionId, switch: &str) {
        let Some(view) = self.sessions.get_mut(session) else {
            return;
        };
        let is_page = matches!(view.subject, Subject::Page(_));
        if !view.enabled.insert(switch.to_owned()) {
            return;
        }
        if switch == "Runtime" && is_page {
            self.announce_contexts_to(session);
        } else {
            self.tell_mirrored(session, switch);
        }
    }
}
