//! Commands that have to wait for earlier ones, and the later commands of their session, which wait
//! behind them.
//!
//! 1. A command that names a world waits until Chrome has created the world.
//! 2. A request for the frame tree of a child frame waits until the parent session has its own
//!    frame tree. The two can be in different processes, which answer in any order, and Puppeteer
//!    drops a frame that it receives before its parent.
//!
//! Chrome answers the commands of each target in order. So the relay sends a trivial command, the
//! barrier, to the target it waits for: when the barrier is answered, everything sent there before
//! has been processed.

use crate::Core;
use crate::emit::out::HandlerResult;
use crate::model::bootstraps::helper_context;
use crate::model::calls::{Continuation, Deferred, Note};
use crate::model::context_ids;
use crate::model::pending_call::PendingCall;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId};
use crate::protocol::methods::command::Command;

/// Any command that every target answers will do.
const BARRIER: &str = "Runtime.getIsolateId";

impl Core {
    /// Where a command has to wait, if it has to.
    pub(crate) fn find_barrier(
        &self,
        session_id: SessionId,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> Option<Debuggee> {
        let follows = self.follows_a_waiting_command(session_id, request);
        let tab = self.world.tabs.get(debuggee.tab_id)?;
        let contexts = tab.contexts_of(debuggee.child_id.as_ref());
        let names_synthetic = contexts.is_some_and(|contexts| {
            context_ids::names_synthetic(contexts, &request.method, &request.params)
        });
        if debuggee.child_id.is_none() {
            return (follows || names_synthetic).then(|| debuggee.clone());
        }
        if follows {
            self.barrier_of(session_id, |_| true)
        } else if names_synthetic {
            Some(debuggee.clone())
        } else {
            self.parent_frame_tree(session_id, request)
        }
    }

    /// The reply to a dialog must not wait for the page that is blocked by it.
    fn follows_a_waiting_command(&self, session_id: SessionId, request: &Request<'_>) -> bool {
        let session = self.world.sessions.get(session_id);
        session.is_some_and(|session| session.waits_at_barrier())
            && Command::classify(&request.method) != Command::HandleDialog
    }

    /// Where the parent session waits for its own frame tree, if this command requests the tree of
    /// a child frame.
    fn parent_frame_tree(&self, session_id: SessionId, request: &Request<'_>) -> Option<Debuggee> {
        let session = self.world.sessions.get(session_id)?;
        let is_frame_tree = |method| Command::classify(method) == Command::FrameTree;
        let parent = session
            .parent()
            .filter(|_| is_frame_tree(&request.method))?;
        let mut calls = self.out.calls.iter();
        calls
            .find(|call| call.is_awaited_by(parent) && is_frame_tree(call.client_method()))?
            .debuggee()
            .cloned()
    }

    /// Where the earliest commands of a session wait: joining them there keeps the order.
    fn barrier_of(
        &self,
        session_id: SessionId,
        matches: impl Fn(&Debuggee) -> bool,
    ) -> Option<Debuggee> {
        let calls = self.out.calls.iter();
        calls
            .filter(|call| call.is_awaited_by(session_id) && call.is_barrier())
            .filter_map(PendingCall::debuggee)
            .find(|debuggee| matches(debuggee))
            .cloned()
    }

    pub(crate) fn wait_at_barrier(
        &mut self,
        caller: Caller,
        at: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        if let Some(session) = self.world.sessions.get_mut(caller.session_id) {
            session.enter_barrier();
        }
        let sent = self.send_barrier(caller, at, request, Note::Barrier);
        if sent.is_err() {
            self.leave_barrier(caller.session_id);
        }
        sent
    }

    /// Defers a command until this target has processed everything sent to it before.
    pub(crate) fn send_barrier(
        &mut self,
        caller: Caller,
        at: &Debuggee,
        request: &Request<'_>,
        note: fn(Deferred) -> Note,
    ) -> HandlerResult {
        let session = self.world.sessions.get_mut(caller.session_id);
        let session = session.ok_or(CdpError::SessionNotFound)?;
        if !session.defer(request.params.len()) {
            return Err(CdpError::Refused(
                "Too many commands are waiting for this page, which is not responding. Try again in a moment.".to_owned(),
            ));
        }
        let barrier = Request {
            method: BARRIER.into(),
            params: "{}".into(),
            ..request.clone()
        };
        Ok(self.forward_noting(caller, at, &barrier, note(Deferred::new(request))))
    }

    /// The barrier of this command was answered or has failed.
    pub(crate) fn undefer(&mut self, caller: Caller, deferred: Deferred) -> Request<'static> {
        if let Some(session) = self.world.sessions.get_mut(caller.session_id) {
            session.undefer(deferred.params.len());
        }
        Request {
            id: caller.request_id,
            method: deferred.method.into(),
            params: deferred.params.into(),
            session: None,
        }
    }

    /// A command has passed its barrier at this target.
    pub(crate) fn on_barrier_passed(
        &mut self,
        caller: Caller,
        at: Option<&Debuggee>,
        request: &Request<'_>,
    ) {
        self.leave_barrier(caller.session_id);
        let session = self.world.sessions.get(caller.session_id);
        let target = session.map(|session| session.target().clone());
        let result = match target.as_ref().and_then(Target::debuggee) {
            None => Err(CdpError::SessionNotFound),
            Some(page) if page.child_id.is_none() => self.send_live(caller, &page, request),
            Some(child) => {
                // The parent session may have waited too and request its tree only now. Then
                // earlier commands of this session wait there already.
                let further = self
                    .barrier_of(caller.session_id, |place| Some(place) != at)
                    .or_else(|| self.parent_frame_tree(caller.session_id, request));
                match further {
                    Some(next) => self.wait_at_barrier(caller, &next, request),
                    None => self.send_live(caller, &child, request),
                }
            }
        };
        self.answer(caller, result);
    }

    /// Whether a failed barrier counts as passed: Chrome's own errors arrive in order too, and a
    /// child frame can respond although its parent does not.
    pub(crate) fn is_passed_by_error(&self, call: &PendingCall, error: &CdpError) -> bool {
        let Continuation::Reply {
            caller,
            note: Note::Join(_) | Note::Barrier(_),
        } = call.continuation()
        else {
            return false;
        };
        match error {
            CdpError::Chrome { .. } => true,
            CdpError::PageSilent(..) => {
                let session = self.world.sessions.get(caller.session_id);
                let own = session.and_then(|session| session.target().debuggee());
                own.is_some_and(|own| !call.is_on(&own))
            }
            _ => false,
        }
    }

    /// The barrier of a command failed, and the client has the error.
    pub(crate) fn on_barrier_failed(&mut self, session_id: SessionId, request: &Request<'_>) {
        self.leave_barrier(session_id);
        if let Some(context) = helper_context(request) {
            self.on_helper_failed(session_id, context);
        }
    }

    fn leave_barrier(&mut self, session_id: SessionId) {
        if let Some(session) = self.world.sessions.get_mut(session_id) {
            session.leave_barrier();
        }
    }
}
