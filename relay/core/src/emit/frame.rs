//! What the sessions of a cross-process frame of a dormant tab receive: its description and its
//! lifecycle.

use crate::Core;
use crate::model::frames;
use crate::protocol::ids::{ChildId, SessionId, TabId};
use crate::protocol::methods::domains::{LIFECYCLE, LOADED};

impl Core {
    pub(crate) fn describe_dormant_frame(
        &self,
        tab_id: TabId,
        child_id: &ChildId,
    ) -> Option<serde_json::Value> {
        let tab = self.world.tabs.get(tab_id)?;
        let child = tab.child(child_id)?;
        let (id, parent) = (child.target_id().as_str(), tab.page_id().as_str());
        let loader = child.loader().unwrap_or(tab.loader());
        Some(frames::describe(
            id,
            Some(parent),
            loader.as_str(),
            &child.url(),
        ))
    }

    pub(crate) fn send_frame_lifecycle(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        child_id: &ChildId,
    ) {
        let timestamp = self.out.now.as_secs_f64();
        let tab = self.world.tabs.get(tab_id);
        let child = tab.and_then(|tab| tab.child(child_id));
        let Some((tab, child)) = tab.zip(child) else {
            return;
        };
        let loader = child.loader().unwrap_or(tab.loader()).clone();
        let frame = child.target_id().clone();
        for name in ["init"].into_iter().chain(LOADED) {
            let params = serde_json::json!({
                "frameId": frame, "loaderId": loader, "name": name, "timestamp": timestamp,
            });
            self.send_event(session_id, LIFECYCLE, &params.to_string());
        }
    }
}
