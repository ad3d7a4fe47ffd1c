//! A cross-process frame that navigates while its tab is dormant, and what its sessions receive then.

use crate::Core;
use crate::emit::page::CONTEXT_CREATED;
use crate::model::contexts::{Created, JsWorld};
use crate::model::frames;
use crate::model::target::Target;
use crate::protocol::ids::{TabId, TargetId};
use crate::protocol::methods::domains::LIFECYCLE;
use crate::protocol::wire::RemoteFrame;

use super::dormant_frames::placeholder_id;

/// Whether only the fragment differs.
fn is_same_document(one: &str, other: &str) -> bool {
    let document = |url: &str| url.split('#').next().unwrap_or_default().to_owned();
    other.contains('#') && document(one) == document(other)
}

impl Core {
    /// A frame of a tab that is not awake may have navigated. Its sessions receive what a live frame
    /// would send.
    pub(super) fn update_placeholder(&mut self, tab_id: TabId, frame: &RemoteFrame) {
        let id = placeholder_id(frame);
        let (info, loader) = (self.placeholder_info(tab_id, frame), self.out.ids.target());
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(child) = tab.and_then(|tab| tab.child_mut(&id)) else {
            return;
        };
        let before = child.url();
        if before == frame.url {
            return;
        }
        child.set_target_info(info.clone());
        let target = Target::Child(tab_id, id);
        self.announce_child_info(&target, &info);
        if is_same_document(&before, &frame.url) {
            let params = serde_json::json!({
                "frameId": frame.target_id, "url": frame.url, "navigationType": "fragment",
            });
            self.broadcast(&target, "Page.navigatedWithinDocument", &params.to_string());
        } else {
            self.synthesize_frame_navigation(tab_id, frame, loader);
        }
    }

    fn synthesize_frame_navigation(
        &mut self,
        tab_id: TabId,
        frame: &RemoteFrame,
        loader: TargetId,
    ) {
        let id = placeholder_id(frame);
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(child) = tab.and_then(|tab| tab.child_mut(&id)) else {
            return;
        };
        child.set_loader(loader);
        let had_contexts = child.contexts_mut().clear();
        let target = Target::Child(tab_id, id.clone());
        if had_contexts {
            self.broadcast(&target, "Runtime.executionContextsCleared", "{}");
        }
        if let Some(described) = self.describe_dormant_frame(tab_id, &id) {
            let navigated = serde_json::json!({ "frame": described, "type": "Navigation" });
            self.broadcast(&target, "Page.frameNavigated", &navigated.to_string());
        }
        self.synthesize_frame_contexts(tab_id, frame);
        for session_id in self.world.sessions.ids_on(&target) {
            if self.has_enabled(session_id, LIFECYCLE) {
                self.send_frame_lifecycle(session_id, tab_id, &id);
            }
        }
    }

    /// Adds the contexts that a frame has after its sessions lost the real ones, and announces them.
    pub(super) fn synthesize_frame_contexts(&mut self, tab_id: TabId, frame: &RemoteFrame) {
        let id = placeholder_id(frame);
        let target = Target::Child(tab_id, id.clone());
        let mut worlds = vec![JsWorld::Default];
        for session_id in self.world.sessions.ids_on(&target) {
            if let Some(session) = self.world.sessions.get_mut(session_id) {
                session.journal_mut().forget_real_scripts();
                worlds.extend(session.journal().script_worlds().map(JsWorld::Isolated));
            }
        }
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(contexts) = tab.and_then(|tab| tab.contexts_of_mut(Some(&id))) else {
            return;
        };
        let (target_id, origin) = (&frame.target_id, frames::origin(&frame.url));
        let add = |world| contexts.synthesize(target_id, world, &origin);
        let added: Vec<_> = worlds.into_iter().map(add).collect();
        for (context, _) in added.iter().filter(|(_, created)| *created == Created::New) {
            self.broadcast(&target, CONTEXT_CREATED, &context.created_params());
        }
    }
}
