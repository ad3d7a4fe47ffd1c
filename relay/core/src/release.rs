//! Giving back what a session held when it ends: what it switched on and set in Chrome, what it paused, what it waits for,
//! and the debugger itself when it was the last to use the tab.

use crate::error::CdpError;
use crate::frames::Frames;
use crate::ids::{ClientId, SessionId, TabId};
use crate::interception::PausedRequests;
use crate::journal::{self, Replay};
use crate::mirror::Mirror;
use crate::pending::{Continuation, Entry, Note, Step};
use crate::screencast::SCREENCAST;
use crate::sessions::{Session, Subject};
use crate::switches::ENABLED_DOMAINS;
use crate::targets::Attachment;
use crate::translate;
use crate::wire::Call;
use crate::{Core, Extension, OnDisconnect};

impl Core {
    /// The session is out of the book already; other views of its target may go on.
    pub(crate) fn release(&mut self, id: SessionId, ended: Session) {
        let Some(tab) = ended.subject.tab() else {
            return;
        };
        self.drop_waiting_commands(tab);
        self.drop_bootstraps_of_ended(tab);
        self.forget_told_of(id, tab);
        self.detach_if_unused(tab);
        match self.tabs.get_mut(tab).map(|known| &mut known.attachment) {
            Some(Attachment::Live) => self.undo(&ended, tab),
            // Chrome may have heard of it already, and can be told more when the tab is awake.
            Some(Attachment::Waking(wake)) => wake.ended.push(ended),
            Some(Attachment::Dormant) | None => {}
        }
    }

    /// Takes back what a session switched on, set and asked for in a tab that is live.
    pub(crate) fn undo(&mut self, ended: &Session, tab: TabId) {
        self.switch_off(ended, tab);
        self.release_interception(ended);
        self.release_children(&ended.subject);
    }

    /// Nobody waits any more for what this client asked; and a tab whose last user it was needs no debugger.
    pub(crate) fn release_client(&mut self, client: ClientId) {
        let is_its = |entry: &Entry| matches!(&entry.continuation, Continuation::Reply { client: of, .. } if *of == client);
        for (call, entry) in self.pending.take_calls(is_its) {
            // What it still brings about in Chrome has to be taken back when it is known under what name.
            let Continuation::Reply { session, note, .. } = entry.continuation else {
                continue;
            };
            let step = match note {
                Note::Script { .. } => Step::Script {
                    session,
                    announced: String::new(),
                },
                Note::Breakpoint => Step::Breakpoint { session },
                Note::Leaves => {
                    // Its tab was on the way to another document for this client alone; who else waits for it tries again.
                    let error =
                        CdpError::Detached("the client that navigated it has left".to_owned());
                    entry
                        .tab
                        .into_iter()
                        .for_each(|tab| self.give_up_waking(tab, &error));
                    continue;
                }
                _ => continue,
            };
            if let Some(tab) = entry.tab {
                let continuation = Continuation::Told { tab, session, step };
                self.pending.insert(
                    call,
                    Entry {
                        continuation,
                        deadline: None,
                        ..entry
                    },
                );
            }
        }
        for tab in self.tabs.ids() {
            self.close_or_detach(tab);
        }
        self.texts.forget_unused();
    }

    /// A tab whose client has gone is closed if the relay was told so, once the browser is there; a tab that nobody uses any
    /// more needs no debugger.
    pub(crate) fn close_or_detach(&mut self, tab: TabId) {
        if !self.is_left_to_close(tab) {
            self.detach_if_unused(tab);
        } else if matches!(self.extension, Extension::Ready { .. }) {
            // Where closing fails it is a tab like any other, and is not kept for its client's sake.
            self.tabs
                .get_mut(tab)
                .into_iter()
                .for_each(|known| known.created_by = None);
            self.call(&Call::CloseTab { tab }, Continuation::Nothing);
        }
    }

    fn is_left_to_close(&self, tab: TabId) -> bool {
        let creator = self.tabs.get(tab).and_then(|known| known.created_by);
        self.config.on_disconnect == OnDisconnect::CloseCreated
            && creator.is_some_and(|client| self.clients.get(client).is_none())
    }

    /// What only this session had on in Chrome is switched off, and what it set is set back. A `Fetch` left on would hold every
    /// request of the page for a client that is not there.
    fn switch_off(&mut self, ended: &Session, tab: TabId) {
        let is_its_dialog = self.tabs.get(tab).is_some_and(|known| known.dialog_is_open)
            && !self.is_on(&Subject::Page(tab), "Page");
        if is_its_dialog {
            let (method, params) = ("Page.handleJavaScriptDialog", r#"{"accept":false}"#);
            self.call(
                &Call::CdpCommand {
                    tab,
                    method,
                    params,
                    child: None,
                },
                Continuation::Nothing,
            );
        }
        for (method, params) in self.undo_of(ended) {
            let child = ended.subject.place().and_then(|(_, child)| child);
            self.call(
                &Call::CdpCommand {
                    tab,
                    method: &method,
                    params: &params,
                    child,
                },
                Continuation::Nothing,
            );
        }
        if self.is_on(&ended.subject, "Debugger") {
            self.release_breakpoints(&ended.subject, &ended.breakpoints);
        }
        for switch in ended
            .enabled
            .iter()
            .filter(|switch| !self.is_on(&ended.subject, switch))
            .collect::<Vec<_>>()
        {
            self.on_switched_off(&ended.subject, switch);
        }
    }

    /// Whether a session of this target has this domain on.
    pub(crate) fn is_on(&self, subject: &Subject, domain: &str) -> bool {
        self.sessions
            .viewing(subject)
            .any(|(_, view)| view.enabled.contains(domain))
    }

    /// The commands, with their parameters, that make Chrome forget a session; others of the same target lose nothing.
    fn undo_of(&self, ended: &Session) -> Vec<(String, String)> {
        let mut undo = Vec::new();
        for name in ended
            .enabled
            .iter()
            .filter(|name| !self.is_on(&ended.subject, name))
        {
            if name == SCREENCAST {
                undo.push(("Page.stopScreencast".to_owned(), "{}".to_owned()));
            } else if ENABLED_DOMAINS.contains(&name.as_str()) {
                undo.push((format!("{name}.disable"), "{}".to_owned()));
            }
        }
        for entry in ended
            .journal
            .entries()
            .iter()
            .filter(|entry| self.reached_chrome(ended, entry))
        {
            let name = translate::field(&entry.params, "name").unwrap_or("null");
            let others = || self.sessions.viewing(&ended.subject);
            let is_same = |other: &journal::Entry| {
                other.method == entry.method
                    && translate::field(&other.params, "name").unwrap_or("null") == name
            };
            let kept = others().find_map(|(_, view)| {
                view.journal
                    .entries()
                    .iter()
                    .rfind(|other| is_same(other) && self.reached_chrome(view, other))
                    .map(|other| &other.params)
            });
            if let Some(script) = &entry.script {
                let identifier = script
                    .real
                    .as_ref()
                    .map(|real| serde_json::json!({ "identifier": real }).to_string());
                undo.extend(identifier.map(|params| {
                    (
                        "Page.removeScriptToEvaluateOnNewDocument".to_owned(),
                        params,
                    )
                }));
            } else if entry.method == "Runtime.addBinding" && kept.is_none() {
                undo.push((
                    "Runtime.removeBinding".to_owned(),
                    format!(r#"{{"name":{name}}}"#),
                ));
            } else if let Some((method, params)) = journal::find_undo(&entry.method) {
                // Where another session has set the same thing, its word counts again.
                undo.push(
                    kept.map_or((method.to_owned(), params.to_owned()), |theirs| {
                        (entry.method.clone(), theirs.to_string())
                    }),
                );
            }
        }
        undo
    }

    /// A library's default is kept from Chrome in a tab that its client did not create.
    pub(crate) fn reached_chrome(&self, view: &Session, entry: &journal::Entry) -> bool {
        let is_default = entry.is_default
            && journal::find_init(&entry.method).is_some_and(|init| init.replay == Replay::Default);
        let tab = view.subject.tab().and_then(|tab| self.tabs.get(tab));
        !is_default || tab.is_some_and(|tab| tab.created_by == Some(view.client))
    }

    /// Takes the debugger off every tab, whoever uses it.
    pub(crate) fn detach_all(&mut self) {
        for tab in self.tabs.ids() {
            if let Some(known) = self.tabs.get_mut(tab).filter(|tab| !tab.is_dormant()) {
                known.fall_dormant();
                self.forget_told(tab);
                self.call(&Call::DetachTab { tab }, Continuation::Nothing);
            }
        }
    }

    /// Takes the debugger off a tab that no session sees any more, so that the browser's notice of it goes away.
    pub(crate) fn detach_if_unused(&mut self, tab: TabId) {
        // Also by the target above it: Puppeteer attaches to that first, and to the page a moment later.
        let is_seen = self.sessions.at(Some(tab)).next().is_some();
        let is_used = is_seen || self.pending.asks(tab);
        // One that is closed next keeps it till then: without it the page could ask the person whether they mean it.
        let is_closed_next = self.is_left_to_close(tab);
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        if is_used || is_closed_next || !known.is_live() {
            return;
        }
        known.fall_dormant();
        known.lifecycle.clear();
        self.forget_told(tab);
        // An extension that is not there, or not known yet, shows this attachment when it lists its tabs.
        if matches!(self.extension, Extension::Ready { .. }) {
            self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        }
    }
}

impl crate::targets::Tab {
    /// Without the debugger nothing is known of what is in the page. Gives the frames that clients were told of.
    pub(crate) fn fall_dormant(&mut self) -> Frames {
        self.attachment = Attachment::Dormant;
        self.contexts.clear();
        self.bootstraps.clear();
        self.mirror = Mirror::default();
        self.dialog_is_open = false;
        self.is_crashed = false;
        self.awaited_document = None;
        self.children_asked = None;
        self.children.clear();
        self.paused = PausedRequests::default();
        std::mem::take(&mut self.frames)
    }
}
