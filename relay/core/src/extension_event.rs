//! The extension's link: its hello, its replies, and where its events go.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::CdpError;
use crate::ids::{CallId, ChildId, TabId};
use crate::pending::{Continuation, Entry, Note};
use crate::targets::Tab;
use crate::wire::{self, Call, CdpEvent, Hello, Incoming, TabRemoved, TabReport};
use crate::{Core, Extension};

impl Core {
    // ---- the link ----

    pub(crate) fn on_extension_opened(&mut self) {
        self.tabs_gone_at = None;
        self.extension = Extension::Greeting {
            hello: None,
            until: self.now + self.config.greet_within,
        };
        self.next_ping = Some(self.now + self.config.ping_every);
        self.pong_due = None;
    }

    /// Whatever was under way has an unknown outcome and is never sent again: a click may have happened already.
    pub(crate) fn on_extension_closed(&mut self) {
        if matches!(self.extension, Extension::Absent) {
            return;
        }
        self.extension = Extension::Absent;
        self.tabs_gone_at = Some(self.now + self.config.absent_within);
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
        if let Some(event) = wire::EventFrame::parse(text) {
            self.pong_due = None;
            self.on_wire_event(event);
            return;
        }
        match wire::parse_frame(text) {
            Ok(messages) => {
                for message in messages {
                    self.on_extension_message(&message);
                }
            }
            // A reply may have been in it, and its client must not wait for ever.
            Err(error) => {
                self.give_up_extension(&format!("the extension sent what cannot be read: {error}"))
            }
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
            "tabRemoved" => self.read(params, |core, gone: TabRemoved| {
                core.on_tab_gone(gone.tab_id)
            }),
            "tabReplaced" => self.read(params, Self::on_tab_replaced),
            "tabDetached" => self.read(params, |core, detached| core.on_tab_detached(&detached)),
            other => tracing::debug!(method = other, "the extension sent what is not known here"),
        }
    }

    fn read<'a, T: Deserialize<'a>>(
        &mut self,
        params: &'a RawValue,
        then: impl FnOnce(&mut Self, T),
    ) {
        match serde_json::from_str(params.get()) {
            Ok(read) => then(self, read),
            Err(error) => tracing::warn!(%error, "the extension sent an event that cannot be read"),
        }
    }

    fn on_hello(&mut self, said: Hello) {
        let Extension::Greeting { hello, .. } = &mut self.extension else {
            return;
        };
        if said.protocol != wire::PROTOCOL {
            let reason = format!(
                "the extension speaks protocol {}, this relay {}; update both to one version",
                said.protocol,
                wire::PROTOCOL
            );
            self.give_up_extension(&reason);
            return;
        }
        tracing::info!(
            browser = said.browser,
            version = said.version,
            "extension connected"
        );
        *hello = Some(said);
        self.call(&Call::ListTabs, Continuation::Tabs);
    }

    // ---- replies ----

    pub(crate) fn on_call_answered(&mut self, entry: Entry, result: &RawValue) {
        match entry.continuation {
            Continuation::Reply {
                client,
                session,
                request,
                note: note @ (Note::Interception { .. } | Note::Answer { .. }),
            } => {
                self.on_fetch_answered(entry.tab, entry.child.as_ref(), session, note, true);
                self.send_reply(client, session, request, result.get());
            }
            Continuation::Reply {
                client,
                session,
                request,
                note: Note::Join(deferred),
            } => {
                let request = self.undefer(session, request, deferred);
                self.on_turn_to_join(client, session, request);
            }
            Continuation::Reply {
                client,
                session,
                request,
                note: Note::Turn(deferred),
            } => {
                let request = self.undefer(session, request, deferred);
                self.on_turn(client, session, &entry.child, &request);
            }
            Continuation::Reply {
                client,
                session,
                request,
                note: Note::Breakpoint,
            } => {
                self.on_breakpoint_set(session, entry.tab, entry.child.as_ref(), result.get());
                self.send_reply(client, session, request, result.get());
            }
            Continuation::Reply {
                client,
                session,
                request,
                note: Note::Leaves,
            } => {
                self.send_reply(client, session, request, result.get());
                entry
                    .tab
                    .into_iter()
                    .for_each(|tab| self.wake_next_document(tab));
            }
            Continuation::Reply {
                client,
                session,
                request,
                note,
            } => {
                self.on_command_answered(client, session, request, entry.tab, note, result.get());
            }
            Continuation::Tabs => self.on_tabs_listed(result),
            Continuation::Attached { tab } => self.on_attached(tab),
            Continuation::Waking { tab, step } => self.on_wake_step(tab, step, Ok(result)),
            Continuation::Told { tab, step, .. } => {
                self.on_told(tab, entry.child.as_ref(), step, Ok(result))
            }
            Continuation::Created {
                client,
                session,
                request,
            } => match serde_json::from_str::<TabReport>(result.get()) {
                Ok(report) => {
                    let tab = TabId(report.tab_id);
                    let target = self.on_tab_asked_for(client, report);
                    let result = serde_json::json!({ "targetId": target }).to_string();
                    self.send_reply(client, session, request, &result);
                    // The client may have gone meanwhile, or attaches to no tab by itself.
                    self.close_or_detach(tab);
                }
                Err(error) => self.send_error(
                    client,
                    session,
                    request,
                    &CdpError::Refused(format!("Target.createTarget: {error}")),
                ),
            },
            Continuation::Closed {
                client,
                session,
                request,
                tab,
            } => {
                self.on_tab_gone(tab);
                self.send_reply(client, session, request, r#"{"success":true}"#);
            }
            Continuation::Late => self.on_late_answer(entry.tab, result),
            Continuation::Probe => self.on_probe_answered(entry.tab, entry.child.as_ref()),
            Continuation::Nothing => {}
        }
    }

    /// A tab was made or attached after its client was told that it was not: nobody uses it, so the debugger comes off.
    fn on_late_answer(&mut self, asked: Option<TabId>, result: &RawValue) {
        let created = serde_json::from_str::<TabReport>(result.get())
            .ok()
            .filter(|_| asked.is_none());
        let Some(tab) = asked.or(created.as_ref().map(|report| TabId(report.tab_id))) else {
            return;
        };
        if let Some(report) = created {
            self.on_tab_created(report);
        }
        if self.tabs.get(tab).is_some_and(Tab::is_dormant) {
            self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        }
    }

    pub(crate) fn on_call_failed(&mut self, entry: Entry, error: &CdpError) {
        if self.is_turn(&entry, error) {
            return self.on_call_answered(entry, RawValue::NULL);
        }
        match entry.continuation {
            Continuation::Reply {
                client,
                session,
                request,
                note,
            } => {
                self.send_error(client, session, request, error);
                match note {
                    Note::TranslateResult {
                        helper_in: Some(context),
                    } => self.on_helper_failed(session, context),
                    Note::Turn(deferred) => {
                        let request = self.undefer(session, request, deferred);
                        self.on_turn_lost(session, &request);
                    }
                    Note::Join(deferred) => drop(self.undefer(session, request, deferred)),
                    Note::Leaves => entry
                        .tab
                        .into_iter()
                        .for_each(|tab| self.give_up_waking(tab, error)),
                    note => self.on_fetch_answered(
                        entry.tab,
                        entry.child.as_ref(),
                        session,
                        note,
                        false,
                    ),
                }
            }
            Continuation::Created {
                client,
                session,
                request,
            }
            | Continuation::Closed {
                client,
                session,
                request,
                ..
            } => {
                self.send_error(client, session, request, error);
            }
            Continuation::Tabs => {
                self.give_up_extension(&format!("the extension could not list its tabs: {error}"))
            }
            Continuation::Attached { tab } => self.on_wake_failed(tab, error),
            Continuation::Waking { tab, step } => self.on_wake_step(tab, step, Err(error)),
            Continuation::Told { tab, step, .. } => {
                self.on_told(tab, entry.child.as_ref(), step, Err(error))
            }
            // An error of Chrome's own is an answer too.
            Continuation::Probe if matches!(error, CdpError::Chrome { .. }) => {
                self.on_probe_answered(entry.tab, entry.child.as_ref())
            }
            Continuation::Late | Continuation::Nothing | Continuation::Probe => {
                tracing::debug!(method = entry.method, %error, "failed")
            }
        }
    }

    fn on_wire_event(&mut self, event: CdpEvent<'_>) {
        let child = Some(event.child_session_id.as_ref())
            .filter(|id| !id.is_empty())
            .map(ChildId::new);
        let params = event.params.map_or("{}", RawValue::get);
        self.on_cdp_event(event.tab_id, child.as_ref(), &event.method, params);
    }
}
