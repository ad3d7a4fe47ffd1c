//! Breakpoints belong to the session that set them: they go with it, and a target that stopped only at them goes on. Where
//! nobody else debugs the target, `Debugger.disable` does all of that.

use std::collections::BTreeSet;

use crate::Core;
use crate::cdp::Request;
use crate::ids::{ChildId, SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::{Continuation, Note};
use crate::sessions::Subject;
use crate::translate::text_field;
use crate::wire::Call;

/// Whether a command sets a breakpoint; its answer names it.
fn sets(method: &str) -> bool {
    method.starts_with("Debugger.setBreakpoint") && method != "Debugger.setBreakpointsActive"
        || method == "Debugger.setInstrumentationBreakpoint"
}

impl Core {
    /// Sends on a command that concerns breakpoints; `None` for any other.
    pub(crate) fn forward_breakpoint(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: Option<&ChildId>,
        request: &Request<'_>,
    ) -> Option<Handled> {
        if sets(&request.method) {
            self.forward_noting(session, tab, child, request, Note::Breakpoint);
            return Some(Handled::Later);
        }
        if request.method == "Debugger.removeBreakpoint" {
            let id = text_field(&request.params, "breakpointId").unwrap_or_default();
            self.sessions.get_mut(session)?.breakpoints.remove(&id);
        }
        None
    }

    pub(crate) fn on_breakpoint_set(
        &mut self,
        session: SessionId,
        tab: Option<TabId>,
        child: Option<&ChildId>,
        result: &str,
    ) {
        let Some(id) = text_field(result, "breakpointId") else {
            return;
        };
        if let Some(view) = self.sessions.get_mut(session) {
            view.breakpoints.insert(id);
        } else if let Some(tab) = tab {
            self.remove_breakpoint(tab, child, &id);
        }
    }

    /// These were set by a session that debugs its target no more, while others do.
    pub(crate) fn release_breakpoints(&mut self, subject: &Subject, ended: &BTreeSet<String>) {
        let Some((tab, child)) = subject.place() else {
            return;
        };
        let is_others = |id: &String| {
            self.sessions
                .viewing(subject)
                .any(|(_, view)| view.breakpoints.contains(id))
        };
        let gone: Vec<&String> = ended.iter().filter(|id| !is_others(id)).collect();
        for id in &gone {
            self.remove_breakpoint(tab, child, id);
        }
        let Some(mirror) = self.mirror_of(subject) else {
            return;
        };
        if !mirror.stopped_at.is_empty() && mirror.stopped_at.iter().all(|id| gone.contains(&id)) {
            self.call(
                &Call::CdpCommand {
                    tab,
                    method: "Debugger.resume",
                    params: "{}",
                    child,
                },
                Continuation::Nothing,
            );
        }
    }

    fn remove_breakpoint(&mut self, tab: TabId, child: Option<&ChildId>, id: &str) {
        let params = serde_json::json!({ "breakpointId": id }).to_string();
        self.call(
            &Call::CdpCommand {
                tab,
                method: "Debugger.removeBreakpoint",
                params: &params,
                child,
            },
            Continuation::Nothing,
        );
    }
}
