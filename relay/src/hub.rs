//! The hub: the one task that owns the core. Links put into its inbox what their sockets said; it hands the core's
//! outputs to the links' outboxes. It never waits for a socket.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use tabwire_core::ids::ClientId;
use tabwire_core::{CloseReason, Core, Input, Output, PageSummary, wire};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::outbox::Overrun;
use crate::registry::Registry;

/// How many messages may wait for the hub. A link whose message does not fit reads no further meanwhile.
const INBOX: usize = 256;

pub enum ToHub {
    ClientOpened(ClientId),
    ClientText(ClientId, Utf8Bytes),
    ClientClosed(ClientId),
    ExtensionOpened(u64),
    ExtensionText(u64, Utf8Bytes),
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

pub fn start(registry: Arc<Registry>) -> (HubSender, JoinHandle<()>) {
    let (sender, inbox) = mpsc::channel(INBOX);
    let core = Core::new(tabwire_core::Config::new(rand::random()));
    let hub = Hub { core, registry, inbox, started: Instant::now(), extension: None };
    (sender, tokio::spawn(hub.run()))
}

struct Hub {
    core: Core,
    registry: Arc<Registry>,
    inbox: mpsc::Receiver<ToHub>,
    started: Instant,
    /// The link that the core knows as the extension. Words of one before it are passed over.
    extension: Option<u64>,
}

impl Hub {
    async fn run(mut self) {
        loop {
            let due = self.core.poll_timeout().map(|due| tokio::time::Instant::from_std(self.started + due));
            let timeout = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Messages first: the clock can wait for them, not they for the clock.
                biased;
                message = self.inbox.recv() => match message {
                    Some(message) => self.on_message(message),
                    None => return,
                },
                () = timeout => self.feed(Input::TimeoutReached),
            }
        }
    }

    fn on_message(&mut self, message: ToHub) {
        match message {
            ToHub::ClientOpened(client) => self.feed(Input::ClientOpened(client)),
            ToHub::ClientText(client, text) => self.feed(Input::ClientText(client, &text)),
            ToHub::ClientClosed(client) => self.feed(Input::ClientClosed(client)),
            ToHub::ExtensionOpened(link) => {
                self.extension = Some(link);
                self.feed(Input::ExtensionOpened);
            }
            ToHub::ExtensionText(link, text) if self.extension == Some(link) => self.feed(Input::ExtensionText(&text)),
            ToHub::ExtensionClosed(link) if self.extension == Some(link) => {
                self.extension = None;
                self.feed(Input::ExtensionClosed);
            }
            ToHub::ExtensionText(..) | ToHub::ExtensionClosed(_) => {}
            ToHub::Stop(done) => {
                self.feed(Input::Stopping);
                let _ = done.send(());
            }
            ToHub::Describe(answer) => {
                let browser = self.core.browser().cloned();
                let pages = if browser.is_some() { self.core.pages() } else { Vec::new() };
                let _ = answer.send(Description { browser, pages });
            }
        }
    }

    fn feed(&mut self, input: Input<'_>) {
        self.core.handle(self.started.elapsed(), input);
        while let Some(output) = self.core.poll_output() {
            self.put_out(output);
        }
        let is_ready = self.core.browser().is_some();
        self.registry.extension_ready.store(is_ready, Ordering::Relaxed);
        self.registry.pages.store(if is_ready { self.core.page_count() } else { 0 }, Ordering::Relaxed);
    }

    fn put_out(&mut self, output: Output) {
        match output {
            Output::ToClient(client, text) => {
                let Some(outbox) = self.registry.client_outbox(client) else { return };
                if outbox.push(text) == Err(Overrun) {
                    tracing::warn!(%client, "does not read what it is sent; closed");
                    self.registry.drop_client(client);
                }
            }
            Output::ToExtension(text) => {
                let Some(outbox) = self.extension.and_then(|link| self.registry.extension_outbox(link)) else { return };
                if outbox.push(text) == Err(Overrun) {
                    tracing::warn!("the extension does not read what it is sent; closed");
                    // The link's end comes back as `ExtensionClosed`, and answers what was lost.
                    outbox.abort(1013, "too much is waiting unread");
                }
            }
            Output::CloseClient(client, CloseReason::Asked) => {
                if let Some(outbox) = self.registry.client_outbox(client) {
                    outbox.close(1000, "closed as asked; the browser stays open");
                }
            }
            Output::CloseExtension(reason) => self.close_extension(&reason),
        }
    }

    /// Only the link that the core speaks of: another extension may have the slot by now.
    fn close_extension(&mut self, reason: &str) {
        let Some(link) = self.extension.take() else { return };
        tracing::warn!(reason, "extension dropped");
        if let Some(outbox) = self.registry.unseat_extension(link).and_then(|holder| holder.outbox) {
            outbox.abort(1008, reason);
        }
    }
}
