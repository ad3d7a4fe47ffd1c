//! What the relay does when the extension answers. Every call to the extension has one entry here, and multi-step work is
//! carried from reply to reply by these continuations.

use std::collections::{BTreeMap, BTreeSet};

use crate::Now;
use crate::cdp::Request;
use crate::ids::{CallId, ChildId, ClientId, SessionId, TabId};
use crate::interception::Interception;
use crate::translate;

#[derive(Debug)]
pub enum Continuation {
    /// Answer this request of a client with Chrome's own answer.
    Reply {
        client: ClientId,
        session: SessionId,
        request: i64,
        note: Note,
    },
    /// The tabs of a browser that just connected.
    Tabs,
    /// The debugger is attached to this tab: wake it further.
    Attached { tab: TabId },
    /// One step of waking this tab is done.
    Waking { tab: TabId, step: Step },
    /// Nobody waits for this one: a session was answered by the relay, and now Chrome has heard it too.
    Told {
        tab: TabId,
        session: SessionId,
        step: Step,
    },
    /// A tab a client asked for exists: announce it and answer.
    Created {
        client: ClientId,
        session: SessionId,
        request: i64,
    },
    /// A tab a client asked to close is closed.
    Closed {
        client: ClientId,
        session: SessionId,
        request: i64,
        tab: TabId,
    },
    /// A page that has been silent for long was asked whether it is there.
    Probe,
    /// The one who waited was told that no answer came. What it did in the browser all the same is set right when it does.
    Late,
    /// Nobody waits for this one.
    Nothing,
}

/// What else a client's forwarded command tells the relay when it succeeds.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    None,
    /// The result carries execution context ids. `helper_in`: the context in which Playwright makes its helper.
    TranslateResult {
        helper_in: Option<i64>,
    },
    /// The result names a script; keep it with the journal.
    Script {
        params: String,
    },
    /// The session's turn has come to join those that have something on, as it said.
    Join(Deferred),
    /// It was this command's turn to wait for: now it can be sent.
    Turn(Deferred),
    /// The result is the tree of all frames.
    FrameTree,
    /// The result names a breakpoint.
    Breakpoint,
    /// A page that did not answer is left for another document, which is to be woken.
    Leaves,
    /// Sessions intercept together; if Chrome refuses, this one wants again what it wanted before.
    Interception {
        before: Option<Interception>,
    },
    /// The answer to this pause of a request.
    Answer {
        request: String,
        number: u64,
    },
}

/// A client's command that waits for its turn.
#[derive(Debug, PartialEq, Eq)]
pub struct Deferred {
    pub method: String,
    pub params: String,
}

impl Deferred {
    pub fn new(request: &Request<'_>) -> Self {
        Self {
            method: request.method.to_string(),
            params: request.params.to_string(),
        }
    }
}

/// What a crashed page can be asked: the browser answers it, and a page comes to life by it.
pub const REVIVING: &[&str] = &[
    "Page.close",
    "Page.navigate",
    "Page.navigateToHistoryEntry",
    "Page.reload",
];

/// Something that Chrome is told of a session which the relay has answered: as a tab wakes, or beside its use.
#[derive(Debug)]
pub enum Step {
    FrameTree,
    Script {
        session: SessionId,
        announced: String,
    },
    World {
        frame: String,
        name: String,
    },
    Helper {
        handle: String,
    },
    Breakpoint {
        session: SessionId,
    },
    Other {
        method: String,
    },
}

impl Step {
    /// The isolated world that these parameters of `Page.createIsolatedWorld` ask for.
    pub fn world(params: &str) -> Self {
        let part = |key| translate::text_field(params, key).unwrap_or_default();
        Self::World {
            frame: part("frameId"),
            name: part("worldName"),
        }
    }
}

#[derive(Debug)]
pub struct Entry {
    pub continuation: Continuation,
    /// The tab that is asked, so that its calls can be failed when it goes.
    pub tab: Option<TabId>,
    pub child: Option<ChildId>,
    /// What is asked, for the error that says it was not answered.
    pub method: String,
    pub asked_at: Now,
    pub deadline: Option<Now>,
    /// Whether it is a CDP command, and not a call to the browser itself.
    pub is_command: bool,
    /// Whether the page is being asked if it is there, because this takes long.
    pub is_probed: bool,
}

impl Entry {
    /// Whether a client waits here for this tab's own page, and not only for the browser.
    pub fn waits_for_page(&self, tab: TabId) -> bool {
        let is_of_page = self.tab == Some(tab) && self.child.is_none() && self.is_command;
        is_of_page
            && matches!(self.continuation, Continuation::Reply { .. })
            && !REVIVING.contains(&self.method.as_str())
    }

    /// Whether a client waits for it in this session.
    pub fn is_of(&self, session: SessionId) -> bool {
        matches!(self.continuation, Continuation::Reply { session: of, .. } if of == session)
    }

    /// What the client asked: not the question that its turn is known by.
    pub fn asked_method(&self) -> &str {
        match &self.continuation {
            Continuation::Reply {
                note: Note::Join(deferred) | Note::Turn(deferred),
                ..
            } => &deferred.method,
            _ => &self.method,
        }
    }

    /// An entry of which nothing is known but its tab.
    pub fn of(tab: Option<TabId>) -> Self {
        Self {
            continuation: Continuation::Nothing,
            tab,
            child: None,
            method: String::new(),
            asked_at: Now::ZERO,
            deadline: None,
            is_command: false,
            is_probed: false,
        }
    }
}

/// Enters with each call to the extension; leaves with its reply, its deadline, its tab, its client, or the extension.
#[derive(Debug, Default)]
pub struct Pending {
    map: BTreeMap<CallId, Entry>,
    /// The deadlines of those that have one, so that a message costs no walk over all that is under way.
    deadlines: BTreeSet<(Now, CallId)>,
}

impl Pending {
    pub fn insert(&mut self, call: CallId, entry: Entry) {
        if let Some(deadline) = entry.deadline {
            self.deadlines.insert((deadline, call));
        }
        self.map.insert(call, entry);
    }

    pub fn take(&mut self, call: CallId) -> Option<Entry> {
        let entry = self.map.remove(&call)?;
        if let Some(deadline) = entry.deadline {
            self.deadlines.remove(&(deadline, call));
        }
        Some(entry)
    }

    pub fn take_all(&mut self) -> Vec<Entry> {
        self.deadlines.clear();
        std::mem::take(&mut self.map).into_values().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.map.values()
    }

    pub fn take_where(&mut self, picks: impl FnMut(&Entry) -> bool) -> Vec<Entry> {
        self.take_calls(picks)
            .into_iter()
            .map(|(_, entry)| entry)
            .collect()
    }

    pub fn take_calls(&mut self, mut picks: impl FnMut(&Entry) -> bool) -> Vec<(CallId, Entry)> {
        let picked: Vec<CallId> = self
            .map
            .iter()
            .filter(|(_, entry)| picks(entry))
            .map(|(call, _)| *call)
            .collect();
        picked
            .into_iter()
            .filter_map(|call| self.take(call).map(|entry| (call, entry)))
            .collect()
    }

    /// What should have been answered by now.
    pub fn take_overdue(&mut self, now: Now) -> Vec<(CallId, Entry)> {
        let overdue: Vec<CallId> = self
            .deadlines
            .iter()
            .take_while(|(due, _)| *due <= now)
            .map(|(_, call)| *call)
            .collect();
        overdue
            .into_iter()
            .filter_map(|call| self.take(call).map(|entry| (call, entry)))
            .collect()
    }

    /// Whether a client waits for an answer from this tab.
    pub fn asks(&self, tab: TabId) -> bool {
        self.map.values().any(|entry| {
            entry.tab == Some(tab) && matches!(entry.continuation, Continuation::Reply { .. })
        })
    }

    /// Whether a session waits for an answer.
    pub fn asks_for(&self, session: SessionId) -> bool {
        self.map.values().any(|entry| entry.is_of(session))
    }

    pub fn next_deadline(&self) -> Option<Now> {
        self.deadlines.first().map(|(due, _)| *due)
    }

    /// Whether nobody waits for anything.
    pub fn is_empty(&self) -> bool {
        let is_nobodys = |entry: &Entry| {
            matches!(
                entry.continuation,
                Continuation::Late
                    | Continuation::Nothing
                    | Continuation::Probe
                    | Continuation::Told { .. }
            )
        };
        self.map.values().all(is_nobodys)
    }
}
