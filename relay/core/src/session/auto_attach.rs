//! `Target.setAutoAttach` as Chrome has it: one for each page and child, which covers what all of its
//! sessions want.

use crate::Core;
use crate::model::sessions::Session;
use crate::model::target::Target;
use crate::protocol::ids::{ChildId, Debuggee, TabId};

pub(crate) const AUTO_ATTACH: &str = "Target.setAutoAttach";

/// The parameters for Chrome: whether to attach to new children, and whether to pause them.
fn auto_attach_params(wanted: Option<bool>) -> String {
    serde_json::json!({
        "autoAttach": wanted.is_some(),
        "waitForDebuggerOnStart": wanted == Some(true),
        "flatten": true,
    })
    .to_string()
}

impl Core {
    /// The parameters of the `Target.setAutoAttach` that covers all sessions of a target; `None` if
    /// Chrome has it already.
    pub(crate) fn update_auto_attach(&mut self, target: &Target) -> Option<String> {
        let debuggee = target.debuggee()?;
        let wanted = self.wanted_auto_attach(target);
        let tab = self.world.tabs.get_mut(debuggee.tab_id)?;
        let changed = tab.request_auto_attach(debuggee.child_id.as_ref(), wanted);
        changed.then(|| auto_attach_params(wanted))
    }

    /// What all sessions together want of a target's children: whether to attach them, and whether
    /// to pause new ones. A session that a client has attached to one of them itself needs it, too.
    fn wanted_auto_attach(&self, target: &Target) -> Option<bool> {
        let sessions = self.world.sessions.on(target);
        let automatic = sessions
            .filter_map(|(_, session)| session.auto_attach().map(|wanted| wanted.pauses))
            .reduce(|one, other| one || other);
        automatic.or_else(|| self.has_attached_inside(target).then_some(false))
    }

    /// Whether a client has attached to a child inside a target explicitly, or is about to.
    fn has_attached_inside(&self, target: &Target) -> bool {
        let Some(debuggee) = target.debuggee() else {
            return false;
        };
        let Some(tab) = self.world.tabs.get(debuggee.tab_id) else {
            return false;
        };
        let is_inside = |child_id: &ChildId| match &debuggee.child_id {
            None => true,
            Some(outer) => tab.ancestors_of(child_id).any(|id| id == outer),
        };
        let is_needed = |session: &Session| match session.target() {
            Target::Child(_, child_id) => session.is_explicitly_attached() && is_inside(child_id),
            _ => false,
        };
        let mut sessions = self.world.sessions.at(Some(tab.id()));
        let mut calls = self.out.calls.iter();
        sessions.any(|(_, session)| is_needed(session))
            || calls.any(|call| call.is_on(&debuggee) && call.requests_frame())
    }

    /// A session of this target has ended.
    pub(crate) fn release_children(&mut self, target: &Target) {
        let Some(debuggee) = target.debuggee() else {
            return;
        };
        let tab_id = debuggee.tab_id;
        let mut affected = vec![debuggee];
        if let (Target::Child(_, id), Some(tab)) = (target, self.world.tabs.get(tab_id)) {
            let outer = tab.ancestors_of(id).cloned();
            affected.extend(outer.map(|id| Debuggee::child(tab_id, id)));
            affected.push(Debuggee::page(tab_id));
        }
        for debuggee in &affected {
            if let Some(params) = self.update_auto_attach(&Target::from(debuggee)) {
                self.out.command_ignored(debuggee, AUTO_ATTACH, &params);
            }
        }
        self.resume_abandoned_children(tab_id);
        self.announce_frame_changes(tab_id);
    }

    /// Asks Chrome for the frames of a page, whatever it was asked before: its reply tells that they
    /// are attached.
    pub(crate) fn auto_attach_for_frame(&mut self, tab_id: TabId) -> String {
        let wanted = self
            .wanted_auto_attach(&Target::Page(tab_id))
            .or(Some(false));
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.request_auto_attach(None, wanted);
        }
        self.announce_frame_changes(tab_id);
        auto_attach_params(wanted)
    }
}
