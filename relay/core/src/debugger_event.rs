//! What Chrome's debugger tells of a tab and of the targets below it, and what happens when it goes.

use std::borrow::Cow;

use crate::Core;
use crate::contexts::{Context, Created};
use crate::error::CdpError;
use crate::ids::{ChildId, SessionId, TabId};
use crate::pending::Continuation;
use crate::sessions::Subject;
use crate::switches::LIFECYCLE;
use crate::targets::{Attachment, HeldEvent, Tab, WakeStage};
use crate::translate::{self, text_field};
use crate::wire::TabDetached;

impl Core {
    pub(crate) fn on_tab_detached(&mut self, detached: &TabDetached) {
        let tab = detached.tab_id;
        tracing::info!(%tab, reason = detached.reason, "debugger detached");
        self.on_attachment_lost(tab, &detached.reason);
        if detached.reason == "canceled_by_user" {
            // The person took the tab back. Its sessions end; nothing attaches to it again by itself.
            let params = serde_json::json!({ "reason": detached.reason }).to_string();
            let pages: Vec<SessionId> = self
                .sessions
                .viewing(&Subject::Page(tab))
                .map(|(id, _)| id)
                .collect();
            for session in pages {
                self.send_event(session, "Inspector.detached", &params);
                self.end_session(session);
            }
        }
    }

    /// A live tab is dormant again; the next command wakes it to the state its sessions had.
    pub(crate) fn on_attachment_lost(&mut self, tab: TabId, reason: &str) {
        let error = CdpError::Detached(reason.to_owned());
        let is_told_of = self
            .tabs
            .get(tab)
            .is_some_and(|known| match &known.attachment {
                Attachment::Live => true,
                Attachment::Waking(wake) => matches!(
                    wake.stage,
                    WakeStage::MakingWorlds | WakeStage::MakingHelpers
                ),
                Attachment::Dormant => false,
            });
        let of_tab = self.pending.take_where(|entry| {
            entry.tab == Some(tab)
                && matches!(
                    entry.continuation,
                    Continuation::Reply { .. } | Continuation::Waking { .. }
                )
                && entry.method != "activateTab"
        });
        self.forget_told(tab);
        self.on_wake_failed(tab, &error);
        for entry in of_tab {
            self.on_call_failed(entry, &error);
        }
        // Of a tab that was only being attached to, clients know nothing that would be lost.
        let Some(known) = self.tabs.get_mut(tab).filter(|_| is_told_of) else {
            return;
        };
        let children: Vec<ChildId> = known.children.keys().cloned().collect();
        for child in children {
            self.on_child_detached(tab, &child);
        }
        let frames = self
            .tabs
            .get_mut(tab)
            .map(Tab::fall_dormant)
            .unwrap_or_default();
        self.forget_real_scripts(tab);
        // Waking tells of the child frames anew.
        for frame in frames.below().rev() {
            let params = serde_json::json!({ "frameId": frame.id, "reason": "remove" }).to_string();
            self.deliver(&Subject::Page(tab), "Page.frameDetached", &params);
        }
        self.deliver(
            &Subject::Page(tab),
            "Runtime.executionContextsCleared",
            "{}",
        );
        self.announce_imagined_contexts(tab);
    }

    /// The debugger is gone, and with it what Chrome called the scripts of the page's sessions.
    pub(crate) fn forget_real_scripts(&mut self, tab: TabId) {
        let views: Vec<SessionId> = self
            .sessions
            .viewing(&Subject::Page(tab))
            .map(|(id, _)| id)
            .collect();
        for session in views {
            if let Some(view) = self.sessions.get_mut(session) {
                view.journal.forget_real_scripts();
            }
        }
    }

    pub(crate) fn on_cdp_event(
        &mut self,
        tab: TabId,
        child: Option<&ChildId>,
        method: &str,
        params: &str,
    ) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        if !known.hears_sessions() {
            // An event of a debugger that was just given up.
            return;
        }
        if child.is_none() {
            match method {
                "Page.javascriptDialogOpening" => known.dialog_is_open = true,
                "Page.javascriptDialogClosed" => known.dialog_is_open = false,
                "Inspector.targetCrashed" => known.is_crashed = true,
                "Inspector.targetReloadedAfterCrash" => known.is_crashed = false,
                _ => {}
            }
        }
        match &mut known.attachment {
            Attachment::Live | Attachment::Dormant => {}
            // A dialog stops the page, and waking with it, until a client answers.
            Attachment::Waking(_)
                if child.is_none()
                    && matches!(
                        method,
                        "Page.javascriptDialogOpening" | "Page.javascriptDialogClosed"
                    ) =>
            {
                self.deliver(&Subject::Page(tab), method, params);
                return;
            }
            Attachment::Waking(wake) => {
                wake.held.push(HeldEvent {
                    method: method.to_owned(),
                    params: params.to_owned(),
                    child: child.cloned(),
                });
                if child.is_none() && method == "Inspector.targetCrashed" {
                    self.wake_crashed(tab);
                }
                return;
            }
        }
        self.handle_cdp_event(tab, child, method, params);
    }

    /// Keeps the book of the tab by what its debugger tells, and tells the sessions that asked for it.
    pub(crate) fn handle_cdp_event(
        &mut self,
        tab: TabId,
        child: Option<&ChildId>,
        method: &str,
        params: &str,
    ) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let params = &*known.frame_to_announced(Cow::Borrowed(params));
        let subject = child.map_or(Subject::Page(tab), |child| {
            Subject::Child(tab, child.clone())
        });
        if let Some(mirror) = self.mirror_of(&subject) {
            mirror.note(method, params);
        }
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        known.note_document_request(child, method, params);
        if child.is_none() {
            known.frames.note(method, params);
        }
        match (method, child) {
            ("Target.attachedToTarget", _) => self.on_child_attached(tab, child, params),
            ("Target.detachedFromTarget", _) => {
                if let Some(child) = text_field(params, "sessionId") {
                    self.on_child_detached(tab, &ChildId::new(&child));
                }
            }
            ("Runtime.executionContextCreated", None) => self.on_context_created(tab, params),
            ("Runtime.executionContextDestroyed", None) => {
                let id = translate::field(params, "executionContextId")
                    .and_then(|text| text.parse().ok());
                if let Some(context) = id.and_then(|id| known.contexts.destroyed(id)) {
                    self.announce_context_destroyed(tab, &context);
                }
            }
            ("Runtime.executionContextsCleared", None) => {
                known.contexts.clear();
                known.bootstraps.clear();
                self.deliver(&subject, method, params);
            }
            ("Inspector.targetCrashed", None) => {
                // Chrome would answer when the page is reloaded, if ever.
                let unanswered = self.pending.take_where(|entry| entry.waits_for_page(tab));
                for entry in unanswered {
                    self.on_call_failed(entry, &CdpError::PageCrashed);
                }
                self.deliver(&subject, method, params);
            }
            ("Page.frameStartedNavigating", Some(child)) => {
                if let Some(child) = known.children.get_mut(child) {
                    child.navigating =
                        text_field(params, "frameId").zip(text_field(params, "loaderId"));
                }
                self.deliver(&subject, method, params);
            }
            ("Page.frameNavigated", None) => {
                self.deliver(&subject, method, params);
                self.complete_restored_page(tab, params);
            }
            ("Fetch.requestPaused" | "Fetch.authRequired", _) => {
                self.on_request_paused(&subject, method, params)
            }
            ("Network.loadingFailed", _) => {
                if !known.paused.is_empty()
                    && let Some(id) = text_field(params, "requestId")
                {
                    known.paused.failed(&id);
                }
                self.deliver(&subject, method, params);
            }
            _ => self.deliver(&subject, method, params),
        }
    }

    /// A page out of the back/forward cache is complete already, so Chrome reports no loading, and clients that went back
    /// would wait for it for ever.
    fn complete_restored_page(&mut self, tab: TabId, params: &str) {
        if translate::field(params, "type") != Some("\"BackForwardCacheRestore\"") {
            return;
        }
        let Some(frame) = translate::field(params, "frame") else {
            return;
        };
        let part = |key| translate::field(frame, key).unwrap_or("null").to_owned();
        let (frame_id, loader_id, timestamp) =
            (part("id"), part("loaderId"), self.now.as_secs_f64());
        for name in [
            "DOMContentLoaded",
            "load",
            "networkAlmostIdle",
            "networkIdle",
        ] {
            let event = format!(
                r#"{{"frameId":{frame_id},"loaderId":{loader_id},"name":"{name}","timestamp":{timestamp}}}"#
            );
            self.tabs
                .get_mut(tab)
                .into_iter()
                .for_each(|known| known.mirror.note(LIFECYCLE, &event));
            self.deliver(&Subject::Page(tab), LIFECYCLE, &event);
        }
    }

    pub(crate) fn announce_context_destroyed(&mut self, tab: TabId, context: &Context) {
        let params = serde_json::json!({ "executionContextId": context.announced, "executionContextUniqueId": context.announced_unique });
        self.deliver(
            &Subject::Page(tab),
            "Runtime.executionContextDestroyed",
            &params.to_string(),
        );
    }

    fn on_context_created(&mut self, tab: TabId, params: &str) {
        let Some(description) = translate::field(params, "context") else {
            return;
        };
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        match known.contexts.created(description) {
            Some(Created::Paired) => {}
            Some(Created::New) | None => self.deliver(
                &Subject::Page(tab),
                "Runtime.executionContextCreated",
                params,
            ),
        }
    }
}
