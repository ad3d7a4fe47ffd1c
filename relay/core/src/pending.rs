//! What the relay does when the extension answers. Every call to the extension has one entry here, and multi-step work is
//! carried from reply to reply by these continuations.

use std::collections::BTreeMap;

use crate::Now;
use crate::ids::{CallId, ChildId, ClientId, SessionId, TabId};

#[derive(Debug)]
pub enum Continuation {
    /// Answer this request of a client with Chrome's own answer.
    Reply { client: ClientId, session: SessionId, request: i64, note: Note },
    /// The tabs of a browser that just connected.
    Tabs,
    /// The debugger is attached to this tab: wake it further.
    Attached { tab: TabId },
    /// One step of waking this tab is done.
    Waking { tab: TabId, step: WakeStep },
    /// A tab a client asked for exists: announce it and answer.
    Created { client: ClientId, session: SessionId, request: i64 },
    /// A tab a client asked to close is closed.
    Closed { client: ClientId, session: SessionId, request: i64, tab: TabId },
    /// Nobody waits for this one.
    Nothing,
}

/// What else a client's forwarded command tells the relay when it succeeds.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    None,
    /// The result carries execution context ids.
    TranslateResult,
    /// A screenshot is done, whether it succeeded or not.
    Captured {
        tab: TabId,
    },
    /// The result names a script; keep it with the journal.
    Script {
        params: String,
    },
}

#[derive(Debug)]
pub enum WakeStep {
    FrameTree,
    Script { session: SessionId, announced: String },
    Other { method: String },
}

#[derive(Debug)]
pub struct Entry {
    pub continuation: Continuation,
    /// The tab that is asked, so that its calls can be failed when it goes.
    pub tab: Option<TabId>,
    pub child: Option<ChildId>,
    /// What is asked, for the error that says it was not answered.
    pub method: String,
    pub deadline: Option<Now>,
}

/// Enters with each call to the extension; leaves with its reply, its deadline, its tab, or the extension itself.
#[derive(Debug, Default)]
pub struct Pending {
    map: BTreeMap<CallId, Entry>,
}

impl Pending {
    pub fn insert(&mut self, call: CallId, entry: Entry) {
        self.map.insert(call, entry);
    }

    pub fn take(&mut self, call: CallId) -> Option<Entry> {
        self.map.remove(&call)
    }

    pub fn take_all(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.map).into_values().collect()
    }

    pub fn take_where(&mut self, mut picks: impl FnMut(&Entry) -> bool) -> Vec<Entry> {
        let picked: Vec<CallId> = self.map.iter().filter(|(_, entry)| picks(entry)).map(|(call, _)| *call).collect();
        picked.into_iter().filter_map(|call| self.map.remove(&call)).collect()
    }

    /// Whether a client waits for an answer of this tab.
    pub fn asks(&self, tab: TabId) -> bool {
        self.map.values().any(|entry| entry.tab == Some(tab) && matches!(entry.continuation, Continuation::Reply { .. }))
    }

    pub fn next_deadline(&self) -> Option<Now> {
        self.map.values().filter_map(|entry| entry.deadline).min()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}
