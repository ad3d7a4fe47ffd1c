//! The hub: the one task that owns a browser's core. Links send it what their sockets receive, and
//! it puts the core's outputs into the links' outboxes. It never waits for a socket.

mod inbox;
mod placed_file;
mod usage;

use std::collections::HashMap;
use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tabwire_core::handshake::Browser;
use tabwire_core::ids::ClientId;
use tabwire_core::{
    Answered, CloseReason, Connection, Core, Input, Now, Output, PageSummary, Placed, Placement,
};
use tokio::sync::{mpsc, oneshot};

pub use self::inbox::{HubSender, Inbox, ToInbox, WeakHubSender, inbox};
use crate::error::Error;
use crate::link::outbox::Outbox;
use crate::log::{Answer, Observer, Peer, Way};
use crate::memory::Memory;
use crate::registry::clients::ClientSlot;
use crate::registry::connections::Connections;

/// How soon the popup and `/client-slot` show that a client uses another tab.
const USAGE_INTERVAL: Duration = Duration::from_millis(200);

/// How many messages are handled before others may run.
const BATCH: usize = 256;

// WebSocket close codes.
const NORMAL: u16 = 1000;
const POLICY_VIOLATION: u16 = 1008;

pub enum ToHub {
    ClientOpened(ClientId, ConnectedTo, Outbox),
    ClientText(ClientId, String),
    /// The client's slot becomes free when nothing of it is left to be done.
    ClientClosed(ClientSlot),
    /// The registry knows something that the popup shows: what a client is called, or the open port.
    StatusChanged,
    ExtensionOpened {
        link: u64,
        outbox: Outbox,
        install_id: String,
        browser: Browser,
        launch_timeout: Option<Duration>,
    },
    ExtensionText(u64, String),
    ExtensionClosed(u64),
    /// The browser that a client needs cannot be started.
    LaunchFailed(String),
    /// The file of a download is where clients want it, or cannot get there.
    FilePlaced(Placed),
    /// The relay stops: detach from all tabs before the links are closed.
    Stop(oneshot::Sender<()>),
    /// Answers `/json/*`.
    Describe(oneshot::Sender<Description>),
}

/// What a client is connected to: the owned form of `tabwire_core::Connection`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectedTo {
    Browser,
    Target(String),
    Request,
}

impl ConnectedTo {
    fn as_connection(&self) -> Connection<'_> {
        match self {
            Self::Browser => Connection::Browser,
            Self::Target(id) => Connection::Target(id),
            Self::Request => Connection::Request,
        }
    }
}

impl ToHub {
    /// The size of the message that it carries.
    fn size(&self) -> usize {
        match self {
            Self::ClientText(_, text) | Self::ExtensionText(_, text) => text.len(),
            _ => 0,
        }
    }
}

pub struct Description {
    pub browser: Option<Browser>,
    pub pages: Vec<PageSummary>,
}

/// What a hub cannot deal with by itself.
pub enum HubReport {
    /// No relay survives this: the hub has ended, which is a bug, or its browser, which is the only
    /// one, is gone.
    Ended(Error),
    /// A client needs a browser, and none is connected.
    WantsBrowser(WeakHubSender),
    /// The person wants the open port to be closed.
    ClosePort,
}

/// Starts a hub. It ends when the last sender is dropped; any other end is reported.
pub fn start(
    config: tabwire_core::Config,
    connections: Arc<Connections>,
    observer: Observer,
    reports: mpsc::UnboundedSender<HubReport>,
) -> HubSender {
    let (sender, inbox) = inbox();
    let hub = Hub {
        core: Core::new(config),
        connections,
        observer,
        inbox,
        started: Instant::now(),
        clients: HashMap::new(),
        extension: None,
        usage_due: None,
        memory: Memory::watch(),
        own_sender: sender.downgrade(),
        reports: reports.clone(),
    };
    tokio::spawn(async move {
        if let Err(error) = tokio::spawn(hub.run()).await {
            let reason = format!("a hub ended: {error}");
            let _ = reports.send(HubReport::Ended(Error::HubEnded(reason)));
        }
    });
    sender
}

struct Hub {
    core: Core,
    connections: Arc<Connections>,
    observer: Observer,
    inbox: Inbox,
    started: Instant,
    /// A client enters when its socket is open and leaves when it is closed.
    clients: HashMap<ClientId, Outbox>,
    /// The link that the core uses as the extension. Messages of earlier links are ignored.
    extension: Option<Extension>,
    /// When to look next at which tabs clients use. `None`: nothing has happened since the last
    /// time.
    usage_due: Option<Now>,
    memory: Memory,
    own_sender: WeakHubSender,
    reports: mpsc::UnboundedSender<HubReport>,
}

struct Extension {
    link: u64,
    outbox: Outbox,
    /// The last status that it was sent.
    status: String,
}

impl Hub {
    async fn run(mut self) {
        /// The timer's delay when no deadline is set.
        const FAR: Duration = Duration::from_secs(86_400);
        let mut timer = pin!(tokio::time::sleep(FAR));
        // The deadline that the timer is set to. `None` after it fired: it must be set again then,
        // even without a deadline, or it would fire forever.
        let mut timer_deadline: Option<Option<Now>> = None;
        loop {
            let deadline = [self.core.poll_timeout(), self.usage_due]
                .into_iter()
                .flatten()
                .min();
            if timer_deadline != Some(deadline) {
                timer_deadline = Some(deadline);
                let elapsed = deadline.unwrap_or_else(|| self.started.elapsed() + FAR);
                timer.as_mut().reset((self.started + elapsed).into());
            }
            tokio::select! {
                // Deadlines can wait for messages, but not the other way round.
                biased;
                message = self.inbox.next() => match message {
                    Some(message) => {
                        self.on_messages(message).await;
                        self.usage_due
                            .get_or_insert_with(|| self.started.elapsed() + USAGE_INTERVAL);
                    }
                    None => return,
                },
                () = timer.as_mut() => {
                    timer_deadline = None;
                    self.on_timer();
                }
            }
            self.publish_counts();
        }
    }

    fn on_timer(&mut self) {
        let now = self.started.elapsed();
        if self.usage_due.take_if(|due| *due <= now).is_some() {
            self.publish_usage();
        }
        self.feed(Input::TimeoutReached);
    }

    /// Handles everything that is queued, up to a limit, so that sockets are looked at in between.
    async fn on_messages(&mut self, first: ToHub) {
        self.on_message(first);
        for _ in 1..BATCH {
            match self.inbox.try_next() {
                Some(message) => self.on_message(message),
                None => return,
            }
        }
        // The timer waits while there are messages.
        let now = self.started.elapsed();
        if self.usage_due.is_some_and(|due| due <= now) {
            self.on_timer();
        }
        tokio::task::yield_now().await;
    }

    fn on_message(&mut self, message: ToHub) {
        match message {
            ToHub::ClientOpened(client, to, outbox) => {
                self.clients.insert(client, outbox);
                let clients = &self.connections.clients;
                let (program, group) = (clients.program_of(client), clients.group_of(client));
                self.feed(Input::ClientOpened {
                    client,
                    connection: to.as_connection(),
                    program,
                    group: group.as_deref(),
                    identity: clients.identity_of(client).as_deref(),
                });
            }
            ToHub::ClientText(client, text) => {
                self.memory.on_message(text.len());
                self.record(Way::Received, Peer::Client(client), &text);
                self.feed(Input::ClientText(client, &text));
            }
            ToHub::ClientClosed(slot) => {
                self.clients.remove(&slot.client);
                self.memory.on_link_closed();
                self.feed(Input::ClientClosed(slot.client));
            }
            ToHub::ExtensionOpened {
                link,
                outbox,
                install_id,
                browser,
                launch_timeout,
            } => {
                self.extension = Some(Extension {
                    link,
                    outbox,
                    status: String::new(),
                });
                self.feed(Input::ExtensionOpened {
                    install_id: &install_id,
                    browser,
                    launch_timeout,
                });
            }
            ToHub::ExtensionText(link, text) if self.is_extension(link) => {
                self.memory.on_message(text.len());
                self.record(Way::Received, Peer::Extension, &text);
                self.feed(Input::ExtensionText(&text));
            }
            ToHub::ExtensionClosed(link) if self.is_extension(link) => {
                self.extension = None;
                self.memory.on_link_closed();
                self.feed(Input::ExtensionClosed);
            }
            // Any message makes the hub publish who uses what.
            ToHub::StatusChanged | ToHub::ExtensionText(..) | ToHub::ExtensionClosed(_) => {}
            ToHub::LaunchFailed(reason) => self.feed(Input::LaunchFailed(&reason)),
            ToHub::FilePlaced(placed) => self.feed(Input::FilePlaced(placed)),
            ToHub::Stop(done) => {
                self.feed(Input::Stopping);
                let _ = done.send(());
            }
            ToHub::Describe(reply) => {
                let browser = self.core.browser().cloned();
                let pages = if browser.is_some() {
                    self.core.pages()
                } else {
                    Vec::new()
                };
                let _ = reply.send(Description { browser, pages });
            }
        }
    }

    fn is_extension(&self, link: u64) -> bool {
        self.extension
            .as_ref()
            .is_some_and(|extension| extension.link == link)
    }

    fn feed(&mut self, input: Input<'_>) {
        self.core.handle(self.started.elapsed(), input);
        while let Some(output) = self.core.poll_output() {
            self.deliver(output);
        }
    }

    fn deliver(&mut self, output: Output) {
        match output {
            Output::ToClient(client, text) => self.send_to_client(client, text),
            Output::ToExtension(text) => self.send_to_extension(text),
            Output::CloseClient(client, reason) => {
                let reason = match reason {
                    CloseReason::Requested => "Disconnected as requested; the browser stays open.",
                    CloseReason::TargetClosed => "The target was closed.",
                };
                if let Some(outbox) = self.clients.get(&client) {
                    outbox.close(NORMAL, reason);
                }
            }
            Output::Answered(answered) => self.log_answer(&answered),
            Output::CloseExtension(reason) => self.close_extension(&reason),
            Output::PlaceFile(placement) => self.place_file(placement),
            Output::LaunchBrowser => {
                let wants = HubReport::WantsBrowser(self.own_sender.clone());
                // Nobody receives it only if the relay is stopping.
                let _ = self.reports.send(wants);
            }
            Output::ClosePort => {
                let _ = self.reports.send(HubReport::ClosePort);
            }
        }
    }

    /// Copying a file can take long, so another thread does it.
    fn place_file(&self, placement: Placement) {
        let hub = self.own_sender.clone();
        tokio::spawn(async move {
            let placed = placed_file::place_on_thread(placement, placed_file::place).await;
            // Nobody receives it only if the relay is stopping.
            if let Some(hub) = hub.upgrade() {
                let _ = hub.send(ToHub::FilePlaced(placed)).await;
            }
        });
    }

    fn record(&self, way: Way, peer: Peer, text: &str) {
        self.observer.message(&self.connections, way, peer, text);
    }

    fn log_answer(&self, answered: &Answered) {
        let session = answered.session_id.as_ref();
        let answer = Answer {
            client: answered.client_id,
            session: session.map(|session| session as &dyn Display),
            method: answered.method.as_str(),
            took: answered.took,
            error: answered.error,
        };
        self.observer.answered(&self.connections, &answer);
    }

    fn send_to_client(&self, client: ClientId, text: String) {
        self.record(Way::Sent, Peer::Client(client), &text);
        if let Some(outbox) = self.clients.get(&client) {
            outbox.push(text);
        }
    }

    fn send_to_extension(&self, text: String) {
        self.record(Way::Sent, Peer::Extension, &text);
        // If it does not read, its link sends `ExtensionClosed`, which fails the commands that were
        // lost.
        if let Some(Extension { outbox, .. }) = &self.extension {
            outbox.push(text);
        }
    }

    /// Closes only the core's link: another extension may hold the slot by now.
    fn close_extension(&mut self, reason: &str) {
        let Some(Extension { link, outbox, .. }) = self.extension.take() else {
            return;
        };
        tracing::warn!(reason, "disconnecting the extension");
        self.connections.free_extension_slot(link);
        outbox.abort(POLICY_VIOLATION, reason);
    }
}
