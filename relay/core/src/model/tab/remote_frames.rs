//! The cross-process frames of a tab's document: what the extension has reported, and which of them
//! are targets that clients can list and attach to.

use std::collections::BTreeMap;

use super::Tab;
use crate::model::child::Child;
use crate::protocol::ids::{ChildId, TargetId};
use crate::protocol::json;
use crate::protocol::wire::RemoteFrame;

/// A frame that is a target of its own.
#[derive(Debug, Clone)]
pub struct FrameTarget {
    pub target_id: TargetId,
    pub url: String,
    /// The frame that contains it.
    pub parent: TargetId,
    /// `None` if neither Chrome nor a placeholder has it yet.
    pub child_id: Option<ChildId>,
}

/// What clients have to be told about a tab's frames.
#[derive(Debug, Default)]
pub struct FrameChanges {
    pub created: Vec<FrameTarget>,
    pub changed: Vec<FrameTarget>,
    pub destroyed: Vec<TargetId>,
}

impl Tab {
    pub fn remote_frames(&self) -> &[RemoteFrame] {
        &self.remote_frames
    }

    pub fn set_remote_frames(&mut self, frames: Vec<RemoteFrame>) {
        self.remote_frames = frames;
    }

    /// Adds a frame that the debugger has reported. The extension may not have done so yet, or with
    /// an earlier URL.
    pub fn add_remote_frame(&mut self, frame: &RemoteFrame) {
        let mut known = self.remote_frames.iter_mut();
        match known.find(|known| known.target_id == frame.target_id) {
            Some(known) => known.url.clone_from(&frame.url),
            None => self.remote_frames.push(frame.clone()),
        }
    }

    /// Chrome has reported that a frame is gone. The extension cannot see when a page removes one.
    pub fn forget_remote_frame(&mut self, target_id: &TargetId) {
        let is_other = |frame: &RemoteFrame| frame.target_id != target_id.as_str();
        self.remote_frames.retain(is_other);
    }

    /// Chrome has attached all frames that the page has. What the extension has reported besides is
    /// gone.
    pub fn forget_unattached_frames(&mut self) {
        if self.attaches_children() {
            let children = &self.children;
            self.remote_frames.retain(|frame| {
                let mut targets = children.values().map(Child::target_id);
                targets.any(|id| id.as_str() == frame.target_id)
            });
        }
    }

    /// The placeholder for a frame with this target id.
    pub fn find_placeholder(&self, target_id: &TargetId) -> Option<ChildId> {
        let mut children = self.children.iter();
        let found = children.find(|(_, c)| c.is_placeholder() && c.target_id() == target_id);
        found.map(|(id, _)| id.clone())
    }

    pub fn placeholders(&self) -> Vec<ChildId> {
        let children = self.children.iter();
        let placeholders = children.filter(|(_, child)| child.is_placeholder());
        placeholders.map(|(id, _)| id.clone()).collect()
    }

    /// Whether Chrome attaches the children of the page, so that all of its frames are known.
    pub fn attaches_children(&self) -> bool {
        self.is_live() && self.auto_attach.is_some()
    }

    /// The frames that are targets now. As long as Chrome does not attach them, they are those that
    /// the extension has reported.
    pub fn frame_targets(&self) -> Vec<FrameTarget> {
        let frames = self.children.iter().filter(|(_, c)| c.kind() == "iframe");
        let mut targets: Vec<_> = frames
            .map(|(id, child)| FrameTarget {
                target_id: child.target_id().clone(),
                url: child.url(),
                parent: json::string_field(child.target_info(), "parentFrameId")
                    .map_or_else(|| self.page_id.clone(), |parent| TargetId::new(&parent)),
                child_id: Some(id.clone()),
            })
            .collect();
        if self.attaches_children() {
            return targets;
        }
        for frame in &self.remote_frames {
            let target_id = TargetId::new(&frame.target_id);
            if !targets.iter().any(|known| known.target_id == target_id) {
                targets.push(FrameTarget {
                    target_id,
                    url: frame.url.clone(),
                    parent: self.page_id.clone(),
                    child_id: None,
                });
            }
        }
        targets
    }

    /// What has changed since the last call.
    pub fn take_frame_changes(&mut self) -> FrameChanges {
        let targets = self.frame_targets();
        let urls = targets.iter().map(|t| (t.target_id.clone(), t.url.clone()));
        let current: BTreeMap<TargetId, String> = urls.collect();
        let before = std::mem::replace(&mut self.announced_frames, current);
        let mut changes = FrameChanges::default();
        for target in targets {
            match before.get(&target.target_id) {
                None => changes.created.push(target),
                Some(url) if *url != target.url => changes.changed.push(target),
                Some(_) => {}
            }
        }
        let gone = before.into_keys();
        changes
            .destroyed
            .extend(gone.filter(|id| !self.announced_frames.contains_key(id)));
        changes
    }

    /// The frames that clients know.
    pub fn announced_frames(&self) -> impl Iterator<Item = &TargetId> {
        self.announced_frames.keys()
    }

    /// The children that contain a child, from the inside to the outside. Bounded, because the
    /// extension's messages could nest children in a cycle.
    pub fn ancestors_of<'t>(&'t self, child_id: &'t ChildId) -> impl Iterator<Item = &'t ChildId> {
        let parent_of = |id: &'t ChildId| self.children.get(id)?.parent();
        let ancestors = std::iter::successors(parent_of(child_id), move |id| parent_of(id));
        ancestors.take(self.children.len())
    }
}
