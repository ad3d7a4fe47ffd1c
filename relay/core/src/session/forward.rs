//! Commands on their way to a live page or a child.

use crate::Core;
use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::bootstraps::helper_context;
use crate::model::calls::{Continuation, Note, Step};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, Debuggee, SessionId, TabId};
use crate::protocol::methods::command::{Command, leaves_page};
use crate::protocol::methods::context_ids::result_names_context;

impl Core {
    /// A command to a live page or a child. It may have to wait at a barrier first.
    pub(crate) fn send_or_wait(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        if let Some(error) = self.find_refusal(caller, debuggee.tab_id) {
            self.refuse(caller, request, error);
            return Ok(Handled::Later);
        }
        self.note_use(caller.session_id, debuggee.tab_id, request);
        let tab = self.world.tabs.get(debuggee.tab_id);
        let is_crashed = debuggee.child_id.is_none() && tab.is_some_and(|tab| tab.is_crashed());
        if is_crashed && !leaves_page(&request.method) {
            return Err(CdpError::PageCrashed);
        }
        match self.find_barrier(caller.session_id, debuggee, request) {
            Some(at) => self.wait_at_barrier(caller, &at, request),
            None => self.send_live(caller, debuggee, request),
        }
    }

    /// Sends a command that has no barrier left.
    pub(crate) fn send_live(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        let command = Command::classify(&request.method);
        let is_page = debuggee.child_id.is_none();
        match command {
            Command::AddScript => {
                let params = request.params.to_string();
                return Ok(self.forward_noting(caller, debuggee, request, Note::Script { params }));
            }
            Command::RemoveScript if is_page => {
                return self.remove_script(caller, debuggee.tab_id, request);
            }
            Command::FrameTree if is_page => {
                return Ok(self.forward_noting(caller, debuggee, request, Note::FrameTree));
            }
            Command::StartScreencast if is_page => self.start_screencast(caller.session_id),
            Command::StopScreencast if is_page => {
                let continues = self.stop_screencast(caller.session_id);
                if continues {
                    return Ok(Handled::empty());
                }
            }
            _ => {}
        }
        self.world.record_in_journal(caller.session_id, request);
        let tab_id = debuggee.tab_id;
        if self
            .world
            .is_withheld_default(caller.session_id, tab_id, request)
        {
            return Ok(Handled::empty());
        }
        match command {
            Command::SetBreakpoint => {
                Ok(self.forward_noting(caller, debuggee, request, Note::Breakpoint))
            }
            Command::RemoveBreakpoint => {
                self.forget_breakpoint(caller.session_id, &request.params);
                self.forward_as(command, caller, debuggee, request)
            }
            _ => self.forward_as(command, caller, debuggee, request),
        }
    }

    /// Forwards a command as it is, except that enabling and disabling is shared between sessions.
    pub(crate) fn forward(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        let command = Command::classify(&request.method);
        self.forward_as(command, caller, debuggee, request)
    }

    fn forward_as(
        &mut self,
        command: Command<'_>,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
    ) -> HandlerResult {
        if let Some(result) = self.apply_switch(command, caller, request) {
            return result;
        }
        let is_page = debuggee.child_id.is_none();
        let note = if result_names_context(&request.method) {
            Note::TranslateResult {
                helper_context: helper_context(request).filter(|_| is_page),
            }
        } else {
            Note::None
        };
        Ok(self.forward_noting(caller, debuggee, request, note))
    }

    /// Forwards a command with Chrome's ids. The note says what else happens with the reply.
    pub(crate) fn forward_noting(
        &mut self,
        caller: Caller,
        debuggee: &Debuggee,
        request: &Request<'_>,
        note: Note,
    ) -> Handled {
        let tab = self.world.tabs.get(debuggee.tab_id);
        let (method, params) = (&request.method, request.params.as_ref());
        let params = match (tab, &debuggee.child_id) {
            (Some(tab), None) => tab.params_to_real(method, params),
            (Some(tab), Some(child_id)) => tab.child_params_to_real(child_id, method, params),
            (None, _) => params.into(),
        };
        let continuation = reply_to(caller, note);
        self.out
            .command(debuggee, &request.method, &params, continuation);
        Handled::Later
    }

    /// Sends a page command that the client already has a reply to. It may take as long as the page
    /// needs: nobody waits for it, except a tab that is waking.
    pub(crate) fn send_unawaited(
        &mut self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
        step: Step,
    ) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let continuation = match tab.wake_mut() {
            Some(wake) => {
                wake.add_step();
                Continuation::Waking { tab_id, step }
            }
            None => Continuation::Unawaited {
                tab_id,
                session_id,
                step,
            },
        };
        let params = tab.params_to_real(&request.method, &request.params);
        let page = Debuggee::page(tab_id);
        self.out
            .command(&page, &request.method, &params, continuation);
    }
}
