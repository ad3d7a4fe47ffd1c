//! Which clients use a tab. The tab keeps its debugger for those; the settings of others wait.

use crate::Core;
use crate::model::calls::Step;
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::ids::{ClientId, SessionId, TabId};
use crate::protocol::methods::init::{self, Init};
use crate::protocol::methods::waiting;

impl Core {
    /// A command is on its way to Chrome. If client libraries do not send it to every page, its
    /// client uses the tab from now on.
    pub(crate) fn note_use(&mut self, session_id: SessionId, tab_id: TabId, request: &Request<'_>) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let client_id = session.client_id();
        let has_started = session.journal().has_started();
        if !is_use(request, has_started, self.world.emulates_focus) {
            return;
        }
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if tab.add_user(client_id) && tab.has_replayed() {
            self.send_waiting_settings(client_id, tab_id, request);
        }
    }

    /// Sends what a client has set in a tab that it did not use yet. Otherwise waking sends it.
    fn send_waiting_settings(&mut self, client_id: ClientId, tab_id: TabId, cause: &Request<'_>) {
        let mut settings = Vec::new();
        for (id, session) in self.world.sessions.on(&Target::Page(tab_id)) {
            if session.client_id() != client_id {
                continue;
            }
            let entries = session.journal().entries().iter();
            let waiting = entries.filter(|entry| {
                !entry.is_default && waiting::can_wait(&entry.method, &entry.params)
            });
            settings.extend(waiting.map(|entry| (id, entry.method.clone(), entry.params.clone())));
        }
        for (session_id, method, params) in settings {
            let step = Step::other(&method);
            let setting = Request {
                method: method.into(),
                params: (&*params).into(),
                ..cause.clone()
            };
            self.send_unawaited(session_id, tab_id, &setting, step);
        }
    }
}

/// Whether a command is more than client libraries send to every page.
fn is_use(request: &Request<'_>, has_started: bool, emulates_focus: bool) -> bool {
    let (method, params) = (&request.method, &request.params);
    let init = init::find(method).filter(|_| init::has_required_params(method, params));
    let is_set_up = |init: &Init| !init.is_default(emulates_focus) || !has_started;
    !init.is_some_and(is_set_up) && !waiting::can_wait(method, params)
}
