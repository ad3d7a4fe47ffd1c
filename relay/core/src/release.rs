//! Giving back what a session held when it ends: what it switched on in Chrome, what it paused, what it waits for, and the
//! debugger itself when it was the last to use the tab.

use crate::ids::{ChildId, ClientId, TabId};
use crate::pending::Continuation;
use crate::sessions::{Session, Subject};
use crate::targets::Attachment;
use crate::wire::Call;
use crate::{Core, Extension};

impl Core {
    /// The session is out of the book already; other views of its target may go on.
    pub(crate) fn release(&mut self, ended: &Session) {
        let Some(tab) = ended.subject.tab() else { return };
        self.drop_waiting_commands(tab);
        self.drop_bootstraps_of_ended(tab);
        self.detach_if_unused(tab);
        if self.tabs.get(tab).is_some_and(crate::targets::Tab::is_live) {
            self.switch_off(ended, tab);
            self.resume_unseen_children(tab);
        }
    }

    /// Nobody waits any more for what this client asked; and a tab whose last user it was needs no debugger.
    pub(crate) fn release_client(&mut self, client: ClientId) {
        self.pending.take_where(|entry| matches!(&entry.continuation, Continuation::Reply { client: of, .. } if *of == client));
        for tab in self.tabs.ids() {
            self.detach_if_unused(tab);
        }
        self.texts.forget_unused();
    }

    /// Domains that only this session had on are switched off, and its scripts removed. A `Fetch` left on would hold every
    /// request of the page for a client that is not there.
    fn switch_off(&mut self, ended: &Session, tab: TabId) {
        let child = if let Subject::Child(_, child) = &ended.subject { Some(child) } else { None };
        let is_held = |core: &Self, domain: &str| core.sessions.viewing(&ended.subject).any(|(_, view)| view.enabled.contains(domain));
        for domain in ended.enabled.iter().filter(|domain| crate::forward::ENABLED_DOMAINS.contains(&domain.as_str())) {
            if !is_held(self, domain) {
                let method = format!("{domain}.disable");
                self.call(&Call::CdpCommand { tab, method: &method, params: "{}", child }, Continuation::Nothing);
                if domain == "Runtime" && child.is_none() {
                    self.tabs.get_mut(tab).into_iter().for_each(|known| known.contexts.clear());
                }
            }
        }
        let scripts = ended.journal.entries().iter().filter_map(|entry| entry.script.as_ref()?.real.as_ref());
        for identifier in scripts {
            let params = serde_json::json!({ "identifier": identifier }).to_string();
            let method = "Page.removeScriptToEvaluateOnNewDocument";
            self.call(&Call::CdpCommand { tab, method, params: &params, child }, Continuation::Nothing);
        }
    }

    /// A target that waits for a client that has gone would wait for ever.
    fn resume_unseen_children(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else { return };
        let waiting: Vec<ChildId> =
            known.children.iter().filter(|(_, child)| child.waiting_for_debugger).map(|(id, _)| id.clone()).collect();
        for child in waiting {
            let is_seen = self.sessions.viewing(&Subject::Child(tab, child.clone())).next().is_some();
            if !is_seen {
                self.resume_child(tab, &child);
            }
        }
    }

    pub(crate) fn resume_child(&mut self, tab: TabId, child: &ChildId) {
        if let Some(known) = self.tabs.get_mut(tab).and_then(|tab| tab.children.get_mut(child)) {
            known.waiting_for_debugger = false;
        }
        let method = "Runtime.runIfWaitingForDebugger";
        self.call(&Call::CdpCommand { tab, method, params: "{}", child: Some(child) }, Continuation::Nothing);
    }

    /// Takes the debugger off every tab, whoever uses it.
    pub(crate) fn detach_all(&mut self) {
        for tab in self.tabs.ids() {
            if let Some(known) = self.tabs.get_mut(tab).filter(|tab| !tab.is_dormant()) {
                known.fall_dormant();
                self.call(&Call::DetachTab { tab }, Continuation::Nothing);
            }
        }
    }

    /// Takes the debugger off a tab that no session sees any more, so that the browser's notice of it goes away.
    pub(crate) fn detach_if_unused(&mut self, tab: TabId) {
        // Also by the target above it: Puppeteer attaches to that first, and to the page a moment later.
        let is_seen = self.sessions.at(Some(tab)).next().is_some();
        let is_used = is_seen || self.pending.asks(tab);
        let Some(known) = self.tabs.get_mut(tab) else { return };
        if is_used || !known.is_live() {
            return;
        }
        known.fall_dormant();
        known.lifecycle.clear();
        // An extension that is not there, or not known yet, shows this attachment when it lists its tabs.
        if matches!(self.extension, Extension::Ready { .. }) {
            self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        }
    }
}

impl crate::targets::Tab {
    /// Without the debugger nothing is known of what is in the page. Gives the child frames that clients were told of.
    pub(crate) fn fall_dormant(&mut self) -> Vec<String> {
        self.attachment = Attachment::Dormant;
        self.contexts.clear();
        self.bootstraps.clear();
        self.children.clear();
        std::mem::take(&mut self.frames)
    }
}
