//! Replies of the extension, and calls that have failed: each is handled by its continuation.

use std::borrow::Cow;

use crate::Core;
use crate::emit::out::{FailedCall, Handled};
use crate::model::calls::{Continuation, Note};
use crate::model::context_ids;
use crate::model::pending_call::PendingCall;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{CallId, Caller, Debuggee, TabId};
use crate::protocol::wire::TabReport;

impl Core {
    pub(crate) fn on_reply(&mut self, id: CallId, result: Result<&str, CdpError>) {
        let Some(call) = self.out.calls.take(id) else {
            tracing::debug!(call = id.0, "reply to an unknown call");
            return;
        };
        let tab_id = call.tab_id();
        match result {
            Ok(result) => self.on_success(call, result),
            Err(error) => self.on_failure(call, &error),
        }
        self.process_queues();
        // It may have been the only use of the tab: cookies are requested through a tab without
        // sessions.
        if let Some(tab_id) = tab_id {
            self.detach_if_unused(tab_id);
        }
    }

    /// A call has failed, by an error of Chrome or by its timeout. Barriers may count as passed
    /// anyway.
    pub(crate) fn on_failure(&mut self, call: PendingCall, error: &CdpError) {
        if self.is_passed_by_error(&call, error) {
            self.on_success(call, "null");
        } else {
            self.fail_call(call, error);
        }
    }

    fn on_success(&mut self, call: PendingCall, result: &str) {
        let (continuation, debuggee) = call.into_parts();
        match continuation {
            Continuation::Reply { caller, note } => {
                self.on_command_result(caller, note, debuggee.as_ref(), result);
            }
            Continuation::Tabs => self.on_tabs_listed(result),
            Continuation::Attached { tab_id } => self.on_attached(tab_id),
            Continuation::Waking { tab_id, step } => self.on_wake_step(tab_id, step, Ok(result)),
            Continuation::Unawaited { step, .. } => {
                if let Some(debuggee) = debuggee {
                    self.on_step_done(&debuggee, step, result);
                }
            }
            Continuation::Created { caller } => self.on_created(caller, result),
            Continuation::Closed { caller, tab_id } => {
                self.answer_close(caller);
                self.on_tab_removed(tab_id);
            }
            Continuation::Navigated { caller, tab_id } => {
                self.on_navigated(caller, tab_id, result);
            }
            Continuation::Late => {
                self.on_late_success(debuggee.map(|debuggee| debuggee.tab_id), result);
            }
            Continuation::Probe => {
                if let Some(debuggee) = debuggee {
                    self.on_probe_answered(&debuggee);
                }
            }
            Continuation::Ignore => {}
        }
    }

    /// Chrome's result of a client's command.
    fn on_command_result(
        &mut self,
        caller: Caller,
        note: Note,
        debuggee: Option<&Debuggee>,
        result: &str,
    ) {
        let tab_id = debuggee.map(|debuggee| debuggee.tab_id);
        match note {
            Note::Join(deferred) => {
                let request = self.undefer(caller, deferred);
                return self.on_join_barrier_passed(caller, request);
            }
            Note::Barrier(deferred) => {
                let request = self.undefer(caller, deferred);
                return self.on_barrier_passed(caller, debuggee, &request);
            }
            Note::WatchDownloads => return self.send_reply(caller, "{}"),
            Note::Permissions { .. } => {
                self.send_reply(caller, "{}");
                return self.on_permissions_changed();
            }
            Note::Interception { .. } | Note::PauseAnswer { .. } => {
                self.on_fetch_reply(caller.session_id, debuggee, note, true);
                return self.send_reply(caller, result);
            }
            Note::Breakpoint => {
                self.on_breakpoint_set(caller.session_id, debuggee, result);
                return self.send_reply(caller, result);
            }
            Note::Frame { target_id } => {
                if let Some(tab_id) = tab_id {
                    self.on_frames_attached(caller, tab_id, &target_id);
                }
                return;
            }
            Note::Leaving => {
                self.send_reply(caller, result);
                if let Some(tab_id) = tab_id {
                    self.wake_next_document(tab_id);
                }
                return;
            }
            Note::None | Note::TranslateResult { .. } | Note::FrameTree | Note::Script { .. } => {}
        }
        self.send_translated(caller, note, debuggee, result);
    }

    /// Sends a result with the ids that clients know.
    fn send_translated(
        &mut self,
        caller: Caller,
        note: Note,
        debuggee: Option<&Debuggee>,
        result: &str,
    ) {
        let mut result = Cow::Borrowed(result);
        let tab_id = debuggee.map(|debuggee| debuggee.tab_id);
        let child_id = debuggee.and_then(|debuggee| debuggee.child_id.as_ref());
        if let Some(tab) = tab_id.and_then(|id| self.world.tabs.get(id)) {
            result = tab.frame_to_announced(result);
            let has_contexts = matches!(note, Note::TranslateResult { .. });
            if let Some(contexts) = tab.contexts_of(child_id)
                && has_contexts
                && contexts.needs_translation()
            {
                result = context_ids::result_to_announced(contexts, result);
            }
        }
        match (note, tab_id) {
            (Note::FrameTree, Some(tab_id)) => {
                self.learn_frames(tab_id, &result, Some(caller.session_id));
            }
            (Note::Script { params }, _) => {
                let handled = self.on_script_added(caller.session_id, &params, &result);
                if let Some(Handled::Reply(announced)) = handled {
                    result = Cow::Owned(announced);
                }
            }
            _ => {}
        }
        self.send_reply(caller, &result);
    }

    /// `createTab` of a client has succeeded.
    fn on_created(&mut self, caller: Caller, result: &str) {
        let report: TabReport = match serde_json::from_str(result) {
            Ok(report) => report,
            Err(error) => {
                let error = CdpError::Refused(format!("Target.createTarget: {error}"));
                return self.send_error(caller, &error);
            }
        };
        let tab_id = TabId(report.tab_id);
        let target_id = self.on_tab_created_by(caller.client_id, report);
        let result = serde_json::json!({ "targetId": target_id }).to_string();
        self.send_reply(caller, &result);
        // The client may have disconnected in the meantime, or does not attach automatically.
        self.close_or_detach(tab_id);
    }

    /// A tab was created or attached after its client received a timeout error. Nobody uses it, so
    /// it is detached.
    fn on_late_success(&mut self, tab_id: Option<TabId>, result: &str) {
        let tab_id = tab_id.or_else(|| {
            let report: TabReport = serde_json::from_str(result).ok()?;
            let created = TabId(report.tab_id);
            self.on_tab_created(report);
            Some(created)
        });
        let Some(tab_id) = tab_id else { return };
        let tab = self.world.tabs.get(tab_id);
        if tab.is_some_and(|tab| tab.is_dormant()) {
            self.out.detach(tab_id);
        }
    }

    /// Processes what had to wait until something else was done: failed calls, and commands whose
    /// tab has woken.
    pub(crate) fn process_queues(&mut self) {
        loop {
            if let Some(failed) = self.out.take_failed() {
                self.on_queued_failure(failed);
            } else if let Some(ready) = self.out.take_ready() {
                self.on_command_ready(ready);
            } else {
                return;
            }
        }
    }

    fn on_queued_failure(&mut self, failed: FailedCall) {
        let FailedCall {
            call,
            error,
            is_answered,
        } = failed;
        if is_answered {
            self.follow_up_failure(call, &error);
        } else {
            self.fail_call(call, &error);
        }
    }

    /// What follows from a failed call for its tab or the link.
    fn follow_up_failure(&mut self, call: PendingCall, error: &CdpError) {
        let method = call.method().to_owned();
        let (continuation, debuggee) = call.into_parts();
        match continuation {
            // Only a navigation that leaves a silent page comes here; `session::failures` handles
            // the others.
            Continuation::Reply { .. } => {
                if let Some(debuggee) = debuggee {
                    self.abort_waking(debuggee.tab_id, error);
                }
            }
            Continuation::Tabs => {
                self.close_extension(&format!("the extension could not list its tabs: {error}"));
            }
            Continuation::Attached { tab_id } => self.on_attach_failed(tab_id, error),
            Continuation::Waking { tab_id, step } => self.on_wake_step(tab_id, step, Err(error)),
            Continuation::Unawaited { tab_id, step, .. } => {
                self.on_step_failed(tab_id, step, error);
            }
            // An error of Chrome is an answer too.
            Continuation::Probe if matches!(error, CdpError::Chrome { .. }) => {
                if let Some(debuggee) = debuggee {
                    self.on_probe_answered(&debuggee);
                }
            }
            Continuation::Created { .. }
            | Continuation::Closed { .. }
            | Continuation::Navigated { .. }
            | Continuation::Late
            | Continuation::Ignore
            | Continuation::Probe => {
                tracing::debug!(method, %error, "call failed");
            }
        }
    }
}
