//! Looks for a browser that is gone, and follows up on what was found.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tabwire_core::ids::ClientId;

use super::{Hub, INTERNAL_ERROR, OnFailure, Recovery};
use crate::direct::browser::{RETRY_DELAY, Recovered};
use crate::direct::client::{Client, Link};
use crate::direct::runtime::State;
use crate::direct::upstream::Loss;
use crate::error::Error;
use crate::hub::HubReport;
use crate::registry::Identity;
use crate::registry::connections::Connections;

/// How often a browser that is gone is looked for.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

impl Hub {
    pub(super) fn start_recovery(&mut self) {
        if self.runtime.on_request() {
            self.recovery_started = Some(Instant::now());
            self.recover_after(Duration::ZERO);
        }
    }

    fn recover_after(&self, delay: Duration) {
        self.log.recovery_started(&self.runtime);
        let (browser, events) = (self.browser.clone(), self.recovery_events.clone());
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = events.send(browser.recover().await);
        });
    }

    /// The browser was found, but this client's new connection to it is lost again. A browser that
    /// has just started may refuse one, so this is tried again until the time for the recovery is up.
    pub(super) fn on_not_restored(&mut self, id: ClientId, loss: &Loss) {
        let is_early = |started: Instant| started.elapsed() < self.browser.recovery_timeout;
        if self.recovery_started.is_some_and(is_early) {
            // Otherwise, another client's connection was lost before, and this one is restored with it.
            if self.runtime.on_request() {
                self.recover_after(RETRY_DELAY);
            }
            return;
        }
        let url = self.browser.url();
        let reason = loss.reason.clone();
        let error = Error::BrowserPort { url, reason };
        let is_usable = |client: &Client| !matches!(client.link, Link::Lost | Link::Closed);
        if self.clients.values().any(is_usable)
            && let Some(client) = self.clients.get_mut(&id)
        {
            // The others have a connection, or are about to get one.
            let reason = format!("The connection to the browser was lost again. {error}");
            return client.close(INTERNAL_ERROR, &reason);
        }
        self.on_recovery_failed(error);
    }

    pub(super) fn on_recovery(&mut self, recovery: Recovery) {
        match recovery {
            Ok(recovered) => self.on_found(Some(recovered)),
            Err(error) => self.on_recovery_failed(error),
        }
    }

    /// The browser's port answers, for the first time or again.
    pub(super) fn on_found(&mut self, recovered: Option<Recovered>) {
        if !self.runtime.on_found() {
            return;
        }
        if let Some(probe) = self.probe.take() {
            probe.abort();
        }
        if self.slot.is_none() {
            let identity = Identity {
                install_id: format!("direct:{}", self.browser.name),
                pairing: None,
                name: Some(self.browser.name.clone()),
            };
            let taken = Connections::take_extension_slot(&self.connections, identity, false);
            self.slot = taken.ok();
        }
        self.publish();
        self.log.connected(&self.runtime, recovered);
        let lost = self.clients.iter();
        let lost = lost.filter(|(_, client)| matches!(client.link, Link::Lost));
        let lost = lost.map(|(id, client)| (*id, client.target().map(str::to_owned)));
        let lost: Vec<(ClientId, Option<String>)> = lost.collect();
        for (id, target) in lost {
            let link = self.open_link(id, target.as_deref(), true);
            if let Some(client) = self.clients.get_mut(&id) {
                client.link = link;
            }
        }
        self.count_pages();
    }

    fn on_recovery_failed(&mut self, error: Error) {
        if self.runtime.state() == State::Closing {
            return;
        }
        self.runtime.on_recovery_failed();
        self.log.recovery_failed(&self.runtime, &error);
        self.publish();
        let reason = format!("The browser is gone. {error}");
        for client in self.clients.values_mut() {
            if !matches!(client.link, Link::Open(_)) {
                client.close(INTERNAL_ERROR, &reason);
            }
        }
        match &self.on_failure {
            OnFailure::EndRelay(reports) => {
                let reason = error.to_string();
                let _ = reports.send(HubReport::Ended(Error::Recovery { reason }));
            }
            OnFailure::WaitForBrowser => {
                self.slot = None;
                self.probe();
            }
            OnFailure::LaunchForNextClient => {}
        }
    }

    /// Looks for a browser that is gone, until it is back.
    fn probe(&mut self) {
        if self.probe.is_some() {
            return;
        }
        tracing::debug!(browser = self.browser.name, "waiting for a browser");
        let (browser, events) = (self.browser.clone(), self.recovery_events.clone());
        let probe = tokio::spawn(async move {
            while !events.is_closed() {
                tokio::time::sleep(PROBE_INTERVAL).await;
                if browser.version().await.is_ok() {
                    let _ = events.send(Ok(Recovered::Attached));
                    return;
                }
            }
        });
        self.probe = Some(probe);
    }

    /// For `GET /`.
    pub(super) fn publish(&self) {
        let is_connected = self.runtime.state() == State::Connected;
        let connections = &self.connections;
        connections
            .extension_ready
            .store(is_connected, Ordering::Relaxed);
        if !is_connected {
            connections.pages.store(0, Ordering::Relaxed);
        }
    }

    /// For `GET /`, which must not ask the browser for everyone who asks.
    pub(super) fn count_pages(&self) {
        let (browser, connections) = (self.browser.clone(), self.connections.clone());
        tokio::spawn(async move {
            if let Ok(pages) = browser.pages().await {
                connections.pages.store(pages.len(), Ordering::Relaxed);
            }
        });
    }
}
