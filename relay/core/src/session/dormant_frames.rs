//! Cross-process frames of a dormant tab. Chrome attaches them as targets of their own, and their ids are
//! known without attaching. So clients find them from the start, as placeholders:
//!
//! 1. A session that requests children of a dormant page gets a session on each placeholder.
//! 2. A placeholder answers init commands. Any other command wakes the tab (`tab::frame`).
//! 3. When Chrome attaches the frame, its sessions move to the real child, which receives their
//!    journals. Contexts are paired as in a page. Placeholders that Chrome does not attach are gone.
//!    A frame that navigates before that does so in its sessions, too (`frame_navigation`).
//! 4. When the tab becomes dormant again, the frame does, too: its sessions move to a placeholder.

use crate::Core;
use crate::model::calls::{Continuation, Step};
use crate::model::child::Child;
use crate::model::tab::FrameTarget;
use crate::model::target::Target;
use crate::protocol::ids::{ChildId, Debuggee, SessionId, TabId, TargetId};
use crate::protocol::wire::RemoteFrame;

use super::auto_attach::AUTO_ATTACH;

pub(super) fn placeholder_id(frame: &RemoteFrame) -> ChildId {
    ChildId::new(&format!("tabwire.{}", frame.target_id))
}

impl Core {
    /// Attaches the frames of a dormant page to the sessions that want them and do not have them.
    pub(crate) fn announce_dormant_frames(&mut self, tab_id: TabId) {
        for session_id in self.world.sessions.ids_on(&Target::Page(tab_id)) {
            self.announce_dormant_frames_to(session_id, tab_id);
        }
    }

    pub(crate) fn announce_dormant_frames_to(&mut self, session_id: SessionId, tab_id: TabId) {
        let session = self.world.sessions.get(session_id);
        let wanted = session.and_then(|session| session.auto_attach());
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        if !tab.is_dormant() || !wanted.is_some_and(|wanted| wanted.filter.includes("iframe")) {
            return;
        }
        for frame in tab.remote_frames().to_vec() {
            let target = self.add_placeholder(tab_id, &frame);
            if !self.has_child_session(session_id, &target) {
                let opened = self.open_session(session_id, target);
                self.announce_attached(opened, false);
            }
        }
    }

    /// Adds the placeholder of a frame, or finds it.
    pub(crate) fn add_placeholder(&mut self, tab_id: TabId, frame: &RemoteFrame) -> Target {
        let id = placeholder_id(frame);
        let info = self.placeholder_info(tab_id, frame);
        let tab = self.world.tabs.get_mut(tab_id);
        if let Some(tab) = tab.filter(|tab| tab.child(&id).is_none()) {
            let target_id = TargetId::new(&frame.target_id);
            tab.add_child(id.clone(), Child::placeholder(info, target_id));
        }
        Target::Child(tab_id, id)
    }

    /// A placeholder is described to sessions that are attached to it.
    pub(super) fn placeholder_info(&self, tab_id: TabId, frame: &RemoteFrame) -> String {
        let tab = self.world.tabs.get(tab_id);
        let frame = FrameTarget {
            target_id: TargetId::new(&frame.target_id),
            url: frame.url.clone(),
            parent: tab.map_or_else(|| TargetId::new(""), |tab| tab.page_id().clone()),
            child_id: Some(placeholder_id(frame)),
        };
        self.describe_frame(&frame, true)
    }

    /// The extension has reported other frames.
    pub(crate) fn on_remote_frames(&mut self, tab_id: TabId, frames: Vec<RemoteFrame>) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        tab.set_remote_frames(frames.clone());
        let (is_dormant, placeholders) = (tab.is_dormant(), tab.placeholders());
        for frame in frames {
            self.update_placeholder(tab_id, &frame);
        }
        if is_dormant {
            self.end_missing_placeholders(tab_id, placeholders);
            self.announce_dormant_frames(tab_id);
        }
        self.announce_frame_changes(tab_id);
    }

    fn end_missing_placeholders(&mut self, tab_id: TabId, placeholders: Vec<ChildId>) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let known: Vec<_> = tab.remote_frames().iter().map(placeholder_id).collect();
        for gone in placeholders.iter().filter(|id| !known.contains(id)) {
            self.on_child_detached(tab_id, gone);
        }
    }

    /// Ends the placeholders of a document that is gone, or of frames that Chrome has not attached.
    pub(crate) fn end_placeholders(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get(tab_id);
        for id in tab.map_or(Vec::new(), |tab| tab.placeholders()) {
            self.on_child_detached(tab_id, &id);
        }
    }

    /// Chrome has attached a frame. If clients know its placeholder, their sessions move to it.
    /// Returns whether there was one.
    pub(crate) fn replace_placeholder(&mut self, child: &Debuggee) -> bool {
        let tab_id = child.tab_id;
        let Some((tab, id)) = self.world.tabs.get_mut(tab_id).zip(child.child_id.clone()) else {
            return false;
        };
        let target_id = tab.child(&id).map(|child| child.target_id().clone());
        let Some(found) = target_id.and_then(|target_id| tab.find_placeholder(&target_id)) else {
            return false;
        };
        let placeholder = tab.remove_child(&found);
        if let (Some(real), Some(placeholder)) = (tab.child_mut(&id), placeholder) {
            real.replace(placeholder);
        }
        let target = Target::from(child);
        let sessions = &mut self.world.sessions;
        sessions.move_to(&Target::Child(tab_id, found), &target);
        for session_id in self.world.sessions.ids_on(&target) {
            self.replay_to_frame(session_id, child);
        }
        if let Some(params) = self.update_auto_attach(&target) {
            self.out.command_ignored(child, AUTO_ATTACH, &params);
        }
        if let Some(params) = self.merged_interception(&target) {
            self.out.command_ignored(child, "Fetch.enable", &params);
        }
        true
    }

    /// The tab becomes dormant. If this child is a frame of the top document, it stays as a
    /// placeholder. Playwright would lose a frame that is detached and attached again at once.
    /// Returns whether it stays.
    pub(crate) fn become_placeholder(&mut self, tab_id: TabId, child_id: &ChildId) -> bool {
        let tab = self.world.tabs.get(tab_id);
        let Some((tab, child)) = tab.and_then(|tab| Some((tab, tab.child(child_id)?))) else {
            // It was removed with its parent.
            return true;
        };
        if child.is_placeholder() || child.kind() != "iframe" || child.parent().is_some() {
            return child.is_placeholder();
        }
        let frame = RemoteFrame {
            target_id: child.target_id().to_string(),
            url: child.url(),
        };
        let descendants: Vec<ChildId> = tab.children_of(child_id).cloned().collect();
        for id in descendants {
            self.on_child_detached(tab_id, &id);
        }
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return false;
        };
        tab.remove_child(child_id);
        tab.add_remote_frame(&frame);
        let placeholder = self.add_placeholder(tab_id, &frame);
        let sessions = &mut self.world.sessions;
        sessions.move_to(&Target::Child(tab_id, child_id.clone()), &placeholder);
        self.broadcast(&placeholder, "Runtime.executionContextsCleared", "{}");
        self.synthesize_frame_contexts(tab_id, &frame);
        true
    }

    /// Sends a frame what one of its sessions sent to the placeholder.
    fn replay_to_frame(&mut self, session_id: SessionId, child: &Debuggee) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let entries = session.journal().entries().iter();
        let sent = entries.filter(|entry| self.world.reaches_chrome(session, entry));
        let replayed: Vec<_> = sent
            .map(|entry| {
                let step = Step::of_entry(session_id, entry);
                (entry.method.clone(), entry.params.clone(), step)
            })
            .collect();
        for (method, params, step) in replayed {
            let continuation = Continuation::Unawaited {
                tab_id: child.tab_id,
                session_id,
                step,
            };
            self.out.command(child, &method, &params, continuation);
        }
        self.run_frame_scripts(session_id, child);
    }

    /// Chrome has attached the frames that a live page has, if any session wants them.
    pub(crate) fn end_unattached_frames(&mut self, tab_id: TabId) {
        if !self.world.is_live(tab_id) {
            return;
        }
        self.end_placeholders(tab_id);
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.forget_unattached_frames();
        }
        self.announce_frame_changes(tab_id);
    }

    /// A session has ended. If it waited for a frame of a live page, nobody does any more.
    pub(crate) fn end_abandoned_placeholder(&mut self, target: &Target) {
        if let Target::Child(tab_id, child_id) = target
            && self.world.is_live(*tab_id)
            && self.is_placeholder(target)
            && !self.is_attached(target)
        {
            self.on_child_detached(*tab_id, child_id);
        }
    }

    /// Whether a session is on a placeholder.
    pub(crate) fn is_placeholder(&self, target: &Target) -> bool {
        let Target::Child(tab_id, child_id) = target else {
            return false;
        };
        let tab = self.world.tabs.get(*tab_id);
        let child = tab.and_then(|tab| tab.child(child_id));
        child.is_some_and(Child::is_placeholder)
    }
}
