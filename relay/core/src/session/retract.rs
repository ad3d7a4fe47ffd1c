//! What clients receive when a tab that they know becomes dormant again.

use crate::Core;
use crate::model::target::Target;
use crate::protocol::ids::{ChildId, TabId};

impl Core {
    /// Sends clients the end of everything that only the debugger knew. Waking announces it again.
    pub(crate) fn retract_page(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let children: Vec<ChildId> = tab.children().map(|(id, _)| id.clone()).collect();
        for child_id in children {
            if !self.become_placeholder(tab_id, &child_id) {
                self.on_child_detached(tab_id, &child_id);
            }
        }
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let frames = tab.become_dormant();
        if tab.is_loading() {
            // The debugger cannot report the rest of it any more.
            tab.reset_lifecycle();
        }
        self.world.forget_real_scripts(tab_id);
        let page = Target::Page(tab_id);
        for frame in frames.children().rev() {
            let params = serde_json::json!({ "frameId": frame.id, "reason": "remove" });
            self.broadcast(&page, "Page.frameDetached", &params.to_string());
        }
        self.broadcast(&page, "Runtime.executionContextsCleared", "{}");
        self.synthesize_contexts(tab_id, true);
        self.announce_contexts(tab_id);
        self.announce_dormant_frames(tab_id);
        self.announce_frame_changes(tab_id);
    }
}
