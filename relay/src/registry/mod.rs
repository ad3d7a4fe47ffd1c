//! Who is connected: the browsers, each with its own hub, its extension and its clients. HTTP
//! handlers read it, while the hubs own the protocol state.
//!
//! With `--browsers one` there is a single entry, which one browser at a time takes. With `many`
//! there is an entry for each browser, from its first connection until it is unpaired. A browser
//! with a debugging port of its own has an entry too, and no extension.

pub mod clients;
pub mod connections;
mod extension;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::{PairingId, Pairings};
use tokio::sync::mpsc;

use self::connections::Connections;
pub use self::extension::{ExtensionSlot, Identity};
use crate::config::{BrowserMode, ClientMode};
use crate::direct;
use crate::error::Error;
use crate::hub::{self, HubSender};

/// The name of a browser that has not been given one yet.
const UNNAMED: &str = "another browser";

pub struct Registry {
    mode: BrowserMode,
    client_mode: ClientMode,
    core: tabwire_core::Config,
    entries: Mutex<Vec<Entry>>,
    /// The last id of a link. Ids are unique among all browsers.
    last_id: Arc<AtomicU64>,
    /// Only this pairing may connect with `--browsers one`, and with `many` it is used by clients
    /// that name no browser.
    preferred: Option<PairingId>,
    failures: mpsc::UnboundedSender<Error>,
}

/// One browser's hub, and who is connected to it.
#[derive(Clone)]
pub struct Entry {
    pub hub: HubSender,
    pub connections: Arc<Connections>,
    /// The browser, if it is used through its own debugging port.
    pub direct: Option<Arc<direct::Browser>>,
}

/// Why no browser was found for a client.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    NoBrowser,
    Unknown { name: String, names: Vec<String> },
    Ambiguous { names: Vec<String> },
}

impl Registry {
    /// Also returns where failed hubs are reported. Nothing works without its hub, so the caller
    /// must watch it.
    pub fn new(
        (mode, client_mode): (BrowserMode, ClientMode),
        core: tabwire_core::Config,
        preferred: Option<PairingId>,
    ) -> (Self, mpsc::UnboundedReceiver<Error>) {
        let (failures, failed) = mpsc::unbounded_channel();
        let registry = Self {
            mode,
            client_mode,
            core,
            entries: Mutex::default(),
            last_id: Arc::default(),
            preferred,
            failures,
        };
        if mode == BrowserMode::One {
            let entry = registry.new_entry();
            registry.lock().push(entry);
        }
        (registry, failed)
    }

    fn new_entry(&self) -> Entry {
        let connections = Arc::new(Connections::new(self.client_mode, self.last_id.clone()));
        let mut core = self.core.clone();
        // Ids of one browser must not be guessable from those of another.
        core.seed ^= rand::random::<u64>();
        let hub = hub::start(core, connections.clone(), self.failures.clone());
        Entry {
            hub,
            connections,
            direct: None,
        }
    }

    /// Adds a browser that is used through its own debugging port. With `--browsers one`, it takes
    /// the only entry.
    pub fn add_direct(&self, browser: direct::Browser, limits: direct::Limits) {
        let browser = Arc::new(browser);
        let connections = Arc::new(Connections::new(self.client_mode, self.last_id.clone()));
        let on_failure = match self.mode {
            BrowserMode::One => direct::OnFailure::EndRelay(self.failures.clone()),
            BrowserMode::Many => direct::OnFailure::WaitForBrowser,
        };
        let hub = direct::start(direct::Start {
            browser: browser.clone(),
            connections: connections.clone(),
            limits,
            on_failure,
        });
        let mut entries = self.lock();
        if self.mode == BrowserMode::One {
            entries.clear();
        }
        entries.push(Entry {
            hub,
            connections,
            direct: Some(browser),
        });
    }

    /// Takes the slot of a browser that has proven who it is, or names the browser that holds it.
    pub fn take_extension_slot(
        &self,
        identity: Identity,
        take_over: bool,
    ) -> Result<(Entry, ExtensionSlot), String> {
        let is_foreign = |wanted: &PairingId| identity.pairing.as_ref() != Some(wanted);
        if self.mode == BrowserMode::One && self.preferred.as_ref().is_some_and(is_foreign) {
            return Err("the browser that `tabwire up` started".to_owned());
        }
        let entry = self.entry_for(&identity.install_id);
        if let Some(direct) = &entry.direct {
            // Nobody can take its place: an extension could not serve its clients.
            return Err(direct.name.clone());
        }
        let slot = Connections::take_extension_slot(&entry.connections, identity, take_over)
            .map_err(|holder| holder.unwrap_or_else(|| UNNAMED.to_owned()))?;
        Ok((entry, slot))
    }

    fn entry_for(&self, install_id: &str) -> Entry {
        let mut entries = self.lock();
        let found = entries
            .iter()
            .find(|entry| self.mode == BrowserMode::One || entry.connections.is_of(install_id));
        if let Some(entry) = found {
            return entry.clone();
        }
        let entry = self.new_entry();
        entry.connections.reserve_for(install_id);
        entries.push(entry.clone());
        entry
    }

    /// The browser that a client asks for. Without a name, it is the only one.
    pub fn find(&self, name: Option<&str>) -> Result<Entry, NotFound> {
        let entries = self.entries();
        if let Some(name) = name {
            let has_name = |entry: &&Entry| {
                let own = entry.connections.browser_name();
                own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            };
            return entries
                .iter()
                .find(has_name)
                .cloned()
                .ok_or_else(|| NotFound::Unknown {
                    name: name.to_owned(),
                    names: names(&entries),
                });
        }
        if let [only] = entries.as_slice() {
            return Ok(only.clone());
        }
        let is_preferred = |entry: &&Entry| {
            self.preferred.is_some() && entry.connections.pairing() == self.preferred
        };
        if let Some(preferred) = entries.iter().find(is_preferred) {
            return Ok(preferred.clone());
        }
        let connected: Vec<Entry> = entries
            .into_iter()
            .filter(|entry| entry.connections.extension_link().is_some())
            .collect();
        match connected.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(NotFound::NoBrowser),
            several => Err(NotFound::Ambiguous {
                names: names(several),
            }),
        }
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    pub fn client_count(&self) -> usize {
        let entries = self.entries();
        entries
            .iter()
            .map(|entry| entry.connections.client_count())
            .sum()
    }

    /// Applies changed pairings: renames browsers, and disconnects those that are no longer paired.
    pub fn on_pairings_changed(&self, pairings: &Pairings) {
        for entry in self.entries() {
            entry.connections.on_pairings_changed(pairings);
        }
        if self.mode == BrowserMode::Many {
            self.lock()
                .retain(|entry| !entry.connections.is_abandoned(pairings));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of these browsers, for an error message.
fn names(entries: &[Entry]) -> Vec<String> {
    let names = entries
        .iter()
        .filter_map(|entry| entry.connections.browser_name());
    names.collect()
}

#[cfg(test)]
mod tests;
