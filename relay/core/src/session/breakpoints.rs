//! Breakpoints belong to the session that set them. When it ends, they are removed, and a target
//! that is paused only at them resumes. If no other session debugs the target, `Debugger.disable`
//! does all of that.

use std::collections::BTreeSet;

use crate::Core;
use crate::model::target::Target;
use crate::protocol::ids::{Debuggee, SessionId};
use crate::protocol::json::string_field;

impl Core {
    pub(crate) fn forget_breakpoint(&mut self, session_id: SessionId, params: &str) {
        let id = string_field(params, "breakpointId").unwrap_or_default();
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.remove_breakpoint(&id);
        }
    }

    pub(crate) fn on_breakpoint_set(
        &mut self,
        session_id: SessionId,
        debuggee: Option<&Debuggee>,
        result: &str,
    ) {
        let Some(id) = string_field(result, "breakpointId") else {
            return;
        };
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.add_breakpoint(id);
        } else if let Some(debuggee) = debuggee {
            self.remove_breakpoint(debuggee, &id);
        }
    }

    /// The session that set these breakpoints no longer debugs the target, but others do.
    pub(crate) fn release_breakpoints(&mut self, target: &Target, released: &BTreeSet<String>) {
        let Some(debuggee) = target.debuggee() else {
            return;
        };
        let is_shared = |id: &String| {
            let mut sessions = self.world.sessions.on(target);
            sessions.any(|(_, session)| session.breakpoints().contains(id))
        };
        let removed: Vec<&String> = released.iter().filter(|id| !is_shared(id)).collect();
        for id in &removed {
            self.remove_breakpoint(&debuggee, id);
        }
        let Some(mirror) = self.world.mirror_mut(target) else {
            return;
        };
        if mirror.is_paused_only_at(|id| removed.contains(&id)) {
            self.out.command_ignored(&debuggee, "Debugger.resume", "{}");
        }
    }

    fn remove_breakpoint(&mut self, debuggee: &Debuggee, id: &str) {
        let params = serde_json::json!({ "breakpointId": id }).to_string();
        self.out
            .command_ignored(debuggee, "Debugger.removeBreakpoint", &params);
    }
}
