//! The permissions that clients have set for sites. Chrome keeps one set of rules for the whole
//! extension, so the relay remembers whose each rule is.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::protocol::ids::{Caller, ClientId};

/// A rule of `chrome.contentSettings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The content setting, such as `location`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The sites, such as `https://example.com/*`.
    pub pattern: String,
    /// `allow`, `block` or `ask`.
    pub setting: &'static str,
}

/// What a client wants changed in its own rules: first some are forgotten, then others are set.
#[derive(Debug)]
pub struct Change {
    pub forgotten: Forgotten,
    pub set: Vec<Rule>,
}

#[derive(Debug)]
pub enum Forgotten {
    Nothing,
    Patterns(Vec<String>),
    Everything,
}

/// The rules of one client, by content setting and pattern.
pub type ClientRules = BTreeMap<(&'static str, String), Choice>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    setting: &'static str,
    /// If clients disagree about a site, the last one to set it wins.
    number: u64,
}

/// How many rules a client can have. All rules are sent with each change.
pub const MAX_RULES: usize = 1000;

/// How many changes can wait for the one that is under way.
const MAX_WAITING: usize = 1000;

/// The rules of all clients. A rule enters when its client sets it, and leaves when the client sets
/// it anew, resets its permissions or disconnects.
///
/// Changes are made one at a time: each sends the rules of all clients, so one that Chrome rejects
/// would take those behind it along.
#[derive(Debug, Default)]
pub struct Permissions {
    rules: BTreeMap<ClientId, ClientRules>,
    /// Counts what is set, by whomever.
    last_number: u64,
    /// Whose change is under way.
    changing: Option<ClientId>,
    waiting: VecDeque<(Caller, Change)>,
}

impl Permissions {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.changing.is_none() && self.waiting.is_empty()
    }

    pub fn of(&self, client_id: ClientId) -> ClientRules {
        self.rules.get(&client_id).cloned().unwrap_or_default()
    }

    /// Changes the rules of a client. Returns whether it may have that many.
    pub fn apply(&mut self, client_id: ClientId, change: Change) -> bool {
        let own = self.rules.entry(client_id).or_default();
        match change.forgotten {
            Forgotten::Nothing => {}
            Forgotten::Patterns(patterns) => {
                own.retain(|(_, pattern), _| !patterns.contains(pattern));
            }
            Forgotten::Everything => own.clear(),
        }
        for Rule {
            kind,
            pattern,
            setting,
        } in change.set
        {
            self.last_number += 1;
            let number = self.last_number;
            own.insert((kind, pattern), Choice { setting, number });
        }
        let count = own.len();
        if count == 0 {
            self.rules.remove(&client_id);
        }
        count <= MAX_RULES
    }

    /// The rules of a client are these, and no others.
    pub fn restore(&mut self, client_id: ClientId, rules: ClientRules) {
        self.rules.remove(&client_id);
        if !rules.is_empty() {
            self.rules.insert(client_id, rules);
        }
    }

    /// Forgets all rules of a client, and what it waits for. Returns whether it had any rules.
    pub fn forget(&mut self, client_id: ClientId) -> bool {
        self.waiting
            .retain(|(caller, _)| caller.client_id != client_id);
        self.rules.remove(&client_id).is_some()
    }

    /// What Chrome has to have, by content setting and pattern.
    pub fn effective(&self) -> Vec<Rule> {
        let mut last = BTreeMap::new();
        for (key, choice) in self.rules.values().flatten() {
            let found = last.entry(key).or_insert(choice);
            if found.number < choice.number {
                *found = choice;
            }
        }
        last.into_iter()
            .map(|((kind, pattern), choice)| Rule {
                kind,
                pattern: pattern.clone(),
                setting: choice.setting,
            })
            .collect()
    }

    // ---- one change at a time ----

    pub fn changing(&self) -> Option<ClientId> {
        self.changing
    }

    pub fn set_changing(&mut self, client_id: Option<ClientId>) {
        self.changing = client_id;
    }

    /// Keeps a change until the one that is under way is done. Returns whether there is room.
    pub fn wait(&mut self, caller: Caller, change: Change) -> bool {
        let has_room = self.waiting.len() < MAX_WAITING;
        if has_room {
            self.waiting.push_back((caller, change));
        }
        has_room
    }

    pub fn next_waiting(&mut self) -> Option<(Caller, Change)> {
        self.waiting.pop_front()
    }
}
