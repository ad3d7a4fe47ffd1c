//! The hub of a browser with a debugging port of its own: the one task that owns its clients and
//! its state. It takes the same messages as the hub of an extension, so that links and HTTP do not
//! have to know which one they talk to. It never waits for a socket.

mod recovery;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tabwire_core::ids::ClientId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::browser::{Browser, Recovered};
use super::client::{Asked, Client, Link, Restored};
use super::log::Log;
use super::message::{self, Kind};
use super::report::Report;
use super::runtime::{Runtime, State, StrongSignal, WeakSignal};
use super::upstream::{Event, Limits, LinkId, Loss, Upstream};
use crate::error::Error;
use crate::hub::{ConnectedTo, HubReport, HubSender, Inbox, ToHub, inbox};
use crate::link::outbox::Outbox;
use crate::log::Observer;
use crate::memory::Memory;
use crate::registry::ExtensionSlot;
use crate::registry::connections::Connections;

/// How many messages of the browser may be queued for the hub.
const INBOX_SIZE: usize = 256;

// WebSocket close codes.
const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;
const INTERNAL_ERROR: u16 = 1011;

/// What happens when a recovery fails.
pub enum OnFailure {
    /// The relay has no other browser: it ends.
    EndRelay(mpsc::UnboundedSender<HubReport>),
    /// The browser's clients are disconnected, and it is looked for until it is back.
    WaitForBrowser,
    /// The browser's clients are disconnected. The next client launches the browser again.
    LaunchForNextClient,
}

pub struct Start {
    pub browser: Arc<Browser>,
    pub connections: Arc<Connections>,
    pub limits: Limits,
    pub observer: Observer,
    pub on_failure: OnFailure,
}

/// Starts the hub of a browser that has just been found. It ends when the last sender is dropped.
pub fn start(start: Start) -> HubSender {
    let (sender, inbox) = inbox();
    let (upstream_events, upstreams) = mpsc::channel(INBOX_SIZE);
    let (recovery_events, recoveries) = mpsc::unbounded_channel();
    let mut hub = Hub {
        log: Log(start.browser.clone()),
        browser: start.browser,
        connections: start.connections,
        limits: start.limits,
        observer: start.observer,
        on_failure: start.on_failure,
        upstream_events,
        recovery_events,
        started: Instant::now(),
        runtime: Runtime::new(),
        clients: HashMap::new(),
        last_link: 0,
        slot: None,
        recovery_started: None,
        probe: None,
        memory: Memory::watch(),
    };
    hub.log.state(&hub.runtime);
    hub.on_found(None);
    tokio::spawn(hub.run(inbox, upstreams, recoveries));
    sender
}

type Recovery = Result<Recovered, Error>;

struct Hub {
    browser: Arc<Browser>,
    connections: Arc<Connections>,
    limits: Limits,
    observer: Observer,
    on_failure: OnFailure,
    upstream_events: mpsc::Sender<Event>,
    recovery_events: mpsc::UnboundedSender<Recovery>,
    started: Instant,
    runtime: Runtime,
    /// A client enters when its socket is open and leaves when it is closed.
    clients: HashMap<ClientId, Client>,
    last_link: u64,
    /// The browser's place, which no extension can take meanwhile. `None` while it is gone.
    slot: Option<ExtensionSlot>,
    /// When a client last asked for a browser that is gone.
    recovery_started: Option<Instant>,
    /// Looks for a browser that is gone.
    probe: Option<JoinHandle<()>>,
    log: Log,
    memory: Memory,
}

impl Hub {
    async fn run(
        mut self,
        mut inbox: Inbox,
        mut upstreams: mpsc::Receiver<Event>,
        mut recoveries: mpsc::UnboundedReceiver<Recovery>,
    ) {
        let browser = self.browser.clone();
        loop {
            tokio::select! {
                message = inbox.next() => match message {
                    Some(message) => self.on_message(message),
                    None => return,
                },
                // The hub has a sender of its own, so these do not end.
                Some(event) = upstreams.recv() => self.on_events(event, &mut upstreams),
                Some(recovery) = recoveries.recv() => self.on_recovery(recovery),
                // HTTP or `tabwire restart` may have launched the browser again. Looking for it is safe
                // if it is gone once more.
                () = browser.running.notified() => self.start_recovery(),
            }
        }
    }

    /// Handles everything that is queued, up to a limit, so that clients get their turn.
    fn on_events(&mut self, first: Event, upstreams: &mut mpsc::Receiver<Event>) {
        self.on_event(first);
        for _ in 1..INBOX_SIZE {
            match upstreams.try_recv() {
                Ok(event) => self.on_event(event),
                Err(_) => return,
            }
        }
    }

    fn on_message(&mut self, message: ToHub) {
        match message {
            ToHub::ClientOpened(client, to, outbox) => self.on_client_opened(client, to, outbox),
            ToHub::ClientText(client, text) => self.on_client_text(client, text),
            ToHub::ClientClosed(slot) => {
                if let Some(client) = self.clients.remove(&slot.client) {
                    client.leave();
                }
                self.memory.on_link_closed();
                self.count_pages();
            }
            ToHub::Stop(done) => {
                // A browser that was stopped gets this again when the relay stops.
                if self.runtime.state() != State::Closing {
                    self.runtime.on_stop();
                    self.log.state(&self.runtime);
                }
                for client in self.clients.values_mut() {
                    client.link = Link::Closed;
                }
                self.slot = None;
                let _ = done.send(());
            }
            // HTTP asks the browser itself, and there is no extension and no launcher.
            ToHub::Describe(_)
            | ToHub::StatusChanged
            | ToHub::LaunchFailed(_)
            | ToHub::ExtensionOpened { .. }
            | ToHub::ExtensionText(..)
            | ToHub::ExtensionClosed(_)
            | ToHub::FilePlaced(_) => {}
        }
    }

    fn on_client_opened(&mut self, id: ClientId, to: ConnectedTo, outbox: Outbox) {
        let target = match to {
            ConnectedTo::Target(id) => Some(id),
            ConnectedTo::Browser | ConnectedTo::Request => None,
        };
        let link = match self.runtime.state() {
            State::Connected => self.open_link(id, target.as_deref(), false),
            State::Starting | State::Degraded => Link::Lost,
            State::Closing => {
                // It took its slot before the others were disconnected.
                outbox.close(GOING_AWAY, "The browser was stopped.");
                Link::Closed
            }
        };
        let report = Report {
            client: id,
            observer: self.observer.clone(),
            connections: self.connections.clone(),
        };
        let client = Client::new(outbox, link, report, target);
        self.clients.insert(id, client);
    }

    /// `target`: connect to this target's own socket.
    fn open_link(&mut self, client: ClientId, target: Option<&str>, recovers: bool) -> Link {
        self.last_link += 1;
        let link = LinkId {
            client,
            number: self.last_link,
        };
        let (browser, events) = (self.browser.clone(), self.upstream_events.clone());
        Link::Opening {
            upstream: Upstream::open(browser, target, link, self.limits, events),
            recovers,
        }
    }

    fn on_client_text(&mut self, id: ClientId, text: String) {
        self.memory.on_message(text.len());
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        client.report.from_client(&text);
        match client.on_text(text, Instant::now()) {
            Asked::Nothing => {}
            Asked::Close => {
                if !matches!(client.link, Link::Open(_)) {
                    self.log.browser_close_answered(&self.runtime);
                }
                let reason = "Disconnected as requested; the browser stays open.";
                client.close(NORMAL, reason);
            }
            Asked::Recovery => self.start_recovery(),
            Asked::Overrun => self.on_overrun(id),
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Text(link, text) => self.on_browser_text(link, text),
            Event::Opened(link) => self.on_opened(link),
            Event::Lost(link, loss) => self.on_lost(link, &loss),
        }
    }

    /// `None` for a connection that its client does not use any more.
    fn client(&mut self, link: LinkId) -> Option<&mut Client> {
        let client = self.clients.get_mut(&link.client)?;
        client.has_link(link).then_some(client)
    }

    fn on_browser_text(&mut self, link: LinkId, text: Utf8Bytes) {
        self.memory.on_message(text.len());
        let Some(client) = self.client(link) else {
            return;
        };
        client.report.from_port(&text);
        let kind = message::classify(&text);
        if let Kind::Reply { id } = kind {
            match client.on_reply(id, &text) {
                Ok(()) => client.pass(text),
                Err(restored) => self.on_own_reply(link, restored),
            }
            return;
        }
        if matches!(
            kind,
            Kind::Attached | Kind::Weak(WeakSignal::DetachedFromTarget)
        ) {
            client.on_session_event(&kind, &text);
        }
        client.pass(text);
        if let Kind::Weak(signal) = kind {
            self.runtime.on_weak(self.started.elapsed(), signal);
        }
    }

    fn on_opened(&mut self, link: LinkId) {
        let Some(client) = self.client(link) else {
            return;
        };
        match client.on_opened() {
            Ok(0) => self.count_pages(),
            Ok(_) => self.log.bootstrap(&self.runtime, "started"),
            Err(_) => self.on_overrun(link.client),
        }
    }

    /// The reply to one of the relay's own requests. `None`: it was not the last one.
    fn on_own_reply(&mut self, link: LinkId, restored: Option<Restored>) {
        let Some(restored) = restored else { return };
        if restored == Restored::Done {
            self.log.bootstrap(&self.runtime, "acknowledged");
        } else {
            self.log.bootstrap(&self.runtime, "failed");
        }
        let Some(client) = self.client(link) else {
            return;
        };
        match restored {
            // The client asked for something that the browser does not do, or not any more. That
            // must not affect others.
            Restored::Refused => client.close(
                INTERNAL_ERROR,
                "The browser came back, but refused what this client had switched on.",
            ),
            Restored::Done => {
                if client.flush().is_err() {
                    self.on_overrun(link.client);
                }
            }
        }
    }

    fn on_overrun(&mut self, client: ClientId) {
        self.lose(
            client,
            &Loss {
                signal: StrongSignal::NotReading,
                reason: "the browser does not read".to_owned(),
            },
        );
    }

    fn on_lost(&mut self, link: LinkId, loss: &Loss) {
        if self.client(link).is_some() {
            self.lose(link.client, loss);
        }
    }

    fn lose(&mut self, id: ClientId, loss: &Loss) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let recovers = matches!(
            client.link,
            Link::Opening { recovers: true, .. } | Link::Restoring { .. }
        );
        client.on_lost();
        if client.target().is_some() {
            // A target's socket ends with the target. The browser may be well.
            let reason = format!("The target was closed. ({})", loss.reason);
            return client.close(NORMAL, &reason);
        }
        let is_waiting = client.is_waiting();
        let signals = self.runtime.on_strong(self.started.elapsed(), loss.signal);
        if let Some(signals) = signals {
            self.publish();
            self.log.degraded(&self.runtime, &signals, &loss.reason);
        }
        if recovers {
            self.on_not_restored(id, loss);
        } else if is_waiting {
            self.start_recovery();
        }
    }
}
