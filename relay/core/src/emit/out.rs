//! The core's effects: messages to send, calls in flight, and work that has to wait until the
//! current input is handled.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::calls::{Calls, Continuation, Note};
use crate::model::pending_call::PendingCall;
use crate::model::wake::Waiting;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, IdSource, TabId};
use crate::protocol::wire::Call;
use crate::{Config, Now, Output};

/// What a command handler did, unless it failed.
#[derive(Debug)]
pub(crate) enum Handled {
    /// This is the result.
    Reply(String),
    /// The reply follows when the browser has answered.
    Later,
}

impl Handled {
    pub(crate) fn empty() -> Self {
        Self::Reply("{}".to_owned())
    }

    pub(crate) fn json(result: &serde_json::Value) -> Self {
        Self::Reply(result.to_string())
    }
}

/// What a command handler returns.
pub(crate) type HandlerResult = Result<Handled, CdpError>;

/// A call that failed, and what is left to do about it.
pub(crate) struct FailedCall {
    pub(crate) call: PendingCall,
    pub(crate) error: CdpError,
    /// The client already has its error reply.
    pub(crate) is_answered: bool,
}

/// A command whose tab has woken.
pub(crate) struct ReadyCommand {
    pub(crate) tab_id: TabId,
    pub(crate) waiting: Waiting,
}

pub(crate) struct Out {
    pub(crate) now: Now,
    pub(crate) ids: IdSource,
    pub(crate) calls: Calls,
    outputs: VecDeque<Output>,
    /// Without an extension, calls fail at once.
    is_connected: bool,
    /// The person has stopped all clients of this browser: calls that would do something there fail
    /// at once. Kept while the extension reconnects.
    is_paused: bool,
    tab_call_timeout: Duration,
    command_timeout: Duration,
    /// Failed calls and commands of woken tabs. `Core::handle` processes both when the current
    /// input is handled: sending a call must not re-enter the code that sends it.
    failed: VecDeque<FailedCall>,
    ready: VecDeque<ReadyCommand>,
}

/// How long before a command's timeout its page is probed.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

impl Out {
    pub(crate) fn new(config: &Config, ids: IdSource) -> Self {
        Self {
            now: Now::ZERO,
            ids,
            calls: Calls::default(),
            outputs: VecDeque::new(),
            is_connected: false,
            is_paused: false,
            tab_call_timeout: config.tab_call_timeout,
            command_timeout: config.command_timeout,
            failed: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    pub(crate) fn set_connected(&mut self, is_connected: bool) {
        self.is_connected = is_connected;
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(crate) fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Calls the extension. The continuation says what happens with the reply.
    pub(crate) fn call(&mut self, call: &Call<'_>, continuation: Continuation) {
        let id = self.ids.call();
        let deadline = self.deadline(call, &continuation);
        let pending = PendingCall::new(call, continuation, self.now, deadline);
        let error = if self.is_paused && call.acts() {
            Some(CdpError::Paused)
        } else if self.is_connected {
            None
        } else {
            Some(CdpError::ExtensionAbsent)
        };
        if let Some(error) = error {
            return self.queue_failed(FailedCall {
                call: pending,
                error,
                is_answered: false,
            });
        }
        self.calls.insert(id, pending);
        self.push(Output::ToExtension(call.to_text(id)));
    }

    fn deadline(&self, call: &Call<'_>, continuation: &Continuation) -> Option<Now> {
        match (continuation, call) {
            (Continuation::Reply { .. }, Call::CdpCommand { .. }) => Some(self.command_deadline()),
            // Thousands of cookies take their time.
            (_, Call::BrowserCommand { .. }) => Some(self.now + self.command_timeout),
            (Continuation::Unawaited { .. }, _) => None,
            _ => Some(self.now + self.tab_call_timeout),
        }
    }

    /// Sends a CDP command to Chrome.
    pub(crate) fn command(
        &mut self,
        debuggee: &Debuggee,
        method: &str,
        params: &str,
        continuation: Continuation,
    ) {
        let call = Call::CdpCommand {
            tab: debuggee.tab_id,
            method,
            params,
            child: debuggee.child_id.as_ref(),
        };
        self.call(&call, continuation);
    }

    /// Sends a CDP command to Chrome and ignores its result.
    pub(crate) fn command_ignored(&mut self, debuggee: &Debuggee, method: &str, params: &str) {
        self.command(debuggee, method, params, Continuation::Ignore);
    }

    pub(crate) fn detach(&mut self, tab_id: TabId) {
        self.call(&Call::DetachTab { tab: tab_id }, Continuation::Ignore);
    }

    pub(crate) fn attach(&mut self, tab_id: TabId) {
        let continuation = Continuation::Attached { tab_id };
        self.call(&Call::AttachTab { tab: tab_id }, continuation);
    }

    // ---- timeouts ----

    /// How long a page may take to answer a probe: less if commands have little time anyway.
    pub(crate) fn probe_timeout(&self) -> Duration {
        PROBE_TIMEOUT.min(self.command_timeout / 2)
    }

    /// When a client's command is checked for the first time.
    pub(crate) fn command_deadline(&self) -> Now {
        let before_probe = self.command_timeout.saturating_sub(self.probe_timeout());
        self.now + before_probe
    }

    pub(crate) fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    // ---- work for when the current input is handled ----

    pub(crate) fn queue_failed(&mut self, failed: FailedCall) {
        self.failed.push_back(failed);
    }

    pub(crate) fn take_failed(&mut self) -> Option<FailedCall> {
        self.failed.pop_front()
    }

    pub(crate) fn queue_ready(&mut self, tab_id: TabId, waiting: Waiting) {
        self.ready.push_back(ReadyCommand { tab_id, waiting });
    }

    pub(crate) fn take_ready(&mut self) -> Option<ReadyCommand> {
        self.ready.pop_front()
    }

    /// Whether a client waits for something from this tab.
    pub(crate) fn is_tab_awaited(&self, tab_id: TabId) -> bool {
        self.calls.is_tab_awaited(tab_id) || self.ready.iter().any(|ready| ready.tab_id == tab_id)
    }
}

/// A continuation that forwards the reply to the caller.
pub(crate) fn reply_to(caller: Caller, note: Note) -> Continuation {
    Continuation::Reply { caller, note }
}
