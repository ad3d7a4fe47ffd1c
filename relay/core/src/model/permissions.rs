//! The permissions that clients have set for sites. Chrome keeps one set of rules for the whole
//! extension, so the relay remembers whose each rule is.

use serde::Serialize;

use crate::protocol::ids::ClientId;

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

/// The rules of all clients, oldest first. A rule enters when its client sets it, and leaves when
/// the client sets it anew, resets its permissions or disconnects.
#[derive(Debug, Default)]
pub struct Permissions {
    rules: Vec<(ClientId, Rule)>,
}

impl Permissions {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn of(&self, client_id: ClientId) -> Vec<Rule> {
        let own = self.rules.iter().filter(|(id, _)| *id == client_id);
        own.map(|(_, rule)| rule.clone()).collect()
    }

    /// Adds rules of a client, instead of its own rules of the same type and pattern.
    pub fn add(&mut self, client_id: ClientId, rules: Vec<Rule>) {
        let is_replaced = |id: ClientId, old: &Rule| {
            let mut new = rules.iter();
            id == client_id && new.any(|new| new.kind == old.kind && new.pattern == old.pattern)
        };
        self.rules.retain(|(id, old)| !is_replaced(*id, old));
        self.rules
            .extend(rules.into_iter().map(|rule| (client_id, rule)));
    }

    /// Forgets a client's rules for these patterns.
    pub fn forget_patterns(&mut self, client_id: ClientId, patterns: &[String]) {
        self.rules
            .retain(|(id, rule)| *id != client_id || !patterns.contains(&rule.pattern));
    }

    /// Forgets all rules of a client. Returns whether it had any.
    pub fn forget(&mut self, client_id: ClientId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|(id, _)| *id != client_id);
        self.rules.len() != before
    }

    /// What Chrome has to have. If clients disagree about a site, the last one to set it wins.
    pub fn effective(&self) -> Vec<&Rule> {
        let is_last = |index: usize, rule: &Rule| {
            let mut later = self.rules.iter().skip(index + 1);
            !later.any(|(_, other)| other.kind == rule.kind && other.pattern == rule.pattern)
        };
        let rules = self.rules.iter().enumerate();
        let effective = rules.filter(|(index, (_, rule))| is_last(*index, rule));
        effective.map(|(_, (_, rule))| rule).collect()
    }
}
