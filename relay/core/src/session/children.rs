//! Child targets of a page: out-of-process iframes and workers. Chrome attaches them to the tab's
//! one debugger session while any session requests it with `Target.setAutoAttach`.
//!
//! 1. Chrome is asked for all kinds of children; each session receives those that its own filter
//!    includes.
//! 2. Chrome is asked to pause them at their start if any session wants that. A child that no
//!    session will resume is resumed by the relay at once, so that a page never waits for a client
//!    that does not know of it.
//! 3. A session that requests children later receives the existing ones.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::calls::Step;
use crate::model::child::Child;
use crate::model::pending_call::PendingCall;
use crate::model::sessions::Session;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, ChildId, Debuggee, SessionId, TabId, TargetId};
use crate::protocol::methods::command::Command;

use super::auto_attach::AUTO_ATTACH;

/// A step on the way through a child and its descendants: parents are entered before their
/// children, and left after them.
enum Visit {
    Enter(ChildId),
    Leave(ChildId),
}

impl Core {
    /// A session of a page or a child has changed its `Target.setAutoAttach`.
    pub(crate) fn request_children(
        &mut self,
        caller: Caller,
        target: &Target,
        request: &Request<'_>,
    ) -> HandlerResult {
        let debuggee = target.debuggee().ok_or(CdpError::SessionNotFound)?;
        let tab_id = debuggee.tab_id;
        let tab = self.world.tabs.get(tab_id).ok_or(CdpError::TabClosed)?;
        let is_live = tab.is_live();
        if !tab.has_replayed() {
            // Waking requests the children that all sessions want.
            if debuggee.child_id.is_none() {
                self.end_unwanted_children(caller.session_id, tab_id);
                self.announce_dormant_frames_to(caller.session_id, tab_id);
            }
            return Ok(Handled::empty());
        }
        self.end_unwanted_children(caller.session_id, tab_id);
        self.announce_children_to(caller.session_id, &debuggee);
        let params = self.update_auto_attach(target);
        self.announce_frame_changes(tab_id);
        let Some(params) = params else {
            return Ok(Handled::empty());
        };
        let merged = Request {
            params: params.into(),
            ..request.clone()
        };
        let answers_now = !is_live
            || self
                .world
                .answers_late_join(caller.session_id, tab_id, &merged);
        if debuggee.child_id.is_none() && answers_now {
            self.send_unawaited(caller.session_id, tab_id, &merged, Step::other(AUTO_ATTACH));
            return Ok(Handled::empty());
        }
        self.forward(caller, &debuggee, &merged)
    }

    /// Ends the child sessions that a session got automatically and no longer wants.
    fn end_unwanted_children(&mut self, session_id: SessionId, tab_id: TabId) {
        let is_unwanted = |session: &Session| match session.target() {
            Target::Child(_, child_id) => {
                session.parent() == Some(session_id)
                    && !session.is_explicitly_attached()
                    && !self.wants_child(session_id, tab_id, child_id)
            }
            _ => false,
        };
        let sessions = self.world.sessions.at(Some(tab_id));
        let unwanted = sessions.filter(|(_, session)| is_unwanted(session));
        let ids: Vec<SessionId> = unwanted.map(|(id, _)| id).collect();
        for id in ids {
            self.end_session(id);
        }
        self.resume_abandoned_children(tab_id);
    }

    fn wants_child(&self, session_id: SessionId, tab_id: TabId, child_id: &ChildId) -> bool {
        let tab = self.world.tabs.get(tab_id);
        let Some(child) = tab.and_then(|tab| tab.child(child_id)) else {
            return true;
        };
        let session = self.world.sessions.get(session_id);
        let wanted = session.and_then(|session| session.auto_attach());
        wanted.is_some_and(|wanted| wanted.filter.includes(child.kind()))
    }

    /// Announces the existing children of a target to a session that has just requested them.
    fn announce_children_to(&mut self, session_id: SessionId, parent: &Debuggee) {
        let tab_id = parent.tab_id;
        let session = self.world.sessions.get(session_id);
        let wanted = session.and_then(|session| session.auto_attach());
        let Some((wanted, tab)) = wanted.zip(self.world.tabs.get(tab_id)) else {
            return;
        };
        let is_wanted = |child: &Child| {
            child.parent() == parent.child_id.as_ref() && wanted.filter.includes(child.kind())
        };
        let children = tab.children().filter(|(_, child)| is_wanted(child));
        let targets: Vec<Target> = children
            .map(|(id, _)| Target::Child(tab_id, id.clone()))
            .collect();
        for target in targets {
            if !self.has_child_session(session_id, &target) {
                let opened = self.open_session(session_id, target);
                self.announce_attached(opened, false);
            }
        }
    }

    pub(crate) fn on_child_attached(&mut self, parent: &Debuggee, params: &str) {
        let Some((child_id, child)) = self.parse_child(parent, params) else {
            return;
        };
        let is_paused = child.is_paused();
        let Some(tab) = self.world.tabs.get_mut(parent.tab_id) else {
            return;
        };
        tab.add_child(child_id.clone(), child);
        let child = Debuggee::child(parent.tab_id, child_id);
        self.replace_placeholder(&child);
        self.announce_frame_changes(parent.tab_id);
        let will_be_resumed = self.announce_child(parent, &child, is_paused);
        if is_paused && !will_be_resumed {
            self.resume_child(&child);
        }
    }

    fn parse_child(&self, parent: &Debuggee, params: &str) -> Option<(ChildId, Child)> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached<'a> {
            session_id: String,
            #[serde(borrow)]
            target_info: &'a RawValue,
            #[serde(default)]
            waiting_for_debugger: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Info {
            target_id: String,
            #[serde(rename = "type")]
            kind: String,
        }
        let attached: Attached<'_> = serde_json::from_str(params).ok()?;
        let info: Info = serde_json::from_str(attached.target_info.get()).ok()?;
        let child = Child::new(
            self.with_own_context(attached.target_info.get()),
            TargetId::new(&info.target_id),
            info.kind,
            parent.child_id.clone(),
            attached.waiting_for_debugger,
        );
        Some((ChildId::new(&attached.session_id), child))
    }

    /// Attaches a new child to the sessions that want it. Returns whether one of them will resume
    /// it.
    fn announce_child(&mut self, parent: &Debuggee, child: &Debuggee, is_paused: bool) -> bool {
        let Some(child_id) = &child.child_id else {
            return false;
        };
        let parent = Target::from(parent);
        let sessions = self.world.sessions.on(&parent);
        let wanting: Vec<(SessionId, bool)> = sessions
            .filter(|(id, _)| self.wants_child(*id, child.tab_id, child_id))
            .map(|(id, session)| (id, session.pauses_children()))
            .collect();
        let mut will_be_resumed = false;
        for (session_id, pauses) in &wanting {
            // A session that knew its placeholder has it already, and will not resume it.
            if !self.has_child_session(*session_id, &Target::from(child)) {
                let opened = self.open_session(*session_id, Target::from(child));
                self.announce_attached(opened, is_paused && *pauses);
                will_be_resumed |= pauses;
            }
        }
        will_be_resumed
    }

    /// A child is gone, and its descendants with it. Iterative, and each child once: the
    /// extension's messages could nest children to any depth, or in a cycle.
    pub(crate) fn on_child_detached(&mut self, tab_id: TabId, child_id: &ChildId) {
        let mut entered = BTreeSet::new();
        let mut visits = vec![Visit::Enter(child_id.clone())];
        while let Some(visit) = visits.pop() {
            match visit {
                Visit::Enter(id) => {
                    if !entered.insert(id.clone()) {
                        continue;
                    }
                    self.fail_child_calls(&Debuggee::child(tab_id, id.clone()));
                    visits.push(Visit::Leave(id.clone()));
                    let tab = self.world.tabs.get(tab_id);
                    let children = tab.into_iter().flat_map(|tab| tab.children_of(&id).rev());
                    visits.extend(children.cloned().map(Visit::Enter));
                }
                Visit::Leave(id) => self.end_child(tab_id, &id),
            }
        }
    }

    fn fail_child_calls(&mut self, child: &Debuggee) {
        for (_, call) in self.out.calls.take_where(|call| call.is_on(child)) {
            self.on_child_call_lost(child, call);
        }
    }

    fn end_child(&mut self, tab_id: TabId, child_id: &ChildId) {
        let target = Target::Child(tab_id, child_id.clone());
        for session_id in self.world.sessions.ids_on(&target) {
            self.end_session(session_id);
        }
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            let removed = tab.remove_child(child_id);
            if let Some(child) = removed.filter(|_| tab.attaches_children()) {
                tab.forget_remote_frame(child.target_id());
            }
        }
        self.announce_frame_changes(tab_id);
    }

    /// A frame that navigates to a site of its parent's process leaves its own process, and
    /// Chrome's reply to the navigation is lost. Its content is known, and the frame
    /// continues in its parent's session.
    fn on_child_call_lost(&mut self, child: &Debuggee, call: PendingCall) {
        let tab = self.world.tabs.get(child.tab_id);
        let navigation = tab
            .zip(child.child_id.as_ref())
            .and_then(|(tab, id)| tab.child(id)?.navigation());
        if let Some(caller) = call.caller()
            && Command::classify(call.method()) == Command::Navigate
            && let Some((frame, loader)) = navigation
        {
            let result = serde_json::json!({ "frameId": frame, "loaderId": loader }).to_string();
            self.send_reply(caller, &result);
        } else {
            self.fail_call(call, &CdpError::SessionNotFound);
        }
    }

    /// Resumes the paused children whose sessions have ended: nobody else would.
    pub(crate) fn resume_abandoned_children(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let paused = tab.children().filter(|(_, child)| child.is_paused());
        let paused: Vec<Debuggee> = paused
            .map(|(id, _)| Debuggee::child(tab_id, id.clone()))
            .collect();
        for child in paused {
            if !self.will_be_resumed(&Target::from(&child)) {
                self.resume_child(&child);
            }
        }
    }

    /// Whether a session that pauses new targets has a session on this child.
    fn will_be_resumed(&self, child: &Target) -> bool {
        let sessions = &self.world.sessions;
        let pauses = |id| sessions.get(id).is_some_and(Session::pauses_children);
        let mut parents = sessions
            .on(child)
            .filter_map(|(_, session)| session.parent());
        parents.any(pauses)
    }

    fn resume_child(&mut self, child: &Debuggee) {
        let tab = self.world.tabs.get_mut(child.tab_id);
        if let Some((tab, id)) = tab.zip(child.child_id.as_ref())
            && let Some(child) = tab.child_mut(id)
        {
            child.on_resumed();
        }
        self.out
            .command_ignored(child, "Runtime.runIfWaitingForDebugger", "{}");
    }
}
