//! The registry's entries of browsers with a debugging port of their own.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Entry, Registry};
use crate::config::BrowserMode;
use crate::direct;
use crate::error::Error;
use crate::hub::ToHub;

impl Registry {
    /// Adds a browser that is used through its own debugging port. With `--browsers one`, it takes
    /// the only entry, and whoever is connected there is disconnected.
    pub fn add_direct(&self, browser: Arc<direct::Browser>) -> Entry {
        let connections = Arc::new(self.new_connections().without_tabs());
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
        let entry = Entry {
            id: super::new_id(),
            hub,
            connections,
            direct: Some(browser),
        };
        entries.push(entry.clone());
        entry
    }

    /// Removes a browser that was added with `add_direct`, and disconnects its clients. Another browser
    /// may have taken its place already.
    pub async fn remove_direct(&self, entry: &Entry) {
        self.no_longer_prefer_direct(entry);
        {
            let mut entries = self.lock();
            entries.retain(|other| !Arc::ptr_eq(&other.connections, &entry.connections));
            if self.mode == BrowserMode::One && entries.is_empty() {
                entries.push(self.new_entry());
            }
        }
        // The hub must not launch the browser again.
        let (done, stopped) = oneshot::channel();
        if entry.hub.send(ToHub::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
        entry.connections.close_all("The browser was stopped.");
    }

    /// Whether another browser has taken the place of one that was added with `add_direct`.
    pub fn is_displaced(&self, entry: &Entry) -> bool {
        let is_own = |other: &Entry| Arc::ptr_eq(&other.connections, &entry.connections);
        !self.lock().iter().any(is_own)
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
