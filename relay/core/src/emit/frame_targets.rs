//! Cross-process frames as targets: their descriptions, and the events for sessions that discover
//! targets. Listing them attaches nothing.

use serde_json::Value;

use crate::Core;
use crate::model::tab::{FrameTarget, Tab};
use crate::model::target::{Filter, Target};
use crate::protocol::ids::{SessionId, TabId, TargetId};

impl Core {
    /// The `targetInfo` of a frame. For one that Chrome has attached, it is Chrome's.
    pub(crate) fn frame_target_info(&self, tab: &Tab, frame: &FrameTarget) -> String {
        let child_id = frame.child_id.as_ref();
        let child = child_id.and_then(|id| tab.child(id));
        if let Some(child) = child.filter(|child| !child.is_placeholder()) {
            return child.target_info().to_owned();
        }
        let target = child_id.map(|id| Target::Child(tab.id(), id.clone()));
        let attached = target.is_some_and(|target| self.is_attached(&target));
        self.describe_frame(frame, attached)
    }

    /// As Chrome describes a frame. It has no title of its own.
    pub(crate) fn describe_frame(&self, frame: &FrameTarget, attached: bool) -> String {
        serde_json::json!({
            "targetId": frame.target_id, "type": "iframe", "title": frame.url, "url": frame.url,
            "attached": attached, "parentId": frame.parent, "canAccessOpener": false,
            "parentFrameId": frame.parent, "browserContextId": self.world.browser_context,
        })
        .to_string()
    }

    /// The infos of a tab's frames, if a filter includes them.
    pub(crate) fn frame_infos(&self, tab: &Tab, filter: &Filter) -> Vec<Value> {
        if !filter.includes("iframe") {
            return Vec::new();
        }
        let frames = tab.frame_targets();
        let infos = frames
            .iter()
            .map(|frame| self.frame_target_info(tab, frame));
        infos
            .filter_map(|info| serde_json::from_str(&info).ok())
            .collect()
    }

    /// The frame with this target id, and its tab.
    pub(crate) fn find_frame(&self, id: &str) -> Option<(&Tab, FrameTarget)> {
        self.world.tabs.iter().find_map(|tab| {
            let mut frames = tab.frame_targets().into_iter();
            let found = frames.find(|frame| frame.target_id.as_str() == id);
            found.map(|frame| (tab, frame))
        })
    }

    /// Tells the sessions that discover targets what has changed in a tab's frames. To be called
    /// after every such change.
    pub(crate) fn announce_frame_changes(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let changes = tab.take_frame_changes();
        self.send_frame_infos(tab_id, &changes.created, "Target.targetCreated");
        self.send_frame_infos(tab_id, &changes.changed, "Target.targetInfoChanged");
        self.announce_frames_destroyed(&changes.destroyed);
    }

    fn send_frame_infos(&mut self, tab_id: TabId, frames: &[FrameTarget], method: &str) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let infos = frames
            .iter()
            .map(|frame| self.frame_target_info(tab, frame));
        let all: Vec<String> = infos
            .map(|info| format!(r#"{{"targetInfo":{info}}}"#))
            .collect();
        self.send_to_discovering(&all, method);
    }

    /// Frames that are gone, by themselves or with their tab.
    pub(crate) fn announce_frames_destroyed(&mut self, frames: &[TargetId]) {
        let params = frames
            .iter()
            .map(|id| serde_json::json!({ "targetId": id }).to_string());
        let all: Vec<String> = params.collect();
        self.send_to_discovering(&all, "Target.targetDestroyed");
    }

    fn send_to_discovering(&mut self, all: &[String], method: &str) {
        if all.is_empty() {
            return;
        }
        let is_wanted = |filter: &Filter| filter.includes("iframe");
        let sessions = self.world.sessions.at(None);
        let discovering = sessions.filter(|(_, s)| s.discovers().is_some_and(is_wanted));
        let ids: Vec<SessionId> = discovering.map(|(id, _)| id).collect();
        for params in all {
            for id in &ids {
                self.send_event(*id, method, params);
            }
        }
    }
}
