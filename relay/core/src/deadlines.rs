//! Calls that are not answered in time.
//!
//! The browser must attach, create and close within `tab_call_within`. A client's command may take as long as the page does: a
//! promise that it waits for, a slow load. So when `command_within` is almost over, the page is asked something small. If it
//! answers, the command is only slow, and gets the same time again; if it does not, the page is stopped or hung, and the command
//! fails. While a dialog is open the page waits for a client, not a client for the page; and while a page is navigated, both
//! wait for a server, until it has answered.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::Core;
use crate::error::CdpError;
use crate::ids::{CallId, ChildId, TabId, TargetId};
use crate::pending::{Continuation, Entry, REVIVING};
use crate::sessions::Subject;
use crate::targets::Tab;
use crate::translate;
use crate::wire::Call;

/// How many times its time a command may take while a server lets the page wait: one that says nothing for minutes never will.
const SERVER_PATIENCE: u32 = 10;

/// How long before the end of a command's time the page is asked whether it is there.
const PROBE_WITHIN: Duration = Duration::from_secs(5);

impl Core {
    /// How long the probe of a silent page may take: less where commands have little time anyway.
    fn probe_within(&self) -> Duration {
        PROBE_WITHIN.min(self.config.command_within / 2)
    }

    /// When a client's command is looked at for the first time.
    pub(crate) fn command_deadline(&self) -> crate::Now {
        self.now
            + self
                .config
                .command_within
                .saturating_sub(self.probe_within())
    }

    pub(crate) fn on_overdue_calls(&mut self) {
        let overdue = self.pending.take_overdue(self.now);
        if overdue.is_empty() {
            return;
        }
        // Until a slow server answers, Chrome holds back what is asked of the page that is to be left.
        let navigates = |entry: &&Entry| {
            REVIVING.contains(&entry.method.as_str()) && self.may_wait_for_server(entry)
        };
        let waiting: BTreeSet<Option<TabId>> = self
            .pending
            .iter()
            .chain(overdue.iter().map(|(_, entry)| entry))
            .filter(navigates)
            .map(|entry| entry.tab)
            .collect();
        for (call, entry) in overdue {
            if matches!(entry.continuation, Continuation::Reply { .. }) && entry.is_command {
                let waits_for_server = waiting.contains(&entry.tab) && self.is_patient(&entry);
                self.on_overdue_command(call, entry, waits_for_server);
            } else {
                self.on_overdue_call(call, entry);
            }
        }
    }

    /// Whether a navigation takes long because of a server. Where nobody has `Network` on, Chrome does not tell.
    fn may_wait_for_server(&self, entry: &Entry) -> bool {
        let Some(known) = entry.tab.and_then(|tab| self.tabs.get(tab)) else {
            return false;
        };
        let (awaited, subject) = match &entry.child {
            None => (&known.awaited_document, Subject::Page(known.id)),
            Some(child) => {
                let Some(below) = known.children.get(child) else {
                    return false;
                };
                (
                    &below.awaited_document,
                    Subject::Child(known.id, child.clone()),
                )
            }
        };
        awaited.is_some() || !self.is_on(&subject, "Network")
    }

    fn is_patient(&self, entry: &Entry) -> bool {
        self.now < entry.asked_at + self.config.command_within * SERVER_PATIENCE
    }

    fn on_overdue_command(&mut self, call: CallId, entry: Entry, waits_for_server: bool) {
        let Some(tab) = entry.tab else { return };
        let is_stopped_by_dialog = self.tabs.get(tab).is_some_and(|known| known.dialog_is_open);
        if is_stopped_by_dialog || waits_for_server {
            let deadline = Some(self.command_deadline());
            self.pending.insert(
                call,
                Entry {
                    deadline,
                    is_probed: false,
                    ..entry
                },
            );
        } else if entry.is_probed {
            let error = CdpError::PageSilent(
                entry.asked_method().to_owned(),
                self.config.command_within.as_secs(),
            );
            self.on_call_failed(entry, &error);
        } else {
            self.probe(tab, entry.child.as_ref());
            let deadline = Some(self.now + self.probe_within());
            self.pending.insert(
                call,
                Entry {
                    deadline,
                    is_probed: true,
                    ..entry
                },
            );
        }
    }

    /// Asks a target for the least it can answer, unless it is being asked already.
    fn probe(&mut self, tab: TabId, child: Option<&ChildId>) {
        let is_same = |entry: &Entry| {
            matches!(entry.continuation, Continuation::Probe)
                && entry.tab == Some(tab)
                && entry.child.as_ref() == child
        };
        if !self.pending.iter().any(is_same) {
            let params = r#"{"expression":"0","silent":true}"#;
            self.call(
                &Call::CdpCommand {
                    tab,
                    method: "Runtime.evaluate",
                    params,
                    child,
                },
                Continuation::Probe,
            );
        }
    }

    /// The page answers: whoever waits for it has the whole time again.
    pub(crate) fn on_probe_answered(&mut self, tab: Option<TabId>, child: Option<&ChildId>) {
        let deadline = Some(self.command_deadline());
        for (call, entry) in self.pending.take_calls(|entry| {
            entry.is_probed && entry.tab == tab && entry.child.as_ref() == child
        }) {
            self.pending.insert(
                call,
                Entry {
                    deadline,
                    is_probed: false,
                    ..entry
                },
            );
        }
    }

    fn on_overdue_call(&mut self, call: CallId, entry: Entry) {
        if matches!(
            entry.continuation,
            Continuation::Attached { .. } | Continuation::Created { .. }
        ) {
            // It may be done all the same, and then has to be set right.
            let late = Entry {
                continuation: Continuation::Late,
                method: entry.method.clone(),
                deadline: None,
                ..Entry::of(entry.tab)
            };
            self.pending.insert(call, late);
        }
        let seconds = self.config.tab_call_within.as_secs();
        let error = match entry.continuation {
            Continuation::Waking { .. } => CdpError::PageSilent(entry.method.clone(), seconds),
            _ => CdpError::DeadlinePassed(entry.method.clone(), seconds),
        };
        self.on_call_failed(entry, &error);
    }
}

impl Tab {
    /// Whether a target waits for the server of its next document, as far as `Network` and `Page` tell.
    pub(crate) fn note_document_request(
        &mut self,
        child: Option<&ChildId>,
        event: &str,
        params: &str,
    ) {
        match event {
            // Most requests are for something else, and need not be read.
            "Network.requestWillBeSent" if params.contains("\"Document\"") => {
                let frame = translate::text_field(params, "frameId");
                let own = child.map_or(Some(&self.page), |child| {
                    self.children.get(child).map(|below| &below.target)
                });
                let is_document = translate::field(params, "type") == Some("\"Document\"");
                if is_document && frame.as_deref() == own.map(TargetId::as_str) {
                    let request = translate::text_field(params, "requestId");
                    self.awaited_document_of(child)
                        .into_iter()
                        .for_each(|awaited| awaited.clone_from(&request));
                }
            }
            "Network.responseReceived" | "Network.loadingFailed" => {
                if let Some(awaited) = self
                    .awaited_document_of(child)
                    .filter(|awaited| awaited.is_some())
                    && *awaited == translate::text_field(params, "requestId")
                {
                    *awaited = None;
                }
            }
            "Page.frameNavigated" => {
                let frame =
                    translate::locate(params, &["frame", "id"]).map(|id| id.trim_matches('"'));
                let own = child.map_or(Some(&self.page), |child| {
                    self.children.get(child).map(|below| &below.target)
                });
                if frame.is_some() && frame == own.map(TargetId::as_str) {
                    self.awaited_document_of(child)
                        .into_iter()
                        .for_each(|awaited| *awaited = None);
                }
            }
            _ => {}
        }
    }
}
