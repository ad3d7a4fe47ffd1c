//! Calls to the extension that are waiting for a reply, and what the relay does with each reply.
//! Work in several steps continues from reply to reply through these continuations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::interception::Interception;
use super::journal;
use super::pending_call::PendingCall;
use super::permissions::ClientRules;
use crate::Now;
use crate::protocol::cdp::Request;
use crate::protocol::ids::{CallId, Caller, SessionId, TabId, TargetId};
use crate::protocol::json;
use crate::protocol::methods::init::{self, Answer};

/// What happens with a reply.
#[derive(Debug)]
pub enum Continuation {
    /// Forward it to the client that sent the command.
    Reply { caller: Caller, note: Note },
    /// The tabs of a browser that just connected.
    Tabs,
    /// The debugger is attached to this tab: continue waking it.
    Attached { tab_id: TabId },
    /// One step of waking this tab is done.
    Waking { tab_id: TabId, step: Step },
    /// Chrome has received a command that the relay had already answered. No client waits for it.
    Unawaited {
        tab_id: TabId,
        session_id: SessionId,
        step: Step,
    },
    /// A tab that a client created exists: announce it and reply.
    Created { caller: Caller },
    /// A tab that a client closed is closed. `caller`: unless the client has its reply already.
    Closed {
        caller: Option<Caller>,
        tab_id: TabId,
    },
    /// A tab was navigated without the debugger.
    Navigated { caller: Caller, tab_id: TabId },
    /// A page that was silent for a long time has answered a probe.
    Probe,
    /// The caller already has a timeout error. If the call succeeds anyway, its effect
    /// is reverted.
    Late,
    /// Nothing.
    Ignore,
}

/// What else the relay does when a client's forwarded command succeeds or fails.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    None,
    /// The result has execution context ids. `helper_context`: where Playwright creates its helper.
    TranslateResult {
        helper_context: Option<i64>,
    },
    /// The result names a script that belongs in the journal.
    Script {
        params: String,
    },
    /// The barrier of a command that enables something other sessions have enabled already.
    Join(Deferred),
    /// The barrier of a command that has to wait for earlier ones.
    Barrier(Deferred),
    /// The result is the frame tree.
    FrameTree,
    /// The result names a breakpoint.
    Breakpoint,
    /// A page that did not respond while waking is navigating away; the next document is woken.
    Leaving,
    /// `Fetch.enable` for all sessions; if it fails, this session's interception is as before.
    Interception {
        before: Option<Interception>,
    },
    /// New permissions of sites; if they cannot be set, this client's rules are as before.
    Permissions {
        before: ClientRules,
    },
    /// The extension starts or stops reporting downloads; if it cannot, this session has asked for
    /// nothing.
    WatchDownloads,
    /// Chrome attaches the frames of a page; the client wants a session on this one.
    Frame {
        target_id: TargetId,
    },
    /// The answer to this pause of a request.
    PauseAnswer {
        request_id: String,
        number: u64,
    },
}

/// A client's command that waits at a barrier.
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

/// What to do when Chrome has carried out a command that the relay answered itself.
#[derive(Debug)]
pub enum Step {
    FrameTree,
    Script {
        session_id: SessionId,
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
        session_id: SessionId,
    },
    /// Chrome has attached the frames of a live page. Placeholders that are left are of no frame.
    Frames,
    /// Nothing, but a failure of this method is logged.
    Other {
        method: String,
    },
}

impl Step {
    pub fn other(method: &str) -> Self {
        Self::Other {
            method: method.to_owned(),
        }
    }

    /// For `Page.createIsolatedWorld` with these parameters.
    pub fn world(params: &str) -> Self {
        let string = |key| json::string_field(params, key).unwrap_or_default();
        Self::World {
            frame: string("frameId"),
            name: string("worldName"),
        }
    }

    pub fn of_entry(session_id: SessionId, entry: &journal::Entry) -> Self {
        match &entry.script {
            Some(script) => Self::Script {
                session_id,
                announced: script.announced.clone(),
            },
            None => match init::find(&entry.method).map(|init| init.answer) {
                Some(Answer::IsolatedWorld) => Self::world(&entry.params),
                _ => Self::other(&entry.method),
            },
        }
    }
}

/// A command that is sent to Chrome while a tab wakes.
pub struct Replayed {
    pub method: String,
    pub params: Arc<str>,
    pub step: Step,
}

impl Replayed {
    pub fn other(method: &str, params: &str) -> Self {
        Self {
            method: method.to_owned(),
            params: params.into(),
            step: Step::other(method),
        }
    }

    pub fn is(&self, method: &str, params: &str) -> bool {
        self.method == method && *self.params == *params
    }
}

/// How many scripts of ended sessions are remembered per tab, to be removed once Chrome has added
/// them.
const MAX_SCRIPTS_TO_REMOVE: usize = 50;

/// A call enters when it is sent. It leaves with its reply, its deadline, its tab, its client, or
/// the extension.
#[derive(Debug, Default)]
pub struct Calls {
    map: BTreeMap<CallId, PendingCall>,
    /// The deadlines of calls that have one, so that checking them does not iterate over all calls.
    deadlines: BTreeSet<(Now, CallId)>,
}

impl Calls {
    pub fn insert(&mut self, id: CallId, call: PendingCall) {
        if let Some(deadline) = call.deadline() {
            self.deadlines.insert((deadline, id));
        }
        self.map.insert(id, call);
    }

    pub fn take(&mut self, id: CallId) -> Option<PendingCall> {
        let call = self.map.remove(&id)?;
        if let Some(deadline) = call.deadline() {
            self.deadlines.remove(&(deadline, id));
        }
        Some(call)
    }

    pub fn take_all(&mut self) -> Vec<PendingCall> {
        self.deadlines.clear();
        std::mem::take(&mut self.map).into_values().collect()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PendingCall> {
        self.map.values()
    }

    pub fn take_where(
        &mut self,
        mut predicate: impl FnMut(&PendingCall) -> bool,
    ) -> Vec<(CallId, PendingCall)> {
        let taken = self.map.iter().filter(|(_, call)| predicate(call));
        let ids: Vec<CallId> = taken.map(|(id, _)| *id).collect();
        self.take_ids(ids)
    }

    fn take_ids(&mut self, ids: Vec<CallId>) -> Vec<(CallId, PendingCall)> {
        let take = |id| self.take(id).map(|call| (id, call));
        ids.into_iter().filter_map(take).collect()
    }

    pub fn take_overdue(&mut self, now: Now) -> Vec<(CallId, PendingCall)> {
        let overdue = self.deadlines.iter().take_while(|(due, _)| *due <= now);
        let ids: Vec<CallId> = overdue.map(|(_, id)| *id).collect();
        self.take_ids(ids)
    }

    /// The debugger is gone, and with it the commands that nobody waits for.
    pub fn forget_unawaited(&mut self, tab_id: TabId) {
        self.take_where(|call| call.tab_id() == Some(tab_id) && call.is_unawaited());
    }

    /// A session has ended. Of its unawaited commands, only the scripts are still relevant, which
    /// have to be removed.
    pub fn forget_unawaited_of(&mut self, ended: SessionId, tab_id: TabId) {
        self.take_where(|call| call.is_unawaited_of(ended) && !call.adds_script());
        // A page that stays silent while clients come and go must not fill the relay.
        let is_script = |call: &PendingCall| call.tab_id() == Some(tab_id) && call.adds_script();
        let count = self.iter().filter(|call| is_script(call)).count();
        let mut surplus = count.saturating_sub(MAX_SCRIPTS_TO_REMOVE);
        self.take_where(|call| {
            let drops = surplus > 0 && is_script(call);
            surplus -= usize::from(drops);
            drops
        });
    }

    /// The commands of a tab that is waking are obsolete.
    pub fn forget_waking(&mut self, tab_id: TabId) {
        self.take_where(|call| call.tab_id() == Some(tab_id) && call.is_waking());
    }

    /// Whether a client waits for a reply from this tab.
    pub fn is_tab_awaited(&self, tab_id: TabId) -> bool {
        self.iter()
            .any(|call| call.tab_id() == Some(tab_id) && call.is_awaited())
    }

    /// Whether a session waits for a reply.
    pub fn is_session_waiting(&self, session_id: SessionId) -> bool {
        self.iter().any(|call| call.is_awaited_by(session_id))
    }

    pub fn next_deadline(&self) -> Option<Now> {
        self.deadlines.first().map(|(due, _)| *due)
    }

    /// Whether nobody waits for any call.
    pub fn is_idle(&self) -> bool {
        self.iter().all(PendingCall::is_background)
    }
}
