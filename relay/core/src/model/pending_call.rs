//! A call to the extension that is waiting for a reply. It never changes in place: a call that is
//! probed, extended or abandoned is replaced in `Calls`, which keeps the deadlines.

use super::calls::{Continuation, Note, Step};
use crate::Now;
use crate::protocol::ids::{Caller, ClientId, Debuggee, SessionId, TabId};
use crate::protocol::methods::command;
use crate::protocol::wire::Call;

#[derive(Debug)]
pub struct PendingCall {
    continuation: Continuation,
    /// The tab or child that is called, so that its calls can be failed when it is gone.
    debuggee: Option<Debuggee>,
    /// The CDP method or the name of the call, for error messages.
    method: String,
    sent_at: Now,
    deadline: Option<Now>,
    /// A CDP command, as opposed to a call to the browser itself.
    is_command: bool,
    /// Whether it does something in the browser.
    acts: bool,
    /// The page is being probed, because this call takes long.
    is_probed: bool,
}

impl PendingCall {
    pub fn new(
        call: &Call<'_>,
        continuation: Continuation,
        sent_at: Now,
        deadline: Option<Now>,
    ) -> Self {
        let (child_id, method, is_command) = match call {
            Call::CdpCommand { method, child, .. } => (child.cloned(), *method, true),
            Call::BrowserCommand { method, .. } => (None, *method, false),
            _ => (None, call.name(), false),
        };
        let debuggee = call.tab_id().map(|tab_id| Debuggee { tab_id, child_id });
        Self {
            continuation,
            debuggee,
            method: method.to_owned(),
            sent_at,
            deadline,
            is_command,
            acts: call.acts(),
            is_probed: false,
        }
    }

    pub fn continuation(&self) -> &Continuation {
        &self.continuation
    }

    /// For a call that has ended: what to do, and where.
    pub fn into_parts(self) -> (Continuation, Option<Debuggee>) {
        (self.continuation, self.debuggee)
    }

    pub fn debuggee(&self) -> Option<&Debuggee> {
        self.debuggee.as_ref()
    }

    pub fn tab_id(&self) -> Option<TabId> {
        self.debuggee().map(|debuggee| debuggee.tab_id)
    }

    pub fn is_on(&self, debuggee: &Debuggee) -> bool {
        self.debuggee() == Some(debuggee)
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    /// The method that the client sent, which is not the one that was sent to pass a barrier.
    pub fn client_method(&self) -> &str {
        match &self.continuation {
            Continuation::Reply {
                note: Note::Join(deferred) | Note::Barrier(deferred),
                ..
            } => &deferred.method,
            _ => &self.method,
        }
    }

    pub fn is_command(&self) -> bool {
        self.is_command
    }

    /// Whether it closes or navigates a page.
    pub fn leaves_page(&self) -> bool {
        command::leaves_page(&self.method)
    }

    /// Whether something happens in the browser because of it.
    pub fn acts(&self) -> bool {
        self.acts
    }

    // ---- who waits for it ----

    /// The client's request that gets an error if this call fails.
    pub fn caller(&self) -> Option<Caller> {
        match &self.continuation {
            Continuation::Reply { caller, .. }
            | Continuation::Created { caller }
            | Continuation::Navigated { caller, .. } => Some(*caller),
            Continuation::Closed { caller, .. } => *caller,
            _ => None,
        }
    }

    /// Whether a client waits for the reply to its command.
    pub fn is_awaited(&self) -> bool {
        matches!(self.continuation, Continuation::Reply { .. })
    }

    /// Whether a client waits for it in this session.
    pub fn is_awaited_by(&self, session_id: SessionId) -> bool {
        matches!(&self.continuation, Continuation::Reply { caller, .. } if caller.session_id == session_id)
    }

    pub fn is_awaited_by_client(&self, client_id: ClientId) -> bool {
        matches!(&self.continuation, Continuation::Reply { caller, .. } if caller.client_id == client_id)
    }

    /// Whether a client waits for the page of this tab itself, and not only for the browser.
    pub fn waits_for_page(&self, tab_id: TabId) -> bool {
        self.is_on(&Debuggee::page(tab_id))
            && self.is_command
            && self.is_awaited()
            && !self.leaves_page()
    }

    /// Whether a command of a client waits at this barrier.
    pub fn is_barrier(&self) -> bool {
        matches!(
            self.continuation,
            Continuation::Reply {
                note: Note::Barrier(_),
                ..
            }
        )
    }

    /// Whether a client waits for a frame of this page to be attached.
    pub fn requests_frame(&self) -> bool {
        matches!(
            self.continuation,
            Continuation::Reply {
                note: Note::Frame { .. },
                ..
            }
        )
    }

    /// Whether it navigates away from a page that did not respond while waking.
    pub fn is_leaving(&self) -> bool {
        matches!(
            self.continuation,
            Continuation::Reply {
                note: Note::Leaving,
                ..
            }
        )
    }

    pub fn is_waking(&self) -> bool {
        matches!(self.continuation, Continuation::Waking { .. })
    }

    pub fn closes_tab(&self) -> bool {
        matches!(self.continuation, Continuation::Closed { .. })
    }

    /// The same call when its client has received the reply.
    pub fn answered(self) -> Self {
        let continuation = match self.continuation {
            Continuation::Closed { tab_id, .. } => Continuation::Closed {
                caller: None,
                tab_id,
            },
            other => other,
        };
        Self {
            continuation,
            ..self
        }
    }

    pub fn is_unawaited(&self) -> bool {
        matches!(self.continuation, Continuation::Unawaited { .. })
    }

    pub fn is_unawaited_of(&self, session: SessionId) -> bool {
        matches!(&self.continuation, Continuation::Unawaited { session_id, .. } if *session_id == session)
    }

    /// A script of this call has to be removed again if its session has ended.
    pub fn adds_script(&self) -> bool {
        matches!(
            self.continuation,
            Continuation::Unawaited {
                step: Step::Script { .. },
                ..
            }
        )
    }

    /// Whether nobody waits for it.
    pub fn is_background(&self) -> bool {
        matches!(
            self.continuation,
            Continuation::Late
                | Continuation::Ignore
                | Continuation::Probe
                | Continuation::Unawaited { .. }
        )
    }

    // ---- how long it takes ----

    pub fn sent_at(&self) -> Now {
        self.sent_at
    }

    pub fn deadline(&self) -> Option<Now> {
        self.deadline
    }

    pub fn is_probe(&self) -> bool {
        matches!(self.continuation, Continuation::Probe)
    }

    pub fn is_probed(&self) -> bool {
        self.is_probed
    }

    /// The same call while its page is probed.
    pub fn probed(self, deadline: Now) -> Self {
        Self {
            deadline: Some(deadline),
            is_probed: true,
            ..self
        }
    }

    /// The same call with more time.
    pub fn extended(self, deadline: Now) -> Self {
        Self {
            deadline: Some(deadline),
            is_probed: false,
            ..self
        }
    }

    /// What remains of an overdue call that may still succeed, and then has to be reverted.
    pub fn late(&self) -> Option<Self> {
        let is_reverted = matches!(
            self.continuation,
            Continuation::Attached { .. } | Continuation::Created { .. }
        );
        is_reverted.then(|| Self {
            continuation: Continuation::Late,
            debuggee: self.debuggee.clone(),
            method: self.method.clone(),
            deadline: None,
            ..*self
        })
    }

    /// The same call when its session has ended and only this step of it is left.
    pub fn unawaited(self, session_id: SessionId, step: Step) -> Option<Self> {
        let tab_id = self.tab_id()?;
        Some(Self {
            continuation: Continuation::Unawaited {
                tab_id,
                session_id,
                step,
            },
            deadline: None,
            ..self
        })
    }
}
