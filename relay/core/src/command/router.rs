//! Routes a client's message to the handler for its method and its session's target.

use crate::emit::out::{HandlerResult, ReadyCommand};
use crate::model::target::Target;
use crate::protocol::cdp::{self, Malformed, Request};
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, ClientId, Debuggee, MethodName, SessionId};
use crate::protocol::methods::browser;
use crate::protocol::methods::command::Command;
use crate::protocol::methods::domains::LIFECYCLE;
use crate::protocol::methods::refused;
use crate::{Answered, Core, Now, Output};

/// A message that reaches no session.
struct Rejected<'a> {
    client_id: ClientId,
    id: Option<i64>,
    session: Option<&'a str>,
    method: &'a str,
    since: Now,
}

impl Rejected<'_> {
    fn new(client_id: ClientId, id: Option<i64>, since: Now) -> Self {
        Self {
            client_id,
            id,
            session: None,
            method: "",
            since,
        }
    }
}

impl Core {
    /// `since`: when the message arrived. It may have waited for the browser.
    pub(crate) fn on_client_text(&mut self, client_id: ClientId, text: &str, since: Now) {
        let Some(root) = self.world.clients.root_session(client_id) else {
            return;
        };
        if self.world.link.is_coming() && !self.leaves_while_absent(client_id, text) {
            return self.defer_text(client_id, text, since);
        }
        if self.awaits_frame(root) {
            return self.defer_text(client_id, text, since);
        }
        let request = match Request::parse(text) {
            Ok(request) => request,
            Err(malformed) => {
                let Malformed { id, error } = malformed;
                return self.reject(Rejected::new(client_id, id, since), &error);
            }
        };
        if self.has_to_launch(&request) {
            return self.defer_text(client_id, text, since);
        }
        let session_id = match &request.session {
            None => Some(root),
            Some(name) => self.find_session(client_id, name),
        };
        let Some(session_id) = session_id else {
            let rejected = Rejected {
                session: request.session.as_deref(),
                method: &request.method,
                ..Rejected::new(client_id, Some(request.id), since)
            };
            return self.reject(rejected, &CdpError::SessionNotFound);
        };
        let caller = Caller {
            client_id,
            session_id,
            request_id: request.id,
            since,
            method: self.method_name(&request.method),
        };
        self.route(caller, request);
    }

    /// Whether a client that waits for nothing leaves while others wait for a browser.
    fn leaves_while_absent(&self, client_id: ClientId, text: &str) -> bool {
        self.world.link.is_absent()
            && !self.world.clients.has_deferred(client_id)
            && Request::parse(text).is_ok_and(|request| request.method == "Browser.close")
    }

    /// Asks for a browser if this request needs one and the relay can launch it.
    fn has_to_launch(&mut self, request: &Request<'_>) -> bool {
        let link = &mut self.world.link;
        let Some(timeout) = self.config.launch_timeout else {
            return false;
        };
        // A client that leaves does not need a browser.
        let wants = link.is_absent()
            && !self.out.is_paused()
            && link.launch_failure().is_none()
            && request.method != "Browser.close";
        if wants {
            link.await_launch(self.out.now + timeout);
            self.out.push(Output::LaunchBrowser);
        }
        wants
    }

    /// Keeps a message until the browser that is connecting is ready.
    fn defer_text(&mut self, client_id: ClientId, text: &str, since: Now) {
        if !self.world.clients.defer(client_id, text, since) {
            let request = Request::parse(text).ok();
            let reason =
                "Too many commands are waiting for the browser to connect. Try again in a moment.";
            let error = CdpError::Refused(reason.to_owned());
            let id = request.as_ref().map(|request| request.id);
            let rejected = Rejected {
                method: request.as_ref().map_or("", |request| &request.method),
                ..Rejected::new(client_id, id, since)
            };
            self.reject(rejected, &error);
        }
    }

    /// A session that this client named. Sessions of other clients are treated as unknown.
    fn find_session(&self, client_id: ClientId, name: &str) -> Option<SessionId> {
        let id = SessionId::parse(name)?;
        let session = self.world.sessions.get(id)?;
        (session.client_id() == client_id && !session.is_root()).then_some(id)
    }

    /// Answers a message that reaches no session.
    fn reject(&mut self, rejected: Rejected<'_>, error: &CdpError) {
        let reply = cdp::error_reply(rejected.id, rejected.session, error);
        self.send_to_client(rejected.client_id, reply);
        if self.config.reports_answers {
            self.out.push(Output::Answered(Answered {
                client_id: rejected.client_id,
                session_id: rejected.session.and_then(SessionId::parse),
                method: MethodName::new(rejected.method),
                took: self.out.now.saturating_sub(rejected.since),
                error: Some(error.code()),
            }));
        }
    }

    /// Only a log needs it.
    fn method_name(&self, method: &str) -> MethodName {
        if self.config.reports_answers {
            MethodName::new(method)
        } else {
            MethodName::default()
        }
    }

    fn route(&mut self, caller: Caller, request: Request<'_>) {
        let Some(session) = self.world.sessions.get(caller.session_id) else {
            return;
        };
        let target = session.target().clone();
        let result = self.dispatch(caller, &target, request);
        self.answer(caller, result);
    }

    fn dispatch(&mut self, caller: Caller, target: &Target, request: Request<'_>) -> HandlerResult {
        if self.world.link.is_absent() && request.method != "Browser.close" {
            if self.out.is_paused() {
                return Err(CdpError::Paused);
            }
            return Err(self.absence());
        }
        if self.world.link.is_absent() {
            tracing::info!(
                transportMode = "extension",
                shortCircuitBrowserClose = true,
                "Browser.close answered without a browser",
            );
        }
        match (cdp::domain(&request.method), target) {
            ("Target", _) => self.handle_target(caller, target, &request),
            ("Browser", _) | (_, Target::Browser) => self.handle_browser(caller, target, &request),
            _ if request.method == "Page.setDownloadBehavior" => {
                self.set_download_behavior(caller, &request)
            }
            // Before anything that could wake a tab.
            _ if refused::find(&request.method).is_some() => Err(refused::error(&request.method)),
            (_, Target::Tab(_)) => Self::handle_tab_target(&request),
            ("Fetch", Target::Page(tab_id)) if self.world.is_live(*tab_id) => {
                self.handle_fetch(caller, &Debuggee::page(*tab_id), &request)
            }
            (_, Target::Page(tab_id)) => self.handle_page(caller, *tab_id, request),
            (_, Target::Child(..))
                if browser::is_about_profile_cookies(&request.method)
                    && self.is_placeholder(target) =>
            {
                self.run_in_extension(caller, &request, None)
            }
            (_, Target::Child(tab_id, child_id)) if self.is_placeholder(target) => {
                self.handle_dormant_frame(caller, *tab_id, child_id, request)
            }
            (domain, Target::Child(tab_id, child_id)) => {
                let child = Debuggee::child(*tab_id, child_id.clone());
                if domain == "Fetch" {
                    self.handle_fetch(caller, &child, &request)
                } else {
                    self.send_or_wait(caller, &child, &request)
                }
            }
        }
    }

    /// Why there is no browser for a client's command.
    fn absence(&self) -> CdpError {
        let link = &self.world.link;
        if let Some(reason) = link.launch_failure() {
            return CdpError::LaunchFailed(reason.to_owned());
        }
        let absence = link.absence(self.out.now);
        absence.map_or(CdpError::ExtensionAbsent, |absence| {
            CdpError::ExtensionLost(absence.as_secs())
        })
    }

    /// A command whose tab has woken.
    pub(crate) fn on_command_ready(&mut self, ready: ReadyCommand) {
        let caller = ready.waiting.caller;
        // An earlier command may have ended the session.
        if self.world.sessions.contains(caller.session_id) {
            self.route(caller, ready.waiting.request);
        } else {
            self.send_error(caller, &CdpError::SessionNotFound);
        }
        self.detach_if_unused(ready.tab_id);
    }

    /// Everything that a session sent before it enabled something is answered. Whoever had it
    /// enabled may have left in the meantime.
    pub(crate) fn on_join_barrier_passed(&mut self, caller: Caller, request: Request<'_>) {
        let session_id = caller.session_id;
        if !self.world.sessions.contains(session_id) {
            return self.send_error(caller, &CdpError::SessionNotFound);
        }
        let switch = match Command::classify(&request.method) {
            Command::Lifecycle => LIFECYCLE,
            _ => cdp::domain(&request.method),
        };
        // A session that has it enabled already only repeated itself: routing it would wait at a
        // barrier again.
        if self.has_enabled(session_id, switch)
            || self.world.sessions.is_enabled_elsewhere(session_id, switch)
        {
            self.send_missed(session_id, switch);
            self.send_reply(caller, "{}");
        } else {
            self.route(caller, request);
        }
    }
}
