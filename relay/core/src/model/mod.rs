//! The state of the core: what is known of the browser and its tabs, and what each client has asked
//! for. Fields are private to their owner. Nothing here sends a message.

pub mod bootstraps;
pub mod calls;
pub mod child;
pub mod clients;
pub mod clock;
pub mod context_ids;
pub mod contexts;
pub mod downloads;
pub mod frames;
pub mod interception;
pub mod interner;
pub mod journal;
pub mod link;
pub mod logged;
pub mod mirror;
pub mod paused;
pub mod pending_call;
pub mod permissions;
pub mod sessions;
pub mod tab;
pub mod tabs;
pub mod target;
pub mod wake;

use crate::protocol::cdp::{self, Request};
use crate::protocol::ids::{ClientId, IdSource, SessionId, TabId, TargetId};
use crate::protocol::methods::command::Command;
use crate::protocol::methods::{init, undo, waiting};
use calls::{Replayed, Step};
use clients::Clients;
use downloads::Downloads;
use interner::Interner;
use link::Link;
use mirror::Mirror;
use permissions::Permissions;
use sessions::{Session, Sessions};
use tab::Tab;
use tabs::Tabs;
use target::Target;

/// Everything the core knows. The other half of the core is [`Out`](crate::emit::out::Out),
/// everything it does.
pub struct World {
    pub tabs: Tabs,
    pub sessions: Sessions,
    pub clients: Clients,
    pub link: Link,
    pub downloads: Downloads,
    pub interner: Interner,
    pub permissions: Permissions,
    /// The only browser context: the person's own profile.
    pub browser_context: TargetId,
    pub browser_target: TargetId,
    /// As in `Config`.
    pub emulates_focus: bool,
}

impl World {
    pub fn new(ids: &mut IdSource, emulates_focus: bool) -> Self {
        Self {
            emulates_focus,
            browser_context: ids.target(),
            browser_target: ids.target(),
            tabs: Tabs::default(),
            sessions: Sessions::default(),
            clients: Clients::default(),
            link: Link::default(),
            downloads: Downloads::default(),
            interner: Interner::default(),
            permissions: Permissions::default(),
        }
    }

    /// Whether any session of this target has a switch on, so that Chrome has it on.
    pub fn is_enabled(&self, target: &Target, switch: &str) -> bool {
        self.sessions
            .on(target)
            .any(|(_, session)| session.has_enabled(switch))
    }

    pub fn mirror_mut(&mut self, target: &Target) -> Option<&mut Mirror> {
        let debuggee = target.debuggee()?;
        self.tabs
            .get_mut(debuggee.tab_id)?
            .mirror_mut(debuggee.child_id.as_ref())
    }

    /// Adds a command to its session's journal if it has to be replayed or undone later.
    pub fn record_in_journal(&mut self, session_id: SessionId, request: &Request<'_>) {
        let Some(session) = self.sessions.get_mut(session_id) else {
            return;
        };
        let method = &request.method;
        if undo::is_journaled(method) && init::has_required_params(method, &request.params) {
            let params = self.interner.intern(&request.params);
            session.journal_mut().record(method, params, None);
        }
        if Command::classify(method) == Command::RunIfWaiting {
            session.journal_mut().start();
        }
    }

    /// Whether a journal entry is sent to Chrome. A library's default that would be visible is not,
    /// unless the client created the tab. A setting that can wait is sent when the client uses the
    /// tab.
    pub fn reaches_chrome(&self, session: &Session, entry: &journal::Entry) -> bool {
        let is_default = entry.is_default
            && init::find(&entry.method).is_some_and(|init| init.is_default(self.emulates_focus));
        let tab = session.target().tab_id().and_then(|id| self.tabs.get(id));
        let client_id = session.client_id();
        let waits =
            || session.target().is_page() && waiting::can_wait(&entry.method, &entry.params);
        if is_default {
            tab.is_some_and(|tab| tab.was_created_by(client_id))
        } else {
            tab.is_some_and(|tab| tab.is_used_by(client_id)) || !waits()
        }
    }

    /// Whether a setting is only recorded, because its client does not use the tab yet or the tab is
    /// dormant.
    pub fn has_to_wait(&self, session_id: SessionId, tab_id: TabId, request: &Request<'_>) -> bool {
        let Some((session, tab)) = self.sessions.get(session_id).zip(self.tabs.get(tab_id)) else {
            return false;
        };
        // Before that, it is a library's default.
        let is_users = session.journal().has_started() || init::find(&request.method).is_none();
        is_users
            && (tab.is_dormant() || !tab.is_used_by(session.client_id()))
            && waiting::can_wait(&request.method, &request.params)
    }

    pub fn is_used_by(&self, client_id: ClientId, tab_id: TabId) -> bool {
        let tab = self.tabs.get(tab_id);
        tab.is_some_and(|tab| tab.is_used_by(client_id))
    }

    /// Whether a client with a session in this tab uses it, so that it keeps its debugger.
    pub fn is_used(&self, tab_id: TabId) -> bool {
        let tab = self.tabs.get(tab_id);
        let mut sessions = self.sessions.at(Some(tab_id));
        tab.is_some_and(|tab| sessions.any(|(_, session)| tab.is_used_by(session.client_id())))
    }

    /// Whether a command is a library's visible default to a tab that the client did not create.
    /// Client libraries send such defaults to every page and frame.
    pub fn is_withheld_default(
        &self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> bool {
        let Some(session) = self.sessions.get(session_id) else {
            return false;
        };
        let is_own = self
            .tabs
            .get(tab_id)
            .is_some_and(|tab| tab.was_created_by(session.client_id()));
        let can_be_default =
            init::find(&request.method).is_some_and(|init| init.is_default(self.emulates_focus));
        can_be_default
            && !session.journal().has_started()
            && !is_own
            && init::has_required_params(&request.method, &request.params)
    }

    /// Whether the relay answers an init command of this session although the tab is not dormant.
    pub fn answers_late_join(
        &self,
        session_id: SessionId,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> bool {
        let Some((session, tab)) = self.sessions.get(session_id).zip(self.tabs.get(tab_id)) else {
            return false;
        };
        // In a tab that the client created, nothing was announced before.
        session.is_initializing()
            && !tab.was_created_by(session.client_id())
            && cdp::domain(&request.method) != "Fetch"
            && !matches!(Command::classify(&request.method), Command::Disable(_))
    }

    /// Forgets what only the debugger knew: Chrome's identifiers of the scripts of the page's
    /// sessions.
    pub fn forget_real_scripts(&mut self, tab_id: TabId) {
        let page = Target::Page(tab_id);
        let ids: Vec<SessionId> = self.sessions.ids_on(&page);
        for id in ids {
            if let Some(session) = self.sessions.get_mut(id) {
                session.journal_mut().forget_real_scripts();
            }
        }
    }

    /// Adds what Chrome has to receive from the page's sessions when the tab wakes: each command
    /// once, in the order they were sent.
    pub fn add_journaled_commands(&self, tab_id: TabId, commands: &mut Vec<Replayed>) {
        for (session_id, session) in self.sessions.on(&Target::Page(tab_id)) {
            for entry in session.journal().entries() {
                let is_new = entry.script.is_some()
                    || !commands.iter().any(|c| c.is(&entry.method, &entry.params));
                if is_new && self.reaches_chrome(session, entry) {
                    commands.push(Replayed {
                        method: entry.method.clone(),
                        params: entry.params.clone(),
                        step: Step::of_entry(session_id, entry),
                    });
                }
            }
        }
    }

    pub fn is_live(&self, tab_id: TabId) -> bool {
        self.tabs.get(tab_id).is_some_and(Tab::is_live)
    }

    pub fn is_restricted(&self, tab_id: TabId) -> bool {
        self.tabs.get(tab_id).is_some_and(Tab::is_restricted)
    }
}
