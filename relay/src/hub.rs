//! The hub: the one task that owns the core. Links send it what their sockets receive, and it puts
//! the core's outputs into the links' outboxes. It never waits for a socket.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tabwire_core::ids::ClientId;
use tabwire_core::{CloseReason, Core, Input, Now, Output, PageSummary, wire};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::link::outbox::{Outbox, Overrun};
use crate::memory::Memory;
use crate::registry::Registry;

/// How many messages may be queued for the hub. A link whose message does not fit stops reading
/// until it does.
const INBOX_SIZE: usize = 256;

// WebSocket close codes.
const NORMAL: u16 = 1000;
const POLICY_VIOLATION: u16 = 1008;
const TRY_AGAIN_LATER: u16 = 1013;

pub enum ToHub {
    ClientOpened(ClientId, Outbox),
    ClientText(ClientId, String),
    ClientClosed(ClientId),
    ExtensionOpened(u64, Outbox),
    ExtensionText(u64, String),
    ExtensionClosed(u64),
    /// The relay stops: detach from all tabs before the links are closed.
    Stop(oneshot::Sender<()>),
    /// Answers `/json/*`.
    Describe(oneshot::Sender<Description>),
}

pub struct Description {
    pub browser: Option<wire::Hello>,
    pub pages: Vec<PageSummary>,
}

pub type HubSender = mpsc::Sender<ToHub>;

pub fn start(config: tabwire_core::Config, registry: Arc<Registry>) -> (HubSender, JoinHandle<()>) {
    let (sender, inbox) = mpsc::channel(INBOX_SIZE);
    let core = Core::new(config);
    let hub = Hub {
        core,
        registry,
        inbox,
        started: Instant::now(),
        clients: HashMap::new(),
        extension: None,
        memory: Memory::watch(),
    };
    (sender, tokio::spawn(hub.run()))
}

struct Hub {
    core: Core,
    registry: Arc<Registry>,
    inbox: mpsc::Receiver<ToHub>,
    started: Instant,
    /// A client enters when its socket is open and leaves when it is closed.
    clients: HashMap<ClientId, Outbox>,
    /// The link that the core uses as the extension. Messages of earlier links are ignored.
    extension: Option<(u64, Outbox)>,
    memory: Memory,
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
            let deadline = self.core.poll_timeout();
            if timer_deadline != Some(deadline) {
                timer_deadline = Some(deadline);
                let elapsed = deadline.unwrap_or_else(|| self.started.elapsed() + FAR);
                timer.as_mut().reset((self.started + elapsed).into());
            }
            tokio::select! {
                // Deadlines can wait for messages, but not the other way round.
                biased;
                message = self.inbox.recv() => match message {
                    Some(message) => self.on_messages(message),
                    None => return,
                },
                () = timer.as_mut() => {
                    timer_deadline = None;
                    self.feed(Input::TimeoutReached);
                }
            }
            self.publish_counts();
        }
    }

    /// Handles everything that is queued, up to a limit, so that deadlines are checked in between.
    fn on_messages(&mut self, first: ToHub) {
        self.on_message(first);
        for _ in 1..INBOX_SIZE {
            match self.inbox.try_recv() {
                Ok(message) => self.on_message(message),
                Err(_) => return,
            }
        }
    }

    fn on_message(&mut self, message: ToHub) {
        match message {
            ToHub::ClientOpened(client, outbox) => {
                self.clients.insert(client, outbox);
                self.feed(Input::ClientOpened(client));
            }
            ToHub::ClientText(client, text) => {
                self.memory.on_message(text.len());
                self.feed(Input::ClientText(client, &text));
            }
            ToHub::ClientClosed(client) => {
                self.clients.remove(&client);
                self.memory.on_link_closed();
                self.feed(Input::ClientClosed(client));
            }
            ToHub::ExtensionOpened(link, outbox) => {
                self.extension = Some((link, outbox));
                self.feed(Input::ExtensionOpened);
            }
            ToHub::ExtensionText(link, text) if self.is_extension(link) => {
                self.memory.on_message(text.len());
                self.feed(Input::ExtensionText(&text));
            }
            ToHub::ExtensionClosed(link) if self.is_extension(link) => {
                self.extension = None;
                self.memory.on_link_closed();
                self.feed(Input::ExtensionClosed);
            }
            ToHub::ExtensionText(..) | ToHub::ExtensionClosed(_) => {}
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
            .is_some_and(|(current, _)| *current == link)
    }

    fn feed(&mut self, input: Input<'_>) {
        self.core.handle(self.started.elapsed(), input);
        while let Some(output) = self.core.poll_output() {
            self.deliver(output);
        }
    }

    /// For `GET /`.
    fn publish_counts(&self) {
        let is_ready = self.core.browser().is_some();
        self.registry
            .extension_ready
            .store(is_ready, Ordering::Relaxed);
        self.registry.pages.store(
            if is_ready { self.core.page_count() } else { 0 },
            Ordering::Relaxed,
        );
    }

    fn deliver(&mut self, output: Output) {
        match output {
            Output::ToClient(client, text) => self.send_to_client(client, text),
            Output::ToExtension(text) => self.send_to_extension(text),
            Output::CloseClient(client, CloseReason::Requested) => {
                if let Some(outbox) = self.clients.get(&client) {
                    outbox.close(NORMAL, "Disconnected as requested; the browser stays open.");
                }
            }
            Output::CloseExtension(reason) => self.close_extension(&reason),
        }
    }

    fn send_to_client(&self, client: ClientId, text: String) {
        if let Some(outbox) = self.clients.get(&client)
            && outbox.push(text) == Err(Overrun)
        {
            tracing::warn!(%client, "client does not read its messages; disconnecting");
            outbox.abort(
                TRY_AGAIN_LATER,
                "Too much unread data. Read faster, or request less.",
            );
        }
    }

    fn send_to_extension(&self, text: String) {
        if let Some((_, outbox)) = &self.extension
            && outbox.push(text) == Err(Overrun)
        {
            tracing::warn!("extension does not read its messages; disconnecting");
            // Its link then sends `ExtensionClosed`, which fails the commands that were lost.
            outbox.abort(TRY_AGAIN_LATER, "Too much unread data.");
        }
    }

    /// Closes only the core's link: another extension may hold the slot by now.
    fn close_extension(&mut self, reason: &str) {
        let Some((link, outbox)) = self.extension.take() else {
            return;
        };
        tracing::warn!(reason, "disconnecting the extension");
        self.registry.free_extension_slot(link);
        outbox.abort(POLICY_VIOLATION, reason);
    }
}
