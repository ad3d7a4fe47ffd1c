//! The registry's entries of browsers with a debugging port of their own.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::connections::Connections;
use super::{Entry, Registry};
use crate::config::BrowserMode;
use crate::direct;
use crate::error::Error;
use crate::hub::ToHub;

impl Registry {
    /// Adds a browser that is used through its own debugging port. With `--browsers one`, it takes
    /// the only entry, and whoever is connected there is disconnected.
    pub fn add_direct(&self, browser: Arc<direct::Browser>) {
        let connections = Connections::new(self.client_mode, self.last_id.clone());
        let connections = Arc::new(connections.without_tabs());
        let on_failure = match self.mode {
            _ if browser.is_launchable() => direct::OnFailure::LaunchForNextClient,
            BrowserMode::One => direct::OnFailure::EndRelay(self.reports.clone()),
            BrowserMode::Many => direct::OnFailure::WaitForBrowser,
        };
        let hub = direct::start(direct::Start {
            browser: browser.clone(),
            connections: connections.clone(),
            limits: self.limits,
            observer: self.observer.clone(),
            on_failure,
        });
        let mut entries = self.lock();
        if self.mode == BrowserMode::One {
            for entry in entries.drain(..) {
                entry.connections.make_way();
            }
        }
        entries.push(Entry {
            hub,
            connections,
            direct: Some(browser),
        });
    }

    /// Removes a browser that was added with `add_direct`, and disconnects its clients.
    pub async fn remove_direct(&self, browser: &Arc<direct::Browser>) {
        let is_own = |entry: &Entry| {
            let own = entry.direct.as_ref();
            own.is_some_and(|own| Arc::ptr_eq(own, browser))
        };
        let removed: Vec<Entry> = {
            let mut entries = self.lock();
            let removed = entries.extract_if(.., |entry| is_own(entry)).collect();
            if self.mode == BrowserMode::One && entries.is_empty() {
                entries.push(self.new_entry());
            }
            removed
        };
        for Entry {
            hub, connections, ..
        } in removed
        {
            // The hub must not launch the browser again.
            let (done, stopped) = oneshot::channel();
            if hub.send(ToHub::Stop(done)).await.is_ok() {
                let _ = stopped.await;
            }
            connections.close_all("The browser was stopped.");
        }
    }

    /// Fails if a browser that the relay did not launch has the only entry.
    pub fn check_launchable(&self) -> Result<(), Error> {
        let entries = self.lock();
        let direct = entries.iter().find_map(|entry| entry.direct.as_ref());
        match direct {
            Some(browser) if self.mode == BrowserMode::One && !browser.is_launchable() => {
                Err(Error::OnlyBrowserUrl { url: browser.url() })
            }
            _ => Ok(()),
        }
    }

    /// Whether a browser that the relay did not launch, and uses through its debugging port, has this
    /// name.
    pub fn has_url_named(&self, name: &str) -> bool {
        let entries = self.lock();
        let mut direct = entries.iter().filter_map(|entry| entry.direct.as_ref());
        direct.any(|browser| !browser.is_launchable() && browser.name.eq_ignore_ascii_case(name))
    }
}
