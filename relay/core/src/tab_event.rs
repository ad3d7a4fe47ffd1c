//! What happens with the browser's tabs: those that come and go, and what the person does with them.

use serde_json::value::RawValue;

use crate::error::CdpError;
use crate::ids::{ClientId, SessionId, TabId, TargetId};
use crate::pending::Continuation;
use crate::sessions::Subject;
use crate::targets::{Attachment, Tab, WakeStage};
use crate::wire::{Call, LoadStatus, TabList, TabNavigated, TabReplaced, TabReport};
use crate::{Core, Extension};

impl Core {
    /// The browser's tabs as they are now; what the relay knew before is brought in line.
    pub(crate) fn on_tabs_listed(&mut self, result: &RawValue) {
        let Extension::Greeting {
            hello: Some(hello), ..
        } = &self.extension
        else {
            return;
        };
        let hello = hello.clone();
        let reports = match serde_json::from_str::<TabList>(result.get()) {
            Ok(list) => list.into_tabs(),
            Err(error) => {
                return self.give_up_extension(&format!(
                    "the extension's list of tabs cannot be read: {error}"
                ));
            }
        };
        self.extension = Extension::Ready { hello };
        for tab in self.tabs.ids() {
            let report = reports.iter().find(|report| report.tab_id == tab.0);
            let same = report.is_some_and(|report| {
                report
                    .target_id
                    .as_deref()
                    .is_none_or(|id| self.tabs.get(tab).is_some_and(|t| t.page.as_str() == id))
            });
            if same {
                self.on_attachment_lost(tab, "the extension was restarted");
            } else {
                self.on_tab_gone(tab);
            }
        }
        tracing::info!(tabs = reports.len(), "tabs listed");
        for report in reports {
            let (tab, attached) = (TabId(report.tab_id), report.attached);
            let before = self.tabs.get(tab).map(|known| known.url.clone());
            if let Some(before) = before {
                self.on_tab_updated(&report);
                if report.url.as_ref().is_some_and(|url| *url != before) {
                    self.imagine_navigation(tab);
                    self.on_tab_updated(&report);
                }
            } else {
                self.on_tab_created(report);
            }
            if attached {
                self.adopt_attachment(tab);
            }
            // Its client may have left while the browser was away.
            self.close_or_detach(tab);
        }
        self.resume_deferred();
    }

    /// The debugger outlived the extension's worker or the relay. What it still holds for clients is not known any more, so it is
    /// taken off; a tab that is in use is woken anew.
    fn adopt_attachment(&mut self, tab: TabId) {
        self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        if self.sessions.viewing(&Subject::Page(tab)).next().is_some() {
            self.wake(tab);
        }
    }

    pub(crate) fn on_tab_created(&mut self, report: TabReport) {
        let tab = TabId(report.tab_id);
        if self.tabs.get(tab).is_some() {
            self.on_tab_updated(&report);
            return;
        }
        self.enter_tab(report);
        self.announce_tab(tab);
    }

    /// A tab that a client asked for: live already, because the client is about to use it.
    pub(crate) fn on_tab_asked_for(
        &mut self,
        client: ClientId,
        report: TabReport,
    ) -> Option<TargetId> {
        let (tab, attached) = (TabId(report.tab_id), report.attached);
        let is_new = self.tabs.get(tab).is_none();
        if is_new {
            self.enter_tab(report);
        }
        let known = self.tabs.get_mut(tab)?;
        known.created_by = Some(client);
        if attached && known.is_dormant() {
            known.attachment = Attachment::Live;
        }
        let target = known.page.clone();
        if is_new {
            self.announce_tab(tab);
        }
        Some(target)
    }

    fn enter_tab(&mut self, report: TabReport) {
        let page = report
            .target_id
            .as_deref()
            .map_or_else(|| self.ids.target(), TargetId::new);
        let opener = report
            .opener_tab_id
            .and_then(|opener| self.tabs.get(TabId(opener)))
            .map(|opener| opener.page.clone());
        let (above, loader) = (self.ids.target(), self.ids.target());
        let mut tab = Tab::new(report, page, above, loader);
        tab.opener = opener;
        self.tabs.insert(tab);
    }

    pub(crate) fn on_tab_updated(&mut self, report: &TabReport) {
        let tab = TabId(report.tab_id);
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let before = (known.url.clone(), known.title.clone());
        known.url = report.url.clone().unwrap_or_else(|| known.url.clone());
        known.title = report.title.clone().unwrap_or_else(|| known.title.clone());
        known.status = report.status.unwrap_or(known.status);
        let (is_dormant, changed) = (
            known.is_dormant(),
            before != (known.url.clone(), known.title.clone()),
        );
        if changed {
            self.announce_changed(tab);
        }
        if is_dormant {
            self.imagine_lifecycle(tab, None);
        }
    }

    pub(crate) fn on_tab_navigated(&mut self, navigated: TabNavigated) {
        let tab = navigated.tab_id;
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let changed = known.url != navigated.url;
        known.url = navigated.url;
        let (is_dormant, page, url) = (known.is_dormant(), known.page.clone(), known.url.clone());
        if let Attachment::Waking(wake) = &mut known.attachment
            && wake.stage == WakeStage::Attaching
        {
            // The debugger that comes does not tell of what was before.
            wake.is_next_document |= !navigated.same_document;
        }
        if changed {
            self.announce_changed(tab);
        }
        // A live tab's debugger tells of it.
        if is_dormant && navigated.same_document {
            let params =
                serde_json::json!({ "frameId": page, "url": url, "navigationType": "other" })
                    .to_string();
            self.deliver(&Subject::Page(tab), "Page.navigatedWithinDocument", &params);
        } else if is_dormant {
            self.imagine_navigation(tab);
        }
    }

    /// The person navigated a dormant tab: its sessions learn what a live one would tell them.
    pub(crate) fn imagine_navigation(&mut self, tab: TabId) {
        let loader = self.ids.target();
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        known.loader = loader;
        known.status = LoadStatus::Loading;
        known.lifecycle.clear();
        let frame = known.frame();
        let had_contexts = !known.contexts.is_empty();
        known.contexts.clear();
        known.bootstraps.clear();
        let subject = Subject::Page(tab);
        if had_contexts {
            self.deliver(&subject, "Runtime.executionContextsCleared", "{}");
        }
        self.deliver(
            &subject,
            "Page.frameNavigated",
            &serde_json::json!({ "frame": frame, "type": "Navigation" }).to_string(),
        );
        self.announce_imagined_contexts(tab);
        self.imagine_lifecycle(tab, None);
    }

    pub(crate) fn announce_imagined_contexts(&mut self, tab: TabId) {
        self.imagine_contexts(tab, true);
        let views: Vec<SessionId> = self
            .sessions
            .viewing(&Subject::Page(tab))
            .filter(|(_, view)| view.enabled.contains("Runtime"))
            .map(|(id, _)| id)
            .collect();
        for session in views {
            self.announce_contexts_to(session);
        }
    }

    pub(crate) fn on_tab_gone(&mut self, tab: TabId) {
        if self.tabs.get(tab).is_none() {
            return;
        }
        self.on_wake_failed(tab, &CdpError::TabClosed);
        // A closing that is under way is answered by its own reply.
        let of_tab = self.pending.take_where(|entry| {
            entry.tab == Some(tab) && !matches!(entry.continuation, Continuation::Closed { .. })
        });
        for entry in of_tab {
            self.on_call_failed(entry, &CdpError::TabClosed);
        }
        self.announce_gone(tab);
    }

    pub(crate) fn on_tab_replaced(&mut self, replaced: TabReplaced) {
        self.on_tab_gone(replaced.removed_tab_id);
        self.on_tab_created(replaced.added);
    }
}
