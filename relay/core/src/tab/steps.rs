//! What happens when Chrome has carried out a command that the relay answered itself, while a tab
//! wakes or afterwards.

use crate::Core;
use crate::model::calls::Step;
use crate::model::contexts::JsWorld;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Debuggee, TabId};
use crate::protocol::json;

impl Core {
    pub(crate) fn on_step_done(&mut self, debuggee: &Debuggee, step: Step, result: &str) {
        let tab_id = debuggee.tab_id;
        match step {
            Step::FrameTree => self.on_frame_tree(tab_id, result),
            Step::Script {
                session_id,
                announced,
            } => self.on_journaled_script_added(session_id, debuggee, &announced, result),
            Step::Breakpoint { session_id } => {
                self.on_breakpoint_set(session_id, Some(debuggee), result);
            }
            Step::World { frame, name } => {
                let real = json::integer_field(result, "executionContextId");
                let tab = self.world.tabs.get_mut(tab_id);
                let contexts = tab.and_then(|tab| tab.contexts_of_mut(debuggee.child_id.as_ref()));
                if let (Some(real), Some(contexts)) = (real, contexts) {
                    let world = JsWorld::Isolated(name);
                    contexts.on_world_created(&frame, &world, real);
                }
            }
            Step::Helper { handle } => {
                if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                    tab.bootstraps_mut().on_created(&handle, result);
                }
            }
            Step::Frames => self.end_unattached_frames(tab_id),
            Step::Other { .. } => {}
        }
    }

    pub(crate) fn on_step_failed(&mut self, tab_id: TabId, step: Step, error: &CdpError) {
        match step {
            // While a tab wakes, its main frame may turn out to be another one. Worlds that are
            // missing then are handled at the end.
            Step::World { frame, name }
                if self.world.is_live(tab_id) && matches!(error, CdpError::Chrome { .. }) =>
            {
                self.on_world_refused(tab_id, &frame, name);
            }
            Step::Frames => self.end_unattached_frames(tab_id),
            Step::Other { method } => {
                tracing::warn!(tab = %tab_id, method, %error, "Chrome refused a command that was already answered");
            }
            step => {
                tracing::warn!(tab = %tab_id, ?step, %error, "Chrome refused a command that was already answered");
            }
        }
    }

    /// A world that clients know could not be created: its frame is gone.
    fn on_world_refused(&mut self, tab_id: TabId, frame: &str, name: String) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let world = JsWorld::Isolated(name);
        if let Some(context) = tab.contexts_mut().on_world_refused(frame, &world) {
            self.announce_context_destroyed(tab_id, &context);
        }
    }
}
