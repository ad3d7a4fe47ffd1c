//! The sessions of all clients. A session is one client's view of one target; nothing else holds session state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;

use crate::ids::{ChildId, ClientId, SessionId, TabId};
use crate::interception::Interception;
use crate::journal::Journal;

/// What a session is a view of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The browser: each client's root session, and those of `Target.attachToBrowserTarget`.
    Browser,
    /// The `tab` target above a page, which Puppeteer attaches to first. It has no counterpart behind `chrome.debugger`.
    Tab(TabId),
    /// A tab's page.
    Page(TabId),
    /// A target below a page: an out-of-process iframe, a worker.
    Child(TabId, ChildId),
}

impl Subject {
    pub fn tab(&self) -> Option<TabId> {
        match self {
            Self::Browser => None,
            Self::Tab(tab) | Self::Page(tab) | Self::Child(tab, _) => Some(*tab),
        }
    }

    /// Where Chrome is asked about it: the tab, and the target below it.
    pub fn place(&self) -> Option<(TabId, Option<&ChildId>)> {
        match self {
            Self::Page(tab) => Some((*tab, None)),
            Self::Child(tab, child) => Some((*tab, Some(child))),
            Self::Browser | Self::Tab(_) => None,
        }
    }
}

#[derive(Debug)]
pub struct Session {
    pub client: ClientId,
    /// The session that attached this one; events about it go there. `None` for a client's root session.
    pub parent: Option<SessionId>,
    pub subject: Subject,
    /// `Target.setDiscoverTargets`: which targets this session is told of.
    pub discovers: Option<Filter>,
    /// `Target.setAutoAttach`: which targets are attached to this session as they appear.
    pub auto_attach: Option<AutoAttach>,
    /// The domains this session enabled; their events reach it.
    pub enabled: BTreeSet<String>,
    pub journal: Journal,
    /// Whether the client asked for it by name, and did not get it by `Target.setAutoAttach`.
    pub is_asked: bool,
    /// Whether a client's library has it by `Target.setAutoAttach`, and has said nothing but init commands so far.
    pub sets_up: bool,
    /// How many of its commands wait for their turn (see `turns`), and how large all is that waits so.
    pub waits_for_turn: usize,
    pub deferred_bytes: usize,
    /// Breakpoints that it set, by Chrome's ids.
    pub breakpoints: BTreeSet<String>,
    /// `Fetch.enable`: which requests stop for this session.
    pub interception: Option<Interception>,
}

#[derive(Debug, Clone)]
pub struct AutoAttach {
    pub filter: Filter,
    /// `waitForDebuggerOnStart`: targets are stopped at their start until this session resumes them.
    pub stops: bool,
}

/// Which kinds of target a client wants: the first entry that fits decides.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Filter(Vec<FilterEntry>);

#[derive(Debug, Clone, Deserialize)]
struct FilterEntry {
    #[serde(default)]
    exclude: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Default for Filter {
    /// The protocol's default: everything but `browser` and `tab`.
    fn default() -> Self {
        let without = |kind: &str| FilterEntry {
            exclude: true,
            kind: Some(kind.to_owned()),
        };
        Self(vec![
            without("browser"),
            without("tab"),
            FilterEntry {
                exclude: false,
                kind: None,
            },
        ])
    }
}

impl Filter {
    pub fn wants(&self, kind: &str) -> bool {
        let fits = |entry: &&FilterEntry| entry.kind.as_deref().is_none_or(|wanted| wanted == kind);
        self.0.iter().find(fits).is_some_and(|entry| !entry.exclude)
    }
}

/// Enters: a client's root session when it connects, others with `attachedToTarget`. Leaves: with
/// `detachedFromTarget`, with its parent session, or with its client.
#[derive(Debug, Default)]
pub struct Sessions {
    map: HashMap<SessionId, Session>,
    /// The same sessions by what they see, `None` for the browser, in the order they came: an event of one tab must not
    /// cost a walk over the sessions of all others.
    by_tab: BTreeMap<Option<TabId>, Vec<SessionId>>,
    /// The same sessions by the one that attached them.
    by_parent: HashMap<SessionId, Vec<SessionId>>,
    /// How many each client has, so that none can have too many.
    by_client: BTreeMap<ClientId, usize>,
}

impl Sessions {
    pub fn open(
        &mut self,
        id: SessionId,
        client: ClientId,
        parent: Option<SessionId>,
        subject: Subject,
    ) {
        self.by_tab.entry(subject.tab()).or_default().push(id);
        if let Some(parent) = parent {
            self.by_parent.entry(parent).or_default().push(id);
        }
        *self.by_client.entry(client).or_default() += 1;
        let session = Session {
            client,
            parent,
            subject,
            discovers: None,
            auto_attach: None,
            enabled: BTreeSet::new(),
            journal: Journal::default(),
            is_asked: false,
            sets_up: true,
            waits_for_turn: 0,
            deferred_bytes: 0,
            breakpoints: BTreeSet::new(),
            interception: None,
        };
        self.map.insert(id, session);
    }

    pub fn get(&self, id: SessionId) -> Option<&Session> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.map.get_mut(&id)
    }

    pub fn close(&mut self, id: SessionId) -> Option<Session> {
        let session = self.map.remove(&id)?;
        take_out(&mut self.by_tab, session.subject.tab(), id);
        if let Some(siblings) = session
            .parent
            .and_then(|parent| self.by_parent.get_mut(&parent))
        {
            siblings.retain(|other| *other != id);
        }
        self.by_parent.remove(&id);
        if let Some(count) = self.by_client.get_mut(&session.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_client.remove(&session.client);
            }
        }
        Some(session)
    }

    pub fn iter(&self) -> impl Iterator<Item = (SessionId, &Session)> {
        self.by_tab
            .values()
            .flatten()
            .filter_map(|id| self.map.get(id).map(|session| (*id, session)))
    }

    /// All sessions of a tab, or of the browser for `None`: of the page, the target above it and the targets below it.
    pub fn at(&self, tab: Option<TabId>) -> impl Iterator<Item = (SessionId, &Session)> {
        self.by_tab
            .get(&tab)
            .into_iter()
            .flatten()
            .filter_map(|id| self.map.get(id).map(|session| (*id, session)))
    }

    /// The sessions that see exactly this subject.
    pub fn viewing<'s>(
        &'s self,
        subject: &'s Subject,
    ) -> impl Iterator<Item = (SessionId, &'s Session)> {
        self.at(subject.tab())
            .filter(move |(_, session)| session.subject == *subject)
    }

    /// A session and all below it, those below first. A list and not a recursion: clients nest as deep as they like.
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

    pub fn count_of(&self, client: ClientId) -> usize {
        self.by_client.get(&client).copied().unwrap_or_default()
    }

    pub fn of_client(&self, client: ClientId) -> Vec<SessionId> {
        self.iter()
            .filter(|(_, session)| session.client == client)
            .map(|(id, _)| id)
            .collect()
    }

    /// Whether another session of the same subject has this domain enabled, so that Chrome has it on already.
    pub fn enabled_elsewhere(&self, id: SessionId, domain: &str) -> bool {
        let Some(session) = self.map.get(&id) else {
            return false;
        };
        self.viewing(&session.subject)
            .any(|(other, view)| other != id && view.enabled.contains(domain))
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

fn take_out(
    lists: &mut BTreeMap<Option<TabId>, Vec<SessionId>>,
    key: Option<TabId>,
    id: SessionId,
) {
    if let Some(list) = lists.get_mut(&key) {
        list.retain(|other| *other != id);
        if list.is_empty() {
            lists.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_of_a_filter_that_fits_decides() {
        let puppeteer: Filter =
            serde_json::from_str(r#"[{"type":"page","exclude":true},{}]"#).unwrap();
        assert!(puppeteer.wants("tab") && !puppeteer.wants("page"));
        let default = Filter::default();
        assert!(default.wants("page") && !default.wants("tab") && !default.wants("browser"));
        let none: Filter = serde_json::from_str("[]").unwrap();
        assert!(!none.wants("page"));
    }
}
