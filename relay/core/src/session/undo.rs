//! The commands that undo in Chrome what an ended session enabled and set, without changing what
//! other sessions have.

use crate::Core;
use crate::model::World;
use crate::model::journal::Entry;
use crate::model::sessions::Session;
use crate::model::target::Target;
use crate::protocol::ids::{Debuggee, TabId};
use crate::protocol::json;
use crate::protocol::methods::domains::{SCREENCAST, has_enable};
use crate::protocol::methods::init::ACCUMULATING;
use crate::protocol::methods::undo;

use super::scripts::REMOVE_SCRIPT;

/// A method and its parameters.
type UndoCommand = (String, String);

impl Core {
    /// Undoes what a session enabled, set and requested in a live tab.
    pub(crate) fn undo(&mut self, ended: &Session, tab_id: TabId) {
        self.dismiss_abandoned_dialog(tab_id);
        if let Some(debuggee) = ended.target().debuggee() {
            for (method, params) in undo_commands(&self.world, ended) {
                self.out.command_ignored(&debuggee, &method, &params);
            }
        }
        if self.world.is_enabled(ended.target(), "Debugger") {
            self.release_breakpoints(ended.target(), ended.breakpoints());
        }
        for switch in ended.enabled() {
            if !self.world.is_enabled(ended.target(), switch) {
                self.on_disabled(ended.target(), switch);
            }
        }
        self.release_interception(ended);
        self.release_children(ended.target());
    }

    /// A dialog that no remaining session can answer would block the page.
    fn dismiss_abandoned_dialog(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get(tab_id);
        let is_open = tab.is_some_and(|tab| tab.dialog_is_open());
        if is_open && !self.world.is_enabled(&Target::Page(tab_id), "Page") {
            let page = Debuggee::page(tab_id);
            self.out
                .command_ignored(&page, "Page.handleJavaScriptDialog", r#"{"accept":false}"#);
        }
    }
}

fn undo_commands(world: &World, ended: &Session) -> Vec<UndoCommand> {
    let mut commands = Vec::new();
    for switch in ended.enabled() {
        if world.is_enabled(ended.target(), switch) {
            continue;
        }
        if switch == SCREENCAST {
            commands.push(("Page.stopScreencast".to_owned(), "{}".to_owned()));
        } else if has_enable(switch) {
            commands.push((format!("{switch}.disable"), "{}".to_owned()));
        }
    }
    let entries = ended.journal().entries().iter();
    let sent = entries.filter(|entry| world.reaches_chrome(ended, entry));
    commands.extend(sent.filter_map(|entry| undo_entry(world, ended.target(), entry)));
    commands
}

fn undo_entry(world: &World, target: &Target, entry: &Entry) -> Option<UndoCommand> {
    if let Some(script) = &entry.script {
        let real = script.real.as_ref()?;
        let params = serde_json::json!({ "identifier": real }).to_string();
        return Some((REMOVE_SCRIPT.to_owned(), params));
    }
    let (method, params) = undo::find(&entry.method, &entry.params)?;
    match remaining_setting(world, target, entry) {
        None => Some((method.to_owned(), params.into_owned())),
        // Another session has added the same thing and keeps it.
        Some(_) if ACCUMULATING.contains(&entry.method.as_str()) => None,
        // If another session has set the same thing, its setting applies again.
        Some(theirs) => Some((entry.method.clone(), theirs.to_owned())),
    }
}

/// The parameters with which another session of the target has sent the same command.
fn remaining_setting<'w>(world: &'w World, target: &Target, entry: &Entry) -> Option<&'w str> {
    let is_same = |other: &Entry| other.method == entry.method && name_of(other) == name_of(entry);
    for id in world.sessions.ids_on(target) {
        let session = world.sessions.get(id)?;
        let mut entries = session.journal().entries().iter();
        let found = entries.rfind(|other| is_same(other) && world.reaches_chrome(session, other));
        if let Some(found) = found {
            return Some(&*found.params);
        }
    }
    None
}

fn name_of(entry: &Entry) -> &str {
    json::field(&entry.params, "name").unwrap_or("null")
}
