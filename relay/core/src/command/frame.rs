//! Sessions on a cross-process frame that a client asks for by its target id. Chrome does not let an
//! extension attach to a frame, only to all children of a page. So:
//!
//! 1. Of a dormant tab, the session is on the frame's placeholder. Its first command wakes the tab.
//! 2. Of a live tab whose children Chrome attaches, it is on the frame.
//! 3. Otherwise Chrome is asked for the children first.

use crate::Core;
use crate::emit::out::HandlerResult;
use crate::model::calls::{Note, Step};
use crate::model::sessions::Session;
use crate::model::tab::FrameTarget;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId, TabId, TargetId};
use crate::protocol::wire::RemoteFrame;
use crate::session::auto_attach::AUTO_ATTACH;

impl Core {
    /// `Target.attachToTarget` with the id of a frame.
    pub(super) fn attach_to_frame(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
        id: String,
    ) -> HandlerResult {
        let found = self.find_frame(&id).map(|(tab, frame)| (tab.id(), frame));
        let (tab_id, frame) = found.ok_or(CdpError::TargetNotFound(id))?;
        if let Some(target) = self.usable_frame(tab_id, &frame) {
            return self.attach_and_announce(caller, target);
        }
        if !self.world.is_live(tab_id) {
            // Frames that Chrome attaches meanwhile are known when the tab is awake.
            return self.queue_until_awake(caller, tab_id, request.clone());
        }
        let wanted = Request {
            method: AUTO_ATTACH.into(),
            params: self.auto_attach_for_frame(tab_id).into(),
            ..request.clone()
        };
        let note = Note::Frame {
            target_id: frame.target_id,
        };
        Ok(self.forward_noting(caller, &Debuggee::page(tab_id), &wanted, note))
    }

    /// Chrome has attached the frames that a page has.
    pub(crate) fn on_frames_attached(&mut self, caller: Caller, tab_id: TabId, id: &TargetId) {
        self.end_unattached_frames(tab_id);
        let tab = self.world.tabs.get(tab_id);
        let frames = tab.map_or(Vec::new(), |tab| tab.frame_targets());
        let found = frames.into_iter().find(|frame| frame.target_id == *id);
        let target = found.and_then(|frame| self.usable_frame(tab_id, &frame));
        let result = if let Some(target) = target {
            self.attach_and_announce(caller, target)
        } else {
            self.release_children(&Target::Page(tab_id));
            Err(CdpError::TargetNotFound(id.to_string()))
        };
        self.answer(caller, result);
    }

    /// Where a session on a frame can be opened at once.
    fn usable_frame(&mut self, tab_id: TabId, frame: &FrameTarget) -> Option<Target> {
        let tab = self.world.tabs.get(tab_id)?;
        let child_id = frame.child_id.as_ref();
        let is_attached = |id| tab.child(id).is_some_and(|child| !child.is_placeholder());
        match child_id.filter(|id| is_attached(id)) {
            Some(id) => Some(Target::Child(tab_id, id.clone())),
            None if tab.has_replayed() => None,
            None => Some(self.add_frame_placeholder(tab_id, frame)),
        }
    }

    fn add_frame_placeholder(&mut self, tab_id: TabId, frame: &FrameTarget) -> Target {
        let frame = RemoteFrame {
            target_id: frame.target_id.to_string(),
            url: frame.url.clone(),
        };
        self.add_placeholder(tab_id, &frame)
    }

    /// The frame that a client is connected to, as on Chrome's `/devtools/page/ID`. Its messages wait
    /// until Chrome has attached the frame.
    pub(super) fn connect_to_frame(&mut self, id: &str) -> Option<Target> {
        let found = self.find_frame(id).map(|(tab, frame)| (tab.id(), frame));
        let (tab_id, frame) = found?;
        let usable = self.usable_frame(tab_id, &frame);
        Some(usable.unwrap_or_else(|| self.add_frame_placeholder(tab_id, &frame)))
    }

    /// A client is connected to a frame that Chrome has not attached, although the tab is attached:
    /// asks Chrome for it.
    pub(super) fn request_frame_of(&mut self, root: SessionId, target: &Target) {
        let Some(tab_id) = target.tab_id().filter(|_| self.is_placeholder(target)) else {
            return;
        };
        let tab = self.world.tabs.get(tab_id);
        if !tab.is_some_and(|tab| tab.has_replayed()) {
            return;
        }
        let wanted = Request {
            id: 0,
            method: AUTO_ATTACH.into(),
            params: self.auto_attach_for_frame(tab_id).into(),
            session: None,
        };
        self.send_unawaited(root, tab_id, &wanted, Step::Frames);
    }

    /// Whether the messages of a client have to wait for the frame that it is connected to. A tab
    /// that wakes has a queue for them.
    pub(super) fn awaits_frame(&self, root: SessionId) -> bool {
        let session = self.world.sessions.get(root);
        session.map(Session::target).is_some_and(|target| {
            let is_live = target.tab_id().is_some_and(|id| self.world.is_live(id));
            is_live && self.is_placeholder(target)
        })
    }
}
