//! Where a client's message goes: to the one handler of its method, or to the tab its session sees.

use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ClientId, SessionId};
use crate::intercept::Handled;
use crate::sessions::Subject;
use crate::targets::Tab;
use crate::{Core, Extension, Output, cdp};

/// How much of one client may wait for the browser to connect, or of all clients for a tab to wake.
pub(crate) const MAX_WAITING_BYTES: usize = 64 << 20;

impl Core {
    pub(crate) fn on_client_text(&mut self, client: ClientId, text: &str) {
        let Some(known) = self.clients.get_mut(client) else {
            return;
        };
        if matches!(self.extension, Extension::Greeting { .. }) {
            if known.deferred.iter().map(String::len).sum::<usize>() + text.len()
                > MAX_WAITING_BYTES
            {
                let id = Request::parse(text).ok().map(|request| request.id);
                let error =
                    CdpError::Refused("Too many commands are waiting for the browser to connect. Try again in a moment.".to_owned());
                self.outputs
                    .push_back(Output::ToClient(client, cdp::error_reply(id, None, &error)));
            } else {
                known.deferred.push(text.to_owned());
            }
            return;
        }
        let root = known.root;
        let request = match Request::parse(text) {
            Ok(request) => request,
            Err(malformed) => {
                let text = cdp::error_reply(malformed.id, None, &malformed.error);
                self.outputs.push_back(Output::ToClient(client, text));
                return;
            }
        };
        // The session must be this client's own: another's is as unknown as one that never was.
        let is_own = |id: &SessionId| {
            *id != root
                && self
                    .sessions
                    .get(*id)
                    .is_some_and(|view| view.client == client)
        };
        let session = match &request.session {
            None => Some(root),
            Some(name) => SessionId::parse(name).filter(is_own),
        };
        if let Some(session) = session {
            self.route(session, request);
        } else {
            let text = cdp::error_reply(
                Some(request.id),
                request.session.as_deref(),
                &CdpError::SessionNotFound,
            );
            self.outputs.push_back(Output::ToClient(client, text));
        }
    }

    /// Also the way of a command that had to wait for its tab.
    pub(crate) fn route(&mut self, session: SessionId, request: Request<'_>) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let (client, subject) = (view.client, view.subject.clone());
        let id = request.id;
        let handled = self.dispatch(client, session, &subject, request);
        self.answer(client, session, id, handled);
    }

    pub(crate) fn answer(
        &mut self,
        client: ClientId,
        session: SessionId,
        id: i64,
        handled: Result<Handled, CdpError>,
    ) {
        match handled {
            Ok(Handled::Reply(result)) => self.send_reply(client, session, id, &result),
            Ok(Handled::Later) => {}
            Err(error) => self.send_error(client, session, id, &error),
        }
    }

    fn dispatch(
        &mut self,
        client: ClientId,
        session: SessionId,
        subject: &Subject,
        request: Request<'_>,
    ) -> Result<Handled, CdpError> {
        if matches!(self.extension, Extension::Absent) && request.method != "Browser.close" {
            return Err(CdpError::ExtensionAbsent);
        }
        match (cdp::domain(&request.method), subject) {
            ("Target", _) => self.intercept_target(client, session, subject, request),
            ("Browser", _) | (_, Subject::Browser) => {
                self.intercept_browser(client, session, &request)
            }
            (_, Subject::Tab(_)) => Self::intercept_tab_target(&request),
            ("Fetch", Subject::Page(tab)) if self.tabs.get(*tab).is_some_and(Tab::is_live) => {
                self.intercept_fetch(session, subject, &request)
            }
            ("Fetch", Subject::Child(..)) => self.intercept_fetch(session, subject, &request),
            (_, Subject::Page(tab)) => self.to_page(session, *tab, request),
            (_, Subject::Child(tab, child)) => self.to_child(session, *tab, child, &request),
        }
    }
}
