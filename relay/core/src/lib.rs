//! The pure core of the relay: what clients and the browser's extension say to each other through it.
//!
//! No sockets, tasks, clocks or randomness: inputs go in with [`Core::handle`], outputs come out of
//! [`Core::poll_output`], the next moment something is due comes out of [`Core::poll_timeout`].
//!
//! A client's message: `router` → `intercept/*` (answered here), or `wake` and `forward` (sent to the tab).
//! The extension's message: `extension_event` → `pending` (a reply) or the sessions of its tab (an event).

mod announce;
mod bootstrap;
mod breakpoints;
pub mod cdp;
mod children;
mod clients;
mod contexts;
mod deadlines;
mod debugger_event;
mod error;
mod extension_event;
mod forward;
mod frames;
pub mod ids;
mod intercept;
mod interception;
mod journal;
mod mirror;
mod pending;
mod release;
mod router;
mod screencast;
mod sessions;
mod set_up;
mod switches;
mod tab_event;
mod targets;
mod texts;
mod translate;
mod turns;
mod wake;
pub mod wire;

use std::collections::VecDeque;
use std::time::Duration;

use clients::Clients;
pub use error::CdpError;
use ids::{ClientId, IdSource, SessionId, TargetId};
use pending::{Continuation, Pending};
use sessions::Sessions;
use targets::Tabs;
use texts::Texts;

/// Time since the relay started. The core never asks for it.
pub type Now = Duration;

/// What happened outside.
#[derive(Debug)]
pub enum Input<'a> {
    ClientOpened(ClientId),
    ClientText(ClientId, &'a str),
    ClientClosed(ClientId),
    ExtensionOpened,
    ExtensionText(&'a str),
    ExtensionClosed,
    /// The moment that `poll_timeout` named has come.
    TimeoutReached,
    /// The relay is about to end: the browser gets its tabs back.
    Stopping,
}

/// What is to be done outside, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    ToClient(ClientId, String),
    ToExtension(String),
    CloseClient(ClientId, CloseReason),
    CloseExtension(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// The client asked for it with `Browser.close`.
    Asked,
}

#[derive(Debug, Clone)]
pub struct Config {
    pub seed: u64,
    /// How often the extension is asked whether it is there, and how long it may take to say so.
    pub ping_every: Duration,
    pub pong_within: Duration,
    /// How long the extension may take to say hello and list its tabs.
    pub greet_within: Duration,
    /// How long a browser may be away, as while its extension's worker is started again, before its tabs count as gone.
    pub absent_within: Duration,
    /// How long Chrome may take to attach its debugger, or to create or close a tab.
    pub tab_call_within: Duration,
    /// How long a page may be silent while a client waits for it.
    pub command_within: Duration,
    /// What becomes of the tabs that a client created when it goes.
    pub on_disconnect: OnDisconnect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisconnect {
    Keep,
    CloseCreated,
}

impl Config {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ping_every: Duration::from_secs(5),
            // A worker that writes a very large message says nothing else meanwhile.
            pong_within: Duration::from_secs(10),
            greet_within: Duration::from_secs(5),
            absent_within: Duration::from_secs(40),
            tab_call_within: Duration::from_secs(10),
            command_within: Duration::from_secs(30),
            on_disconnect: OnDisconnect::Keep,
        }
    }
}

/// The extension's link, from opening to use.
#[derive(Debug)]
enum Extension {
    Absent,
    /// Connected, and not known yet: it has to say hello and list its tabs. The proof that relay and extension share a
    /// secret belongs here, before the first tab is listed.
    Greeting {
        hello: Option<wire::Hello>,
        until: Now,
    },
    Ready {
        hello: wire::Hello,
    },
}

pub struct Core {
    config: Config,
    now: Now,
    ids: IdSource,
    /// The one browser context: the person's own profile.
    context: TargetId,
    browser_target: TargetId,
    extension: Extension,
    next_ping: Option<Now>,
    pong_due: Option<Now>,
    /// When the tabs of a browser that went away count as gone.
    tabs_gone_at: Option<Now>,
    clients: Clients,
    sessions: Sessions,
    tabs: Tabs,
    pending: Pending,
    texts: Texts,
    outputs: VecDeque<Output>,
}

/// What `/json/*` and `/` tell of the browser.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageSummary {
    pub id: TargetId,
    pub url: String,
    pub title: String,
}

impl Core {
    pub fn new(config: Config) -> Self {
        let mut ids = IdSource::new(config.seed);
        Self {
            context: ids.target(),
            browser_target: ids.target(),
            config,
            now: Now::ZERO,
            ids,
            extension: Extension::Absent,
            next_ping: None,
            pong_due: None,
            tabs_gone_at: None,
            clients: Clients::default(),
            sessions: Sessions::default(),
            tabs: Tabs::default(),
            pending: Pending::default(),
            texts: Texts::default(),
            outputs: VecDeque::new(),
        }
    }

    pub fn handle(&mut self, now: Now, input: Input<'_>) {
        self.now = now;
        match input {
            Input::ClientOpened(client) => self.on_client_opened(client),
            Input::ClientText(client, text) => self.on_client_text(client, text),
            Input::ClientClosed(client) => self.on_client_closed(client),
            Input::ExtensionOpened => self.on_extension_opened(),
            Input::ExtensionText(text) => self.on_extension_text(text),
            Input::ExtensionClosed => self.on_extension_closed(),
            Input::TimeoutReached => {}
            Input::Stopping => self.detach_all(),
        }
        self.on_time();
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next moment at which `TimeoutReached` is wanted.
    pub fn poll_timeout(&self) -> Option<Now> {
        let greeting = match self.extension {
            Extension::Greeting { until, .. } => Some(until),
            Extension::Absent | Extension::Ready { .. } => None,
        };
        [
            self.pending.next_deadline(),
            self.next_ping,
            self.pong_due,
            self.tabs_gone_at,
            greeting,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The browser's hello, once its tabs are known too.
    pub fn browser(&self) -> Option<&wire::Hello> {
        match &self.extension {
            Extension::Ready { hello } => Some(hello),
            Extension::Absent | Extension::Greeting { .. } => None,
        }
    }

    pub fn pages(&self) -> Vec<PageSummary> {
        self.tabs
            .iter()
            .map(|tab| PageSummary {
                id: tab.page.clone(),
                url: tab.url.clone(),
                title: tab.title.clone(),
            })
            .collect()
    }

    pub fn page_count(&self) -> usize {
        self.tabs.len()
    }

    /// Whether nothing is kept of clients and calls: true again whenever all of them have gone.
    pub fn is_idle(&self) -> bool {
        self.clients.is_empty() && self.sessions.is_empty() && self.pending.is_empty()
    }

    /// Asks the extension; what happens with its answer is in the continuation.
    fn call(&mut self, call: &wire::Call<'_>, continuation: Continuation) {
        let id = self.ids.call();
        let (tab, child, method) = match call {
            wire::Call::CdpCommand {
                tab, method, child, ..
            } => (Some(*tab), child.cloned(), (*method).to_owned()),
            wire::Call::AttachTab { tab }
            | wire::Call::CloseTab { tab }
            | wire::Call::ActivateTab { tab }
            | wire::Call::DetachTab { tab } => (Some(*tab), None, call.name().to_owned()),
            wire::Call::ListTabs | wire::Call::CreateTab { .. } => {
                (None, None, call.name().to_owned())
            }
        };
        let deadline = match (call, &continuation) {
            (wire::Call::CdpCommand { .. }, Continuation::Reply { .. }) => {
                Some(self.command_deadline())
            }
            (_, Continuation::Told { .. }) => None,
            _ => Some(self.now + self.config.tab_call_within),
        };
        let is_command = matches!(call, wire::Call::CdpCommand { .. });
        let entry = pending::Entry {
            continuation,
            tab,
            child,
            method,
            asked_at: self.now,
            deadline,
            is_command,
            is_probed: false,
        };
        if matches!(self.extension, Extension::Absent) {
            self.on_call_failed(entry, &CdpError::ExtensionAbsent);
            return;
        }
        self.pending.insert(id, entry);
        self.outputs
            .push_back(Output::ToExtension(call.to_text(id)));
    }

    fn send_reply(&mut self, client: ClientId, session: SessionId, request: i64, result: &str) {
        if self.clients.get(client).is_none() {
            return;
        }
        let text = cdp::reply(request, self.name_for_client(session), result);
        self.outputs.push_back(Output::ToClient(client, text));
    }

    /// What a client calls this session: nothing, for its root. A session that has ended is still named, because its
    /// client waits under that name; a root session ends only with its client.
    fn name_for_client(&self, session: SessionId) -> Option<SessionId> {
        let is_root = self
            .sessions
            .get(session)
            .is_some_and(|view| view.parent.is_none());
        (!is_root).then_some(session)
    }

    fn send_error(&mut self, client: ClientId, session: SessionId, request: i64, error: &CdpError) {
        if self.clients.get(client).is_none() {
            return;
        }
        let name = self.name_for_client(session).map(|name| name.to_string());
        let text = cdp::error_reply(Some(request), name.as_deref(), error);
        self.outputs.push_back(Output::ToClient(client, text));
    }

    fn send_event(&mut self, session: SessionId, method: &str, params: &str) {
        if let Some(view) = self.sessions.get(session) {
            let text = cdp::event(view.parent.map(|_| session), method, params);
            self.outputs.push_back(Output::ToClient(view.client, text));
        }
    }

    fn on_time(&mut self) {
        let now = self.now;
        self.on_overdue_calls();
        if let Extension::Greeting { until, .. } = self.extension
            && until <= now
        {
            self.give_up_extension("the extension did not say hello and list its tabs in time");
        }
        if self.tabs_gone_at.is_some_and(|due| due <= now) {
            self.tabs_gone_at = None;
            for tab in self.tabs.ids() {
                self.on_tab_gone(tab);
            }
        }
        if self.pong_due.is_some_and(|due| due <= now) {
            self.give_up_extension("the extension did not answer a ping in time");
        } else if self.next_ping.is_some_and(|due| due <= now) {
            self.outputs
                .push_back(Output::ToExtension(wire::PING.to_owned()));
            self.next_ping = Some(now + self.config.ping_every);
            self.pong_due.get_or_insert(now + self.config.pong_within);
        }
    }

    /// The link is dead though its socket may be open: free the slot, and answer everyone who waits.
    fn give_up_extension(&mut self, reason: &str) {
        self.outputs
            .push_back(Output::CloseExtension(reason.to_owned()));
        self.on_extension_closed();
    }
}

#[cfg(test)]
mod tests;
