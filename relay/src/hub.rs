//! The hub: the one task that owns the core. Links put into its inbox what their sockets said; it hands the core's
//! outputs to the links' outboxes. It never waits for a socket.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tabwire_core::ids::ClientId;
use tabwire_core::{CloseReason, Core, Input, Now, Output, PageSummary, wire};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::memory::Memory;
use crate::outbox::{Outbox, Overrun};
use crate::registry::Registry;

/// How many messages may wait for the hub. A link whose message does not fit reads no further meanwhile.
const INBOX: usize = 256;

pub enum ToHub {
    ClientOpened(ClientId, Outbox),
    ClientText(ClientId, String),
    ClientClosed(ClientId),
    ExtensionOpened(u64, Outbox),
    ExtensionText(u64, String),
    ExtensionClosed(u64),
    /// The relay stops; the browser gets its tabs back before the links are closed.
    Stop(oneshot::Sender<()>),
    /// What `/json/*` has to tell.
    Describe(oneshot::Sender<Description>),
}

pub struct Description {
    pub browser: Option<wire::Hello>,
    pub pages: Vec<PageSummary>,
}

pub type HubSender = mpsc::Sender<ToHub>;

pub fn start(config: tabwire_core::Config, registry: Arc<Registry>) -> (HubSender, JoinHandle<()>) {
    let (sender, inbox) = mpsc::channel(INBOX);
    let core = Core::new(config);
    let hub = Hub {
        core,
        registry,
        inbox,
        started: Instant::now(),
        clients: HashMap::new(),
        extension: None,
        memory: Memory::look_after(),
    };
    (sender, tokio::spawn(hub.run()))
}

struct Hub {
    core: Core,
    registry: Arc<Registry>,
    inbox: mpsc::Receiver<ToHub>,
    started: Instant,
    /// A client enters when its socket is open and leaves when it is done.
    clients: HashMap<ClientId, Outbox>,
    /// The link that the core knows as the extension. Words of one before it are passed over.
    extension: Option<(u64, Outbox)>,
    memory: Memory,
}

impl Hub {
    async fn run(mut self) {
        /// What the timer is set to when nothing is due.
        const FAR: Duration = Duration::from_secs(86_400);
        let mut timer = pin!(tokio::time::sleep(FAR));
        // `None` when it has gone off, and has to be set even where nothing is due: it would go off for ever.
        let mut set_to: Option<Option<Now>> = None;
        loop {
            let due = self.core.poll_timeout();
            if set_to != Some(due) {
                set_to = Some(due);
                timer.as_mut().reset(
                    (self.started + due.unwrap_or_else(|| self.started.elapsed() + FAR)).into(),
                );
            }
            tokio::select! {
                // Messages first: the clock can wait for them, not they for the clock.
                biased;
                message = self.inbox.recv() => match message {
                    Some(message) => self.on_messages(message),
                    None => return,
                },
                () = timer.as_mut() => {
                    set_to = None;
                    self.feed(Input::TimeoutReached);
                }
            }
            self.publish_counts();
        }
    }

    /// All that wait are handled at once; then the clock has its turn.
    fn on_messages(&mut self, first: ToHub) {
        self.on_message(first);
        for _ in 1..INBOX {
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
            ToHub::Describe(answer) => {
                let browser = self.core.browser().cloned();
                let pages = if browser.is_some() {
                    self.core.pages()
                } else {
                    Vec::new()
                };
                let _ = answer.send(Description { browser, pages });
            }
        }
    }

    fn is_extension(&self, link: u64) -> bool {
        self.extension
            .as_ref()
            .is_some_and(|(present, _)| *present == link)
    }

    fn feed(&mut self, input: Input<'_>) {
        self.core.handle(self.started.elapsed(), input);
        while let Some(output) = self.core.poll_output() {
            self.put_out(output);
        }
    }

    /// What `GET /` tells.
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

    fn put_out(&mut self, output: Output) {
        const TRY_AGAIN_LATER: u16 = 1013;
        match output {
            Output::ToClient(client, text) => {
                let Some(outbox) = self.clients.get(&client) else {
                    return;
                };
                if outbox.push(text) == Err(Overrun) {
                    tracing::warn!(%client, "does not read what it is sent; closed");
                    outbox.abort(
                        TRY_AGAIN_LATER,
                        "too much is waiting unread; read faster, or ask for less",
                    );
                }
            }
            Output::ToExtension(text) => {
                let Some((_, outbox)) = &self.extension else {
                    return;
                };
                if outbox.push(text) == Err(Overrun) {
                    tracing::warn!("the extension does not read what it is sent; closed");
                    // The link's end comes back as `ExtensionClosed`, and answers what was lost.
                    outbox.abort(TRY_AGAIN_LATER, "too much is waiting unread");
                }
            }
            Output::CloseClient(client, CloseReason::Requested) => {
                if let Some(outbox) = self.clients.get(&client) {
                    outbox.close(1000, "closed as asked; the browser stays open");
                }
            }
            Output::CloseExtension(reason) => self.close_extension(&reason),
        }
    }

    /// Only the link that the core speaks of: another extension may have the slot by now.
    fn close_extension(&mut self, reason: &str) {
        let Some((link, outbox)) = self.extension.take() else {
            return;
        };
        tracing::warn!(reason, "extension dropped");
        self.registry.unseat_extension(link);
        outbox.abort(1008, reason);
    }
}
