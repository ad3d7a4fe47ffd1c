//! The pure core of the relay: everything that clients and the browser's extension send each
//! other.
//!
//! No sockets, tasks, clocks or randomness: inputs enter through [`Core::handle`], outputs leave
//! through [`Core::poll_output`], and [`Core::poll_timeout`] returns when `TimeoutReached` is due.
//!
//! The folders are layers. A layer uses only those before it, which `tests/layers` enforces:
//!
//! 1. `protocol`: messages, ids, errors, and every table of CDP methods
//! 2. `model`: state, private to its owners ([`World`](model::World))
//! 3. `emit`: what is sent ([`Out`](emit::out::Out))
//! 4. `session`: one client's view of one target
//! 5. `tab`: dormant, waking, live
//! 6. `command`: what clients send
//! 7. `event`: what arrives from the browser, and timeouts
//!
//! A client's message goes `command::router` → a handler in `command` → `tab` or `session` →
//! `emit`. The extension's message goes `event::link` → `event::replies`, `event::debugger` or
//! `event::tabs` → `tab` or `session` → `emit`.

mod command;
mod emit;
mod event;
mod model;
mod protocol;
mod session;
mod tab;

pub(crate) use protocol::api::MAX_WAITING_BYTES;
pub use protocol::api::{
    Answered, CloseReason, Config, Connection, FrameSummary, Input, Now, OnDisconnect, Output,
    PageSummary, Place, Placed, Placement,
};
pub use protocol::error::CdpError;
pub use protocol::{cdp, handshake, ids, wire};

use std::collections::{BTreeMap, BTreeSet};

use emit::out::Out;
use ids::{ClientId, IdSource, TabId};
use model::World;
use model::clock::Clock;

pub struct Core {
    config: Config,
    clock: Clock,
    /// What the core knows.
    world: World,
    /// What the core does.
    out: Out,
}

impl Core {
    pub fn new(config: Config) -> Self {
        let mut ids = IdSource::new(config.seed);
        let mut world = World::new(&mut ids, config.emulates_focus);
        if config.launch_timeout.is_none() {
            world.link.await_return(config.start_timeout);
        }
        Self {
            world,
            out: Out::new(&config, ids),
            config,
            clock: Clock::default(),
        }
    }

    /// `now`: the time outside, which must not go back.
    pub fn handle(&mut self, now: Now, input: Input<'_>) {
        let now = self.clock.advance(now, self.next_deadline());
        self.out.now = now;
        match input {
            Input::ClientOpened {
                client,
                connection,
                program,
                group,
                identity,
            } => {
                self.on_client_opened(client, connection, program, group);
                if let Some(identity) = identity {
                    self.recognize(client, identity);
                }
            }
            Input::ClientText(client_id, text) => self.on_client_text(client_id, text, now),
            Input::ClientClosed(client_id) => self.on_client_closed(client_id),
            Input::ExtensionOpened {
                install_id,
                browser,
                launch_timeout,
            } => self.on_extension_opened(install_id, browser, launch_timeout),
            Input::LaunchFailed(reason) => self.world.link.fail_launch(reason),
            Input::ExtensionText(text) => self.on_extension_text(text),
            Input::ExtensionClosed => self.on_extension_closed(),
            Input::FilePlaced(placed) => self.on_file_placed(placed),
            Input::TimeoutReached => {}
            Input::Stopping => self.detach_all(),
        }
        self.process_queues();
        self.process_deferred();
        self.check_calls();
        self.check_link();
        self.process_queues();
        self.process_deferred();
    }

    /// One frame can carry several messages. Each is handled completely before the next.
    fn on_extension_text(&mut self, text: &str) {
        if self.world.link.is_absent() {
            return;
        }
        if let Some(event) = wire::EventFrame::parse(text) {
            self.world.link.on_message();
            return self.on_cdp_event(&event);
        }
        if let Some(reply) = wire::LongReply::parse(text) {
            self.world.link.on_message();
            return self.on_reply(ids::CallId(reply.id), Ok(reply.result));
        }
        match wire::parse_frame(text) {
            Ok(messages) => {
                for message in messages {
                    self.on_extension_message(&message);
                    self.process_queues();
                    self.process_deferred();
                }
            }
            // It may have contained a reply that a client waits for.
            Err(error) => {
                self.close_extension(&format!("the extension sent invalid JSON: {error}"));
            }
        }
    }

    /// Handles the messages that were waiting for a browser that has connected, or failed to.
    fn process_deferred(&mut self) {
        if self.world.link.is_coming() {
            return;
        }
        for (client_id, deferred) in self.world.clients.take_deferred() {
            self.on_client_text(client_id, &deferred.text, deferred.since);
            self.process_queues();
        }
        self.world.link.forget_launch_failure();
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// When `TimeoutReached` is due next.
    pub fn poll_timeout(&self) -> Option<Now> {
        self.next_deadline().map(|due| self.clock.to_real(due))
    }

    fn next_deadline(&self) -> Option<Now> {
        let calls = self.out.calls.next_deadline();
        let link = self.world.link.next_deadline();
        [calls, link].into_iter().flatten().min()
    }

    /// The connected browser, once its tabs are known.
    pub fn browser(&self) -> Option<&handshake::Browser> {
        self.world.link.browser()
    }

    pub fn pages(&self) -> Vec<PageSummary> {
        self.world.tabs.iter().map(summarize).collect()
    }

    pub fn page(&self, tab_id: TabId) -> Option<PageSummary> {
        self.world.tabs.get(tab_id).map(summarize)
    }

    /// Which tabs each client uses. A client that has only initialized its sessions on a tab does
    /// not use it.
    pub fn tabs_in_use(&self) -> BTreeMap<ClientId, BTreeSet<TabId>> {
        let mut in_use = BTreeMap::<_, BTreeSet<_>>::new();
        for tab in self.world.tabs.iter().filter(|tab| !tab.is_dormant()) {
            for (_, session) in self.world.sessions.at(Some(tab.id())) {
                if tab.is_used_by(session.client_id()) {
                    in_use
                        .entry(session.client_id())
                        .or_default()
                        .insert(tab.id());
                }
            }
        }
        in_use
    }

    /// Whether the person has stopped all clients.
    pub fn is_paused(&self) -> bool {
        self.out.is_paused()
    }

    pub fn page_count(&self) -> usize {
        self.world.tabs.len()
    }

    /// Whether nothing is left of clients and calls: true again whenever all clients have
    /// disconnected.
    pub fn is_idle(&self) -> bool {
        self.world.clients.is_empty()
            && self.world.sessions.is_empty()
            && self.world.downloads.is_unset()
            && self.world.permissions.is_empty()
            && self.out.calls.is_idle()
    }
}

fn summarize(tab: &model::tab::Tab) -> PageSummary {
    PageSummary {
        id: tab.page_id().clone(),
        url: tab.url().to_owned(),
        title: tab.title().to_owned(),
        frames: tab
            .frame_targets()
            .into_iter()
            .map(summarize_frame)
            .collect(),
    }
}

fn summarize_frame(frame: model::tab::FrameTarget) -> FrameSummary {
    FrameSummary {
        id: frame.target_id,
        parent_id: frame.parent,
        url: frame.url,
    }
}

#[cfg(test)]
mod tests;
