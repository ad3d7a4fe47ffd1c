//! The sessions of all clients. A session is one client's view of one target; no other module holds
//! session state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::interception::Interception;
use super::journal::Journal;
use super::logged::{LogTime, Logged};
use super::target::{AutoAttach, Filter, Target};
use crate::MAX_WAITING_BYTES;
use crate::protocol::ids::{ClientId, SessionId, TabId};
use crate::protocol::methods::event::Event;

#[derive(Debug)]
pub struct Session {
    client_id: ClientId,
    /// The session that attached this one and receives events about it. `None` for a client's root
    /// session.
    parent: Option<SessionId>,
    target: Target,
    /// `Target.setDiscoverTargets`: which targets are announced to this session.
    discovers: Option<Filter>,
    /// `Target.setAutoAttach`: which targets are attached to this session when they appear.
    auto_attach: Option<AutoAttach>,
    /// What this session has switched on, mostly domains. Decides which events it receives.
    enabled: BTreeSet<String>,
    journal: Journal,
    /// Attached by an explicit command and not by `Target.setAutoAttach`.
    explicitly_attached: bool,
    /// A client's library got this session by `Target.setAutoAttach` and has sent only init
    /// commands to it yet.
    initializing: bool,
    /// Commands that wait at a barrier, and the size of all deferred commands, which is bounded.
    at_barrier: usize,
    deferred_bytes: usize,
    /// Breakpoints that this session set, by Chrome's ids.
    breakpoints: BTreeSet<String>,
    /// `Fetch.enable`: which requests are paused for this session.
    interception: Option<Interception>,
    logged: Logged,
}

impl Session {
    fn new(client_id: ClientId, parent: Option<SessionId>, target: Target) -> Self {
        Self {
            client_id,
            parent,
            target,
            discovers: None,
            auto_attach: None,
            enabled: BTreeSet::new(),
            journal: Journal::default(),
            explicitly_attached: false,
            initializing: true,
            at_barrier: 0,
            deferred_bytes: 0,
            breakpoints: BTreeSet::new(),
            interception: None,
            logged: Logged::default(),
        }
    }

    pub fn client_id(&self) -> ClientId {
        self.client_id
    }

    pub fn parent(&self) -> Option<SessionId> {
        self.parent
    }

    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn discovers(&self) -> Option<&Filter> {
        self.discovers.as_ref()
    }

    pub fn set_discovers(&mut self, filter: Option<Filter>) {
        self.discovers = filter;
    }

    pub fn auto_attach(&self) -> Option<&AutoAttach> {
        self.auto_attach.as_ref()
    }

    pub fn set_auto_attach(&mut self, auto_attach: Option<AutoAttach>) {
        self.auto_attach = auto_attach;
    }

    /// Whether it pauses new targets and has to resume them.
    pub fn pauses_children(&self) -> bool {
        self.auto_attach
            .as_ref()
            .is_some_and(|wanted| wanted.pauses)
    }

    pub fn enabled(&self) -> impl Iterator<Item = &str> {
        self.enabled.iter().map(String::as_str)
    }

    pub fn has_enabled(&self, switch: &str) -> bool {
        self.enabled.contains(switch)
    }

    /// Returns whether the switch was off before.
    pub fn enable(&mut self, switch: &str) -> bool {
        !self.enabled.contains(switch) && self.enabled.insert(switch.to_owned())
    }

    pub fn disable(&mut self, switch: &str) {
        self.enabled.remove(switch);
        self.logged.forget(switch);
    }

    pub fn set_enabled(&mut self, switch: &str, on: bool) {
        if on {
            self.enable(switch);
        } else {
            self.disable(switch);
        }
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    pub fn journal_mut(&mut self) -> &mut Journal {
        &mut self.journal
    }

    pub fn is_explicitly_attached(&self) -> bool {
        self.explicitly_attached
    }

    /// The client's user attached this session, so nothing it sends is a library's default.
    pub fn mark_explicitly_attached(&mut self) {
        self.explicitly_attached = true;
        self.initializing = false;
        self.journal.start();
    }

    pub fn is_initializing(&self) -> bool {
        self.initializing
    }

    pub fn finish_initializing(&mut self) {
        self.initializing = false;
    }

    pub fn waits_at_barrier(&self) -> bool {
        self.at_barrier > 0
    }

    pub fn enter_barrier(&mut self) {
        self.at_barrier += 1;
    }

    pub fn leave_barrier(&mut self) {
        self.at_barrier = self.at_barrier.saturating_sub(1);
    }

    /// Accounts for a deferred command of this size. `false` if too much is deferred already.
    pub fn defer(&mut self, bytes: usize) -> bool {
        let fits = self.deferred_bytes + bytes <= MAX_WAITING_BYTES;
        if fits {
            self.deferred_bytes += bytes;
        }
        fits
    }

    pub fn undefer(&mut self, bytes: usize) {
        self.deferred_bytes = self.deferred_bytes.saturating_sub(bytes);
    }

    pub fn breakpoints(&self) -> &BTreeSet<String> {
        &self.breakpoints
    }

    pub fn add_breakpoint(&mut self, id: String) {
        self.breakpoints.insert(id);
    }

    pub fn remove_breakpoint(&mut self, id: &str) {
        self.breakpoints.remove(id);
    }

    pub fn take_breakpoints(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.breakpoints)
    }

    pub fn interception(&self) -> Option<&Interception> {
        self.interception.as_ref()
    }

    /// Returns the previous interception.
    pub fn set_interception(&mut self, wanted: Option<Interception>) -> Option<Interception> {
        std::mem::replace(&mut self.interception, wanted)
    }
}

/// A client's root session enters when it connects, others with `attachedToTarget`. A session
/// leaves with `detachedFromTarget`, with its parent session, or with its client.
#[derive(Debug, Default)]
pub struct Sessions {
    map: HashMap<SessionId, Session>,
    /// The same sessions by tab (`None` for the browser), in the order they were opened. An event
    /// of one tab must not iterate over the sessions of all others.
    by_tab: BTreeMap<Option<TabId>, Vec<SessionId>>,
    by_parent: HashMap<SessionId, Vec<SessionId>>,
    /// How many sessions each client has; the number is limited.
    by_client: BTreeMap<ClientId, usize>,
}

impl Sessions {
    pub fn open(
        &mut self,
        id: SessionId,
        client_id: ClientId,
        parent: Option<SessionId>,
        target: Target,
    ) {
        self.by_tab.entry(target.tab_id()).or_default().push(id);
        if let Some(parent) = parent {
            self.by_parent.entry(parent).or_default().push(id);
        }
        *self.by_client.entry(client_id).or_default() += 1;
        self.map.insert(id, Session::new(client_id, parent, target));
    }

    pub fn close(&mut self, id: SessionId) -> Option<Session> {
        let session = self.map.remove(&id)?;
        let tab_id = session.target.tab_id();
        if let Some(ids) = self.by_tab.get_mut(&tab_id) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_tab.remove(&tab_id);
            }
        }
        if let Some(siblings) = session.parent.and_then(|id| self.by_parent.get_mut(&id)) {
            siblings.retain(|other| *other != id);
        }
        self.by_parent.remove(&id);
        if let Some(count) = self.by_client.get_mut(&session.client_id) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_client.remove(&session.client_id);
            }
        }
        Some(session)
    }

    /// Moves the sessions of a target to another one of the same tab.
    pub fn move_to(&mut self, from: &Target, to: &Target) {
        for id in self.ids_on(from) {
            if let Some(session) = self.map.get_mut(&id) {
                session.target = to.clone();
            }
        }
    }

    pub fn get(&self, id: SessionId) -> Option<&Session> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.map.get_mut(&id)
    }

    pub fn contains(&self, id: SessionId) -> bool {
        self.map.contains_key(&id)
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All sessions of a tab (of its `tab` target, its page and the page's children), or of the
    /// browser for `None`.
    pub fn at(&self, tab_id: Option<TabId>) -> impl Iterator<Item = (SessionId, &Session)> {
        self.by_tab
            .get(&tab_id)
            .into_iter()
            .flatten()
            .filter_map(|id| self.map.get(id).map(|session| (*id, session)))
    }

    /// Those sessions on a page that have received this event of its log before. The others receive
    /// it now.
    pub fn take_repeated(
        &mut self,
        page: &Target,
        domain: &str,
        event: Event,
        time: LogTime,
    ) -> Vec<SessionId> {
        let mut ids = self.ids_on(page);
        ids.retain(|id| {
            self.map.get_mut(id).is_some_and(|session| {
                session.has_enabled(domain) && session.logged.is_repeated(event, time)
            })
        });
        ids
    }

    /// The debugger of a page was attached again, and has reported these events of its log.
    pub fn expect_repetitions(&mut self, page: &Target, reported: &[(Event, LogTime)]) {
        for id in self.ids_on(page) {
            if let Some(session) = self.map.get_mut(&id) {
                session.logged.expect_repetitions(reported);
            }
        }
    }

    /// The sessions on exactly this target.
    pub fn on<'s>(&'s self, target: &'s Target) -> impl Iterator<Item = (SessionId, &'s Session)> {
        self.at(target.tab_id())
            .filter(move |(_, session)| session.target == *target)
    }

    pub fn ids_at(&self, tab_id: Option<TabId>) -> Vec<SessionId> {
        self.at(tab_id).map(|(id, _)| id).collect()
    }

    pub fn ids_on(&self, target: &Target) -> Vec<SessionId> {
        self.on(target).map(|(id, _)| id).collect()
    }

    pub fn ids_of_client(&self, client_id: ClientId) -> Vec<SessionId> {
        let all = self.by_tab.values().flatten();
        all.filter(|id| self.get(**id).is_some_and(|s| s.client_id == client_id))
            .copied()
            .collect()
    }

    pub fn count_of_client(&self, client_id: ClientId) -> usize {
        self.by_client.get(&client_id).copied().unwrap_or_default()
    }

    /// A session and its descendants, children before parents. Iterative, because clients can nest
    /// to any depth.
    pub fn with_descendants(&self, top: SessionId) -> Vec<SessionId> {
        let mut found = vec![top];
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            found.extend(self.by_parent.get(&id).into_iter().flatten());
            next += 1;
        }
        found.reverse();
        found
    }

    /// Whether another session of the same target has a switch on, so that Chrome has it on
    /// already.
    pub fn is_enabled_elsewhere(&self, id: SessionId, switch: &str) -> bool {
        let Some(session) = self.map.get(&id) else {
            return false;
        };
        self.on(&session.target)
            .any(|(other, session)| other != id && session.has_enabled(switch))
    }
}
