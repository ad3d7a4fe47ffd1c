//! The init commands and settings of one session, in order. They are replayed when a dormant tab
//! wakes and undone when the session ends. Recording continues while the tab is live, so that a tab
//! that lost its debugger can be woken to the same state.

use std::sync::Arc;

use crate::protocol::json;
use crate::protocol::methods::init::Answer;
use crate::protocol::methods::{init, undo};

#[derive(Debug, Clone)]
pub struct Entry {
    pub method: String,
    pub params: Arc<str>,
    /// Sent before `Runtime.runIfWaitingForDebugger`: by the client's library, not by its user.
    pub is_default: bool,
    /// Only for `Page.addScriptToEvaluateOnNewDocument`.
    pub script: Option<Script>,
}

#[derive(Debug, Clone)]
pub struct Script {
    /// The identifier that the client knows.
    pub announced: String,
    /// Chrome's identifier, once it is known.
    pub real: Option<String>,
}

/// An entry enters when its command is answered or forwarded. It leaves when a later command
/// reverts or replaces it.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    /// The client has sent `Runtime.runIfWaitingForDebugger`: what follows are no longer its
    /// library's defaults.
    started: bool,
}

impl Journal {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn start(&mut self) {
        self.started = true;
    }

    pub fn has_started(&self) -> bool {
        self.started
    }

    pub fn contains(&self, method: &str, params: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.method == method && *entry.params == *params)
    }

    pub fn record(&mut self, method: &str, params: Arc<str>, script: Option<Script>) {
        if let Some(reverted) = undo::reverted_by(method) {
            let name = json::field(&params, "name");
            self.entries.retain(|entry| {
                entry.method != reverted
                    || name.is_some() && json::field(&entry.params, "name") != name
            });
            return;
        }
        if let Some(domain) = method.strip_suffix(".disable") {
            let enable = format!("{domain}.enable");
            self.entries.retain(|entry| entry.method != enable);
            return;
        }
        if script.is_none() && self.contains(method, &params) {
            return;
        }
        if !init::ACCUMULATING.contains(&method) {
            self.entries.retain(|entry| entry.method != method);
        }
        self.entries.push(Entry {
            method: method.to_owned(),
            params,
            is_default: !self.started,
            script,
        });
    }

    /// The source of each script that was added to the page's main world.
    pub fn main_world_scripts(&self) -> impl Iterator<Item = String> {
        self.sources_of(|_| true)
    }

    /// As `main_world_scripts`, of those that the client's user added.
    pub fn user_scripts(&self) -> impl Iterator<Item = String> {
        self.sources_of(|entry| !entry.is_default)
    }

    fn sources_of(&self, is_meant: impl Fn(&Entry) -> bool) -> impl Iterator<Item = String> {
        self.entries
            .iter()
            .filter(move |entry| entry.script.is_some() && is_meant(entry))
            .filter(|entry| json::field(&entry.params, "worldName").is_none())
            .filter_map(|entry| json::string_field(&entry.params, "source"))
    }

    pub fn has_user_scripts(&self) -> bool {
        self.user_scripts().next().is_some()
    }

    /// The isolated worlds that scripts of this session run in.
    pub fn script_worlds(&self) -> impl Iterator<Item = String> {
        self.entries
            .iter()
            .filter(|entry| entry.script.is_some())
            .filter_map(|entry| json::string_field(&entry.params, "worldName"))
    }

    /// The isolated worlds that this session has named.
    pub fn worlds(&self) -> impl Iterator<Item = String> {
        let created = self.entries.iter().filter(|entry| {
            let init = init::find(&entry.method);
            init.is_some_and(|init| init.answer == Answer::IsolatedWorld)
        });
        let name = |entry: &Entry| json::string_field(&entry.params, "worldName");
        let created = created.map(move |entry| name(entry).unwrap_or_default());
        created.chain(self.script_worlds())
    }

    /// Removes a script. `None` if this session did not add it.
    pub fn remove_script(&mut self, identifier: &str) -> Option<Script> {
        let matches = |entry: &Entry| {
            let script = entry.script.as_ref();
            script.is_some_and(|script| script.announced == identifier)
        };
        let index = self.entries.iter().position(matches)?;
        self.entries.remove(index).script
    }

    /// Sets Chrome's identifier of a script. `false` if the script was removed in the meantime.
    pub fn set_real_script(&mut self, announced: &str, real: &str) -> bool {
        let script = self
            .scripts_mut()
            .find(|script| script.announced == announced);
        script
            .map(|script| script.real = Some(real.to_owned()))
            .is_some()
    }

    /// Chrome's identifiers are gone with the debugger.
    pub fn forget_real_scripts(&mut self) {
        for script in self.scripts_mut() {
            script.real = None;
        }
    }

    fn scripts_mut(&mut self) -> impl Iterator<Item = &mut Script> {
        self.entries
            .iter_mut()
            .filter_map(|entry| entry.script.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_settings_replace_earlier_ones_and_disable_removes_enable() {
        let mut journal = Journal::default();
        journal.record("Network.enable", "{}".into(), None);
        for params in [r#"{"cacheDisabled":true}"#, r#"{"cacheDisabled":false}"#] {
            journal.record("Network.setCacheDisabled", params.into(), None);
        }
        journal.record("Network.disable", "{}".into(), None);
        let left: Vec<_> = journal.entries().iter().map(|e| &*e.params).collect();
        assert_eq!(left, [r#"{"cacheDisabled":false}"#]);
    }
}
