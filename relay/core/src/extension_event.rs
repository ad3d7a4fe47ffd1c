//! Messages of the extension: its hello, replies to calls, debugger events, and what the person does with the tabs.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contexts::Context;
use crate::error::CdpError;
use crate::forward::LIFECYCLE;
use crate::ids::{CallId, ChildId, SessionId, TabId, TargetId};
use crate::pending::{Continuation, Entry, Note};
use crate::sessions::Subject;
use crate::targets::{Attachment, Child, HeldEvent, Tab};
use crate::wire::{
    self, Call, CdpEvent, Hello, Incoming, LoadStatus, TabDetached, TabList, TabNavigated, TabRemoved, TabReplaced, TabReport,
};
use crate::{Core, Extension};

impl Core {
    // ---- the link ----

    pub(crate) fn on_extension_opened(&mut self) {
        self.extension = Extension::Greeting { hello: None, until: self.now + self.config.greet_within };
        self.next_ping = Some(self.now + self.config.ping_every);
        self.pong_due = None;
    }

    /// Whatever was under way has an unknown outcome and is never sent again: a click may have happened already.
    pub(crate) fn on_extension_closed(&mut self) {
        if matches!(self.extension, Extension::Absent) {
            return;
        }
        self.extension = Extension::Absent;
        self.next_ping = None;
        self.pong_due = None;
        for entry in self.pending.take_all() {
            self.on_call_failed(entry, &CdpError::ExtensionGone);
        }
        self.resume_deferred();
    }

    pub(crate) fn on_extension_text(&mut self, text: &str) {
        if matches!(self.extension, Extension::Absent) {
            return;
        }
        match wire::parse_frame(text) {
            Ok(messages) => {
                for message in messages {
                    self.on_extension_message(&message);
                }
            }
            Err(error) => tracing::warn!(%error, "the extension sent what cannot be read"),
        }
    }

    fn on_extension_message(&mut self, message: &Incoming<'_>) {
        // Any word from the extension says that it is there.
        self.pong_due = None;
        if let Some(id) = message.id {
            let Some(entry) = self.pending.take(CallId(id)) else {
                tracing::debug!(call = id, "a reply that nobody waits for");
                return;
            };
            let tab = entry.tab;
            match (message.error, message.result) {
                (Some(error), _) => self.on_call_failed(entry, &CdpError::from_extension(error)),
                (None, result) => self.on_call_answered(entry, result.unwrap_or(RawValue::NULL)),
            }
            // It may have been the tab's only use: cookies are asked for through a tab that no session sees.
            if let Some(tab) = tab {
                self.detach_if_unused(tab);
            }
            return;
        }
        let params = message.params.unwrap_or(RawValue::NULL);
        match message.method.as_ref() {
            "cdpEvent" => self.read(params, Self::on_wire_event),
            "pong" => {}
            "hello" => self.read(params, Self::on_hello),
            "tabCreated" => self.read(params, Self::on_tab_created),
            "tabUpdated" => self.read(params, |core, report| core.on_tab_updated(&report)),
            "tabNavigated" => self.read(params, Self::on_tab_navigated),
            "tabRemoved" => self.read(params, |core, gone: TabRemoved| core.on_tab_gone(gone.tab_id)),
            "tabReplaced" => self.read(params, Self::on_tab_replaced),
            "tabDetached" => self.read(params, |core, detached| core.on_tab_detached(&detached)),
            other => tracing::debug!(method = other, "the extension sent what is not known here"),
        }
    }

    fn read<'a, T: Deserialize<'a>>(&mut self, params: &'a RawValue, then: impl FnOnce(&mut Self, T)) {
        match serde_json::from_str(params.get()) {
            Ok(read) => then(self, read),
            Err(error) => tracing::warn!(%error, "the extension sent an event that cannot be read"),
        }
    }

    fn on_hello(&mut self, said: Hello) {
        let Extension::Greeting { hello, .. } = &mut self.extension else { return };
        if said.protocol != wire::PROTOCOL {
            let reason =
                format!("the extension speaks protocol {}, this relay {}; update both to one version", said.protocol, wire::PROTOCOL);
            self.give_up_extension(&reason);
            return;
        }
        tracing::info!(browser = said.browser, version = said.version, "extension connected");
        *hello = Some(said);
        self.call(&Call::ListTabs, Continuation::Tabs);
    }

    // ---- replies ----

    fn on_call_answered(&mut self, entry: Entry, result: &RawValue) {
        match entry.continuation {
            Continuation::Reply { client, session, request, note } => {
                self.on_command_answered(client, session, request, note, result.get());
            }
            Continuation::Tabs => self.on_tabs_listed(result),
            Continuation::Attached { tab } => self.on_attached(tab),
            Continuation::Waking { tab, step } => self.on_wake_step(tab, step, Ok(result)),
            Continuation::Created { client, session, request } => match serde_json::from_str::<TabReport>(result.get()) {
                Ok(report) => {
                    let target = self.on_tab_asked_for(client, report);
                    let result = serde_json::json!({ "targetId": target }).to_string();
                    self.send_reply(client, session, request, &result);
                }
                Err(error) => self.send_error(client, session, request, &CdpError::Refused(format!("Target.createTarget: {error}"))),
            },
            Continuation::Closed { client, session, request, tab } => {
                self.on_tab_gone(tab);
                self.send_reply(client, session, request, r#"{"success":true}"#);
            }
            Continuation::Nothing => {}
        }
    }

    pub(crate) fn on_call_failed(&mut self, entry: Entry, error: &CdpError) {
        match entry.continuation {
            Continuation::Reply { client, session, request, note } => {
                if let Note::Captured { tab } = note {
                    self.on_captured(tab);
                }
                self.send_error(client, session, request, error);
            }
            Continuation::Created { client, session, request } | Continuation::Closed { client, session, request, .. } => {
                self.send_error(client, session, request, error);
            }
            Continuation::Tabs => self.give_up_extension(&format!("the extension could not list its tabs: {error}")),
            Continuation::Attached { tab } => self.on_wake_failed(tab, error),
            Continuation::Waking { tab, step } => self.on_wake_step(tab, step, Err(error)),
            Continuation::Nothing => tracing::debug!(method = entry.method, %error, "failed"),
        }
    }

    // ---- tabs ----

    /// The browser's tabs as they are now; what the relay knew before is brought in line.
    fn on_tabs_listed(&mut self, result: &RawValue) {
        let Extension::Greeting { hello: Some(hello), .. } = &self.extension else { return };
        let hello = hello.clone();
        let reports = match serde_json::from_str::<TabList>(result.get()) {
            Ok(list) => list.into_tabs(),
            Err(error) => return self.give_up_extension(&format!("the extension's list of tabs cannot be read: {error}")),
        };
        self.extension = Extension::Ready { hello };
        for tab in self.tabs.ids() {
            let report = reports.iter().find(|report| report.tab_id == tab.0);
            let same = report.is_some_and(|report| {
                report.target_id.as_deref().is_none_or(|id| self.tabs.get(tab).is_some_and(|t| t.page.as_str() == id))
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
            if self.tabs.get(tab).is_some() {
                self.on_tab_updated(&report);
            } else {
                self.on_tab_created(report);
            }
            if attached {
                self.adopt_attachment(tab);
            }
        }
        self.resume_deferred();
    }

    /// The debugger outlived the extension's worker or the relay. What happened meanwhile is not known, so a tab that is in
    /// use is woken anew; off the others it is taken.
    fn adopt_attachment(&mut self, tab: TabId) {
        let is_used = self.sessions.viewing(&Subject::Page(tab)).next().is_some();
        if is_used {
            self.wake(tab);
        } else {
            self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        }
    }

    fn on_tab_created(&mut self, report: TabReport) {
        let tab = TabId(report.tab_id);
        if self.tabs.get(tab).is_some() {
            self.on_tab_updated(&report);
            return;
        }
        self.enter_tab(report);
        self.announce_tab(tab);
    }

    /// A tab that a client asked for: live already, because the client is about to use it.
    fn on_tab_asked_for(&mut self, client: crate::ids::ClientId, report: TabReport) -> Option<TargetId> {
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
        let page = report.target_id.as_deref().map_or_else(|| self.ids.target(), TargetId::new);
        let opener = report.opener_tab_id.and_then(|opener| self.tabs.get(TabId(opener))).map(|opener| opener.page.clone());
        let (above, loader) = (self.ids.target(), self.ids.target());
        let mut tab = Tab::new(report, page, above, loader);
        tab.opener = opener;
        self.tabs.insert(tab);
    }

    fn on_tab_updated(&mut self, report: &TabReport) {
        let tab = TabId(report.tab_id);
        let Some(known) = self.tabs.get_mut(tab) else { return };
        let before = (known.url.clone(), known.title.clone());
        known.url = report.url.clone().unwrap_or_else(|| known.url.clone());
        known.title = report.title.clone().unwrap_or_else(|| known.title.clone());
        known.status = report.status.unwrap_or(known.status);
        let (is_dormant, changed) = (known.is_dormant(), before != (known.url.clone(), known.title.clone()));
        if changed {
            self.announce_changed(tab);
        }
        if is_dormant {
            self.imagine_lifecycle(tab, None);
        }
    }

    fn on_tab_navigated(&mut self, navigated: TabNavigated) {
        let tab = navigated.tab_id;
        let Some(known) = self.tabs.get_mut(tab) else { return };
        let changed = known.url != navigated.url;
        known.url = navigated.url;
        let (is_dormant, page, url) = (known.is_dormant(), known.page.clone(), known.url.clone());
        if changed {
            self.announce_changed(tab);
        }
        // A live tab's debugger tells of it.
        if is_dormant && navigated.same_document {
            let params = serde_json::json!({ "frameId": page, "url": url, "navigationType": "other" }).to_string();
            self.deliver(&Subject::Page(tab), "Page.navigatedWithinDocument", &params);
        } else if is_dormant {
            self.imagine_navigation(tab);
        }
    }

    /// The person navigated a dormant tab: its sessions learn what a live one would tell them.
    fn imagine_navigation(&mut self, tab: TabId) {
        let loader = self.ids.target();
        let Some(known) = self.tabs.get_mut(tab) else { return };
        known.loader = loader;
        known.status = LoadStatus::Loading;
        known.lifecycle.clear();
        let frame = known.frame();
        let had_contexts = !known.contexts.is_empty();
        known.contexts.clear();
        let subject = Subject::Page(tab);
        if had_contexts {
            self.deliver(&subject, "Runtime.executionContextsCleared", "{}");
        }
        self.deliver(&subject, "Page.frameNavigated", &serde_json::json!({ "frame": frame, "type": "Navigation" }).to_string());
        self.announce_imagined_contexts(tab);
        self.imagine_lifecycle(tab, None);
    }

    fn announce_imagined_contexts(&mut self, tab: TabId) {
        self.imagine_contexts(tab, true);
        let views: Vec<SessionId> =
            self.sessions.viewing(&Subject::Page(tab)).filter(|(_, view)| view.enabled.contains("Runtime")).map(|(id, _)| id).collect();
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
        let of_tab = self.pending.take_where(|entry| entry.tab == Some(tab) && !matches!(entry.continuation, Continuation::Closed { .. }));
        for entry in of_tab {
            self.on_call_failed(entry, &CdpError::TabClosed);
        }
        self.announce_gone(tab);
    }

    fn on_tab_replaced(&mut self, replaced: TabReplaced) {
        self.on_tab_gone(replaced.removed_tab_id);
        self.on_tab_created(replaced.added);
    }

    // ---- the debugger ----

    fn on_tab_detached(&mut self, detached: &TabDetached) {
        let tab = detached.tab_id;
        tracing::info!(%tab, reason = detached.reason, "debugger detached");
        self.on_attachment_lost(tab, &detached.reason);
        if detached.reason == "canceled_by_user" {
            // The person took the tab back. Its sessions end; nothing attaches to it again by itself.
            let params = serde_json::json!({ "reason": detached.reason }).to_string();
            let pages: Vec<SessionId> = self.sessions.viewing(&Subject::Page(tab)).map(|(id, _)| id).collect();
            for session in pages {
                self.send_event(session, "Inspector.detached", &params);
                self.end_session(session);
            }
        }
    }

    /// A live tab is dormant again; the next command wakes it to the state its sessions had.
    fn on_attachment_lost(&mut self, tab: TabId, reason: &str) {
        let error = CdpError::Detached(reason.to_owned());
        let of_tab = self.pending.take_where(|entry| {
            entry.tab == Some(tab)
                && matches!(entry.continuation, Continuation::Reply { .. } | Continuation::Waking { .. })
                && entry.method != "activateTab"
        });
        self.on_wake_failed(tab, &error);
        for entry in of_tab {
            self.on_call_failed(entry, &error);
        }
        let Some(known) = self.tabs.get_mut(tab) else { return };
        if !known.is_live() {
            return;
        }
        known.attachment = Attachment::Dormant;
        known.contexts.clear();
        let frames = std::mem::take(&mut known.frames);
        let children: Vec<ChildId> = known.children.keys().cloned().collect();
        for child in children {
            self.on_child_detached(tab, &child);
        }
        let views: Vec<SessionId> = self.sessions.viewing(&Subject::Page(tab)).map(|(id, _)| id).collect();
        for session in views {
            if let Some(view) = self.sessions.get_mut(session) {
                view.journal.forget_real_scripts();
            }
        }
        // Waking tells of the child frames anew.
        for frame in frames.iter().rev() {
            let params = serde_json::json!({ "frameId": frame, "reason": "remove" }).to_string();
            self.deliver(&Subject::Page(tab), "Page.frameDetached", &params);
        }
        self.deliver(&Subject::Page(tab), "Runtime.executionContextsCleared", "{}");
        self.announce_imagined_contexts(tab);
    }

    fn on_wire_event(&mut self, event: CdpEvent<'_>) {
        let child = Some(event.child_session_id.as_ref()).filter(|id| !id.is_empty()).map(ChildId::new);
        let params = event.params.map_or("{}", RawValue::get);
        self.on_cdp_event(event.tab_id, child.as_ref(), &event.method, params);
    }

    pub(crate) fn on_cdp_event(&mut self, tab: TabId, child: Option<&ChildId>, method: &str, params: &str) {
        let Some(known) = self.tabs.get_mut(tab) else { return };
        match &mut known.attachment {
            Attachment::Live => {}
            // Events of a debugger that was just given up.
            Attachment::Dormant => return,
            Attachment::Waking(wake) => {
                wake.held.push(HeldEvent { method: method.to_owned(), params: params.to_owned(), child: child.cloned() });
                return;
            }
        }
        let subject = child.map_or(Subject::Page(tab), |child| Subject::Child(tab, child.clone()));
        match (method, child) {
            ("Target.attachedToTarget", _) => self.on_child_attached(tab, child, params),
            ("Target.detachedFromTarget", _) => {
                if let Some(child) = crate::translate::field(params, "sessionId").and_then(|text| serde_json::from_str::<String>(text).ok())
                {
                    self.on_child_detached(tab, &ChildId::new(&child));
                }
            }
            ("Runtime.executionContextCreated", None) => self.on_context_created(tab, params),
            ("Runtime.executionContextDestroyed", None) => {
                let id = crate::translate::field(params, "executionContextId").and_then(|text| text.parse().ok());
                if let Some(context) = id.and_then(|id| known.contexts.destroyed(id)) {
                    self.announce_context_destroyed(tab, &context);
                }
            }
            ("Runtime.executionContextsCleared", None) => {
                known.contexts.clear();
                self.deliver(&subject, method, params);
            }
            ("Page.frameAttached" | "Page.frameDetached", None) => {
                let id = crate::translate::field(params, "frameId").and_then(|text| serde_json::from_str::<String>(text).ok());
                if let Some(id) = id {
                    known.frames.retain(|other| *other != id);
                    if method == "Page.frameAttached" {
                        known.frames.push(id);
                    }
                }
                self.deliver(&subject, method, params);
            }
            ("Page.frameNavigated", None) => {
                self.deliver(&subject, method, params);
                self.complete_restored_page(tab, params);
            }
            _ => self.deliver(&subject, method, params),
        }
    }

    /// A page out of the back/forward cache is complete already, so Chrome reports no loading, and clients that went back
    /// would wait for it for ever.
    fn complete_restored_page(&mut self, tab: TabId, params: &str) {
        if crate::translate::field(params, "type") != Some("\"BackForwardCacheRestore\"") {
            return;
        }
        let Some(frame) = crate::translate::field(params, "frame") else { return };
        let part = |key| crate::translate::field(frame, key).unwrap_or("null").to_owned();
        let (frame_id, loader_id, timestamp) = (part("id"), part("loaderId"), self.now.as_secs_f64());
        for name in ["DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"] {
            let event = format!(r#"{{"frameId":{frame_id},"loaderId":{loader_id},"name":"{name}","timestamp":{timestamp}}}"#);
            self.deliver(&Subject::Page(tab), LIFECYCLE, &event);
        }
    }

    pub(crate) fn announce_context_destroyed(&mut self, tab: TabId, context: &Context) {
        let params = serde_json::json!({ "executionContextId": context.announced, "executionContextUniqueId": context.announced_unique });
        self.deliver(&Subject::Page(tab), "Runtime.executionContextDestroyed", &params.to_string());
    }

    fn on_context_created(&mut self, tab: TabId, params: &str) {
        let Some(description) = crate::translate::field(params, "context") else { return };
        let Some(known) = self.tabs.get_mut(tab) else { return };
        match known.contexts.created(description) {
            Some(crate::contexts::Created::Paired) => {}
            Some(crate::contexts::Created::New) | None => self.deliver(&Subject::Page(tab), "Runtime.executionContextCreated", params),
        }
    }

    // ---- targets below a tab ----

    fn on_child_attached(&mut self, tab: TabId, below: Option<&ChildId>, params: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached<'a> {
            session_id: String,
            #[serde(borrow)]
            target_info: &'a RawValue,
            #[serde(default)]
            waiting_for_debugger: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Info {
            target_id: String,
            #[serde(rename = "type")]
            kind: String,
        }
        let Ok(attached) = serde_json::from_str::<Attached<'_>>(params) else { return };
        let Ok(info) = serde_json::from_str::<Info>(attached.target_info.get()) else { return };
        let child = ChildId::new(&attached.session_id);
        let context = serde_json::Value::from(self.context.as_str()).to_string();
        // Clients know the person's profile under the relay's id.
        let target_info =
            crate::translate::replace(attached.target_info.get().into(), &["browserContextId"], |_| Some(context.clone())).into_owned();
        let entry = Child {
            target_info,
            target: TargetId::new(&info.target_id),
            kind: info.kind,
            below: below.cloned(),
            waiting_for_debugger: attached.waiting_for_debugger,
        };
        let Some(known) = self.tabs.get_mut(tab) else { return };
        known.children.insert(child.clone(), entry);
        let wanted = self.announce_child(tab, &child);
        if !wanted && attached.waiting_for_debugger {
            // Nobody will resume it, and the page must not wait for ever.
            let call = Call::CdpCommand { tab, method: "Runtime.runIfWaitingForDebugger", params: "{}", child: Some(&child) };
            self.call(&call, Continuation::Nothing);
        }
    }

    fn on_child_detached(&mut self, tab: TabId, child: &ChildId) {
        let of_child = self.pending.take_where(|entry| entry.tab == Some(tab) && entry.child.as_ref() == Some(child));
        for entry in of_child {
            self.on_call_failed(entry, &CdpError::SessionNotFound);
        }
        let Some(known) = self.tabs.get(tab) else { return };
        let below: Vec<ChildId> =
            known.children.iter().filter(|(_, other)| other.below.as_ref() == Some(child)).map(|(id, _)| id.clone()).collect();
        for grandchild in below {
            self.on_child_detached(tab, &grandchild);
        }
        let views: Vec<SessionId> = self.sessions.viewing(&Subject::Child(tab, child.clone())).map(|(id, _)| id).collect();
        for session in views {
            self.end_session(session);
        }
        if let Some(known) = self.tabs.get_mut(tab) {
            known.children.remove(child);
        }
    }
}
