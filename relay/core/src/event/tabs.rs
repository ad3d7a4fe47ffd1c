//! Tabs that appear, change and disappear, whoever causes it.

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::pending_call::PendingCall;
use crate::model::tab::Tab;
use crate::model::target::Target;
use crate::model::wake::Stage;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{ClientId, TabId, TargetId};
use crate::protocol::wire::{TabList, TabNavigated, TabReplaced, TabReport};

impl Core {
    /// The current tabs of a browser that has just connected. What was known before is brought up
    /// to date.
    pub(crate) fn on_tabs_listed(&mut self, result: &str) {
        if !self.world.link.is_greeting() {
            return;
        }
        let (has_permissions, is_paused, reports) = match serde_json::from_str::<TabList>(result) {
            Ok(list) => (list.has_permissions(), list.is_paused(), list.into_tabs()),
            Err(error) => {
                let reason = format!("the extension's list of tabs cannot be parsed: {error}");
                return self.close_extension(&reason);
            }
        };
        self.world.link.become_ready();
        self.set_paused(is_paused);
        self.update_download_watch(Continuation::Ignore);
        for tab_id in self.world.tabs.ids() {
            if self.is_listed(tab_id, &reports) {
                self.on_attachment_lost(tab_id, "the extension was restarted");
            } else {
                self.on_tab_removed(tab_id);
            }
        }
        tracing::info!(tabs = reports.len(), "tabs listed");
        for report in reports {
            self.on_tab_listed(report);
        }
        // Their client may have disconnected while the browser was away, or the browser may have
        // been started again without them.
        if has_permissions || !self.world.permissions.is_empty() {
            self.send_permissions(Continuation::Ignore);
        }
    }

    /// Whether a list still has this tab, with the same page.
    fn is_listed(&self, tab_id: TabId, reports: &[TabReport]) -> bool {
        let report = reports.iter().find(|report| report.tab_id == tab_id.0);
        let tab = self.world.tabs.get(tab_id);
        let Some((report, tab)) = report.zip(tab) else {
            return false;
        };
        let target_id = report.target_id.as_deref();
        target_id.is_none_or(|id| tab.page_id().as_str() == id)
    }

    fn on_tab_listed(&mut self, mut report: TabReport) {
        // A list is complete: a tab without frames has none.
        report.frames.get_or_insert_default();
        let (tab_id, attached) = (TabId(report.tab_id), report.attached);
        let is_restricted = *report.restricted.get_or_insert(false);
        let tab = self.world.tabs.get(tab_id);
        if let Some(url) = tab.map(|tab| tab.url().to_owned()) {
            self.on_tab_updated(&report);
            let is_elsewhere = report.url.as_ref().is_some_and(|reported| *reported != url);
            if is_elsewhere && !is_restricted {
                self.end_placeholders(tab_id);
                self.synthesize_navigation(tab_id);
                self.on_tab_updated(&report);
            }
            self.announce_frame_changes(tab_id);
        } else {
            self.on_tab_created(report);
        }
        if attached {
            // It outlived the extension's worker or the relay. What it has enabled is unknown.
            self.out.detach(tab_id);
        }
        self.resume_use(tab_id);
        // Its client may have disconnected while the browser was away.
        self.close_or_detach(tab_id);
    }

    /// A tab that was in use when the extension was lost is attached again at once, because its
    /// clients may be waiting for events.
    fn resume_use(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get(tab_id);
        let is_usable =
            tab.is_some_and(|tab| tab.resumes() && tab.is_dormant() && !tab.is_restricted());
        if is_usable && !self.out.is_paused() && self.world.is_used(tab_id) {
            self.wake(tab_id);
        }
    }

    pub(crate) fn on_tab_created(&mut self, report: TabReport) {
        let tab_id = TabId(report.tab_id);
        if self.world.tabs.contains(tab_id) {
            return self.on_tab_updated(&report);
        }
        self.add_tab(report);
        self.announce_tab(tab_id);
    }

    /// A tab that a client created: live from the start, because the client is about to use it.
    pub(crate) fn on_tab_created_by(
        &mut self,
        client_id: ClientId,
        report: TabReport,
    ) -> Option<TargetId> {
        let (tab_id, attached) = (TabId(report.tab_id), report.attached);
        let is_new = !self.world.tabs.contains(tab_id);
        let is_owner = self.world.clients.owns_tabs(client_id);
        if is_new {
            self.add_tab(report);
        }
        let tab = self.world.tabs.get_mut(tab_id)?;
        tab.set_created_by(is_owner.then_some(client_id));
        if attached {
            tab.start_live();
        }
        let page_id = tab.page_id().clone();
        if is_new {
            self.announce_tab(tab_id);
        }
        // Chrome sends it when the new page has its document, which it has here from the start.
        // zendriver waits for it.
        self.announce_changed(tab_id);
        Some(page_id)
    }

    fn add_tab(&mut self, report: TabReport) {
        let ids = &mut self.out.ids;
        let reported = report.target_id.as_deref();
        let page_id = reported.map_or_else(|| ids.target(), TargetId::new);
        let opener = report.opener_tab_id.map(TabId);
        let opener = opener.and_then(|id| self.world.tabs.get(id));
        let opener = opener.map(|tab| tab.page_id().clone());
        let (tab_target_id, loader) = (ids.target(), ids.target());
        let tab = Tab::new(report, page_id, tab_target_id, loader, opener);
        self.world.tabs.insert(tab);
    }

    pub(crate) fn on_tab_updated(&mut self, report: &TabReport) {
        let tab_id = TabId(report.tab_id);
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let (was_restricted, url) = (tab.is_restricted(), tab.url().to_owned());
        let changed = tab.update(report);
        if tab.is_restricted() && !(was_restricted && tab.url() == url) {
            return self.on_tab_restricted(tab_id, report);
        }
        let is_dormant = tab.is_dormant();
        if let Some(frames) = report.frames.clone() {
            self.on_remote_frames(tab_id, frames);
        }
        if changed {
            self.announce_changed(tab_id);
        }
        if is_dormant {
            self.synthesize_lifecycle(tab_id, None);
        }
    }

    pub(crate) fn on_tab_navigated(&mut self, navigated: TabNavigated) {
        let tab_id = navigated.tab_id;
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let changed = tab.set_url(navigated.url);
        if let Some(wake) = tab.wake_mut()
            && wake.stage() == Stage::Attaching
            && !navigated.same_document
        {
            // The debugger that is being attached does not report earlier documents.
            wake.set_next_document();
        }
        let is_dormant = tab.is_dormant();
        if !navigated.same_document {
            // The extension reports those of the new document.
            tab.set_remote_frames(Vec::new());
        }
        let same_document = serde_json::json!({
            "frameId": tab.page_id(), "url": tab.url(), "navigationType": "other",
        });
        if changed {
            self.announce_changed(tab_id);
        }
        // The debugger of a live tab reports the navigation itself.
        if is_dormant && navigated.same_document {
            let page = Target::Page(tab_id);
            let params = same_document.to_string();
            self.broadcast(&page, "Page.navigatedWithinDocument", &params);
        } else if is_dormant {
            self.end_placeholders(tab_id);
            self.synthesize_navigation(tab_id);
        }
        self.announce_frame_changes(tab_id);
    }

    pub(crate) fn on_tab_removed(&mut self, tab_id: TabId) {
        if !self.world.tabs.contains(tab_id) {
            return;
        }
        self.confirm_closing(tab_id);
        self.on_wake_failed(tab_id, &CdpError::TabClosed);
        let is_lost = |call: &PendingCall| call.tab_id() == Some(tab_id) && !call.closes_tab();
        for (_, call) in self.out.calls.take_where(is_lost) {
            self.fail_call(call, &CdpError::TabClosed);
        }
        self.process_queues();
        for session_id in self.world.sessions.ids_at(Some(tab_id)) {
            self.end_session(session_id);
        }
        if let Some(removed) = self.world.tabs.remove(tab_id) {
            self.announce_removed(&removed);
        }
    }

    pub(crate) fn on_tab_replaced(&mut self, replaced: TabReplaced) {
        let removed = self.world.tabs.get_mut(replaced.removed_tab_id);
        let releases = removed.map(|tab| std::mem::take(&mut tab.releases));
        let added = TabId(replaced.added.tab_id);
        self.on_tab_removed(replaced.removed_tab_id);
        self.on_tab_created(replaced.added);
        if let (Some(releases), Some(tab)) = (releases, self.world.tabs.get_mut(added)) {
            tab.releases = releases;
        }
    }
}
