//! Who is connected: the browsers, each with its own hub, its extension and its clients. HTTP
//! handlers read it, while the hubs own the protocol state.
//!
//! With `--browsers one` there is a single entry, which browsers use one at a time. With `many`
//! there is an entry for each browser, from its first connection until it is unpaired. A browser
//! with a debugging port of its own has an entry too, and no extension.

pub mod clients;
pub mod connections;
mod direct_entries;
mod extension;
mod preferred;

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tabwire_home::open_port::OpenPortReport;
use tabwire_home::{InUse, PairingId, Pairings};
use tokio::sync::{Notify, mpsc};

use self::connections::Connections;
pub use self::extension::{ExtensionSlot, Identity};
use self::preferred::Preferred;
pub use self::preferred::Switch;
use crate::config::{BrowserMode, ClientMode};
use crate::direct;
use crate::hub::{self, HubReport, HubSender, ToHub};
use crate::log::Observer;

/// A folder can be loaded in any number of profiles. Each has a hub of its own.
const MAX_BROWSERS: usize = 64;
const DISCONNECT_POLL: Duration = Duration::from_millis(5);
/// How long the relay may take to notice that a browser's process has ended.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Registry {
    mode: BrowserMode,
    client_mode: ClientMode,
    core: tabwire_core::Config,
    limits: direct::Limits,
    /// For the hubs.
    pub observer: Observer,
    entries: Mutex<Vec<Entry>>,
    /// The last id of a link. Ids are unique among all browsers.
    last_id: Arc<AtomicU64>,
    /// Notified when a browser has taken its slot, and when it has listed its tabs.
    progress: Arc<Notify>,
    preferred: Mutex<Option<Preferred>>,
    /// The browser that takes the place of the one that is connected, as soon as it connects.
    expected: Mutex<Option<PairingId>>,
    /// The user has unpaired the preferred browser.
    pub preferred_unpaired: Notify,
    /// The port that needs no token, as people are shown it.
    open_port: Arc<Mutex<Option<OpenPortReport>>>,
    reports: mpsc::UnboundedSender<HubReport>,
}

/// One browser's hub, and who is connected to it.
#[derive(Clone)]
pub struct Entry {
    /// Names the browser in `/devtools/browser/ID`, as long as this relay runs.
    pub id: Arc<str>,
    pub hub: HubSender,
    pub connections: Arc<Connections>,
    /// The browser, if it is used through its own debugging port.
    pub direct: Option<Arc<direct::Browser>>,
}

/// Why a browser cannot connect.
#[derive(Debug, PartialEq, Eq)]
pub struct SlotTaken {
    /// The name of the browser that is connected, if it has one.
    pub holder: Option<String>,
    /// Whether the user may choose this browser instead.
    pub can_take_over: bool,
}

/// Why no browser was found for a client.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    NoBrowser,
    Unknown { name: String, names: Vec<String> },
    Ambiguous { names: Vec<String> },
}

impl Registry {
    /// Also returns what hubs report. Nothing works without its hub, so the caller must watch it.
    pub fn new(
        (mode, client_mode): (BrowserMode, ClientMode),
        core: tabwire_core::Config,
        limits: direct::Limits,
        observer: Observer,
    ) -> (Self, mpsc::UnboundedReceiver<HubReport>) {
        let (reports, reported) = mpsc::unbounded_channel();
        let registry = Self {
            mode,
            client_mode,
            core,
            limits,
            observer,
            entries: Mutex::default(),
            last_id: Arc::default(),
            progress: Arc::default(),
            preferred: Mutex::default(),
            expected: Mutex::default(),
            preferred_unpaired: Notify::new(),
            open_port: Arc::default(),
            reports,
        };
        if mode == BrowserMode::One {
            let entry = registry.new_entry();
            registry.lock().push(entry);
        }
        (registry, reported)
    }

    fn new_connections(&self) -> Connections {
        let open_port = self.open_port.clone();
        let progress = self.progress.clone();
        Connections::new(self.client_mode, self.last_id.clone(), progress, open_port)
    }

    fn new_entry(&self) -> Entry {
        let connections = Arc::new(self.new_connections());
        let mut core = self.core.clone();
        // Ids of one browser must not be guessable from those of another.
        core.seed ^= rand::random::<u64>();
        let hub = hub::start(
            core,
            connections.clone(),
            self.observer.clone(),
            self.reports.clone(),
        );
        Entry {
            id: new_id(),
            hub,
            connections,
            direct: None,
        }
    }

    /// Takes the slot of a browser that has proven who it is, or names the browser that holds it.
    pub fn take_extension_slot(
        &self,
        identity: Identity,
        take_over: bool,
    ) -> Result<(Entry, ExtensionSlot), SlotTaken> {
        self.switch_if_expected(identity.pairing.as_ref());
        if self.mode == BrowserMode::One && self.prefers_another(identity.pairing.as_ref()) {
            return Err(SlotTaken {
                holder: None,
                can_take_over: false,
            });
        }
        // Held until the slot is taken, so that the entry is not removed in between.
        let mut entries = self.lock();
        if entries.len() >= MAX_BROWSERS
            && !entries
                .iter()
                .any(|e| e.connections.is_of(&identity.install_id))
        {
            return Err(SlotTaken {
                holder: None,
                can_take_over: false,
            });
        }
        let entry = self.entry_for(&mut entries, &identity.install_id);
        if let Some(direct) = &entry.direct {
            // An extension could not serve its clients.
            return Err(SlotTaken {
                holder: Some(direct.name.clone()),
                can_take_over: false,
            });
        }
        let slot = Connections::take_extension_slot(&entry.connections, identity, take_over)
            .map_err(|holder| SlotTaken {
                holder,
                can_take_over: true,
            })?;
        Ok((entry, slot))
    }

    fn entry_for(&self, entries: &mut Vec<Entry>, install_id: &str) -> Entry {
        let found = entries
            .iter()
            .find(|entry| self.mode == BrowserMode::One || entry.connections.is_of(install_id));
        if let Some(entry) = found {
            return entry.clone();
        }
        let entry = self.new_entry();
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
            // One that was launched with its debugging port has the name that its extension had.
            let is_connected = |entry: &&Entry| entry.connections.extension_link().is_some();
            let mut named = entries.iter().filter(has_name);
            let connected = named.clone().find(is_connected);
            return connected
                .or_else(|| named.next())
                .cloned()
                .ok_or_else(|| NotFound::Unknown {
                    name: name.to_owned(),
                    names: names(&entries),
                });
        }
        if let [only] = entries.as_slice() {
            return Ok(only.clone());
        }
        if let Some(preferred) = entries.iter().find(|entry| self.is_preferred(entry)) {
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

    /// What clients call the browser of this pairing, once it has connected.
    pub fn name_of(&self, pairing: &PairingId) -> Option<String> {
        let entries = self.entries();
        let mut own = entries.iter().map(|entry| &entry.connections);
        let own = own.find(|own| own.pairing().as_ref() == Some(pairing))?;
        own.browser_name()
    }

    /// The pairing of the browser of this hub.
    pub fn pairing_of(&self, hub: &HubSender) -> Option<PairingId> {
        let entries = self.entries();
        let mut own = entries.iter().filter(|entry| entry.hub.same_channel(hub));
        own.next()?.connections.pairing()
    }

    /// The browser of this pairing is about to be stopped.
    pub fn close_clients_of(&self, pairing: &PairingId) {
        for entry in self.entries() {
            let reason = "The browser was stopped.";
            entry.connections.close_clients_of(pairing, reason);
        }
    }

    /// The browser of this pairing does not come back. Its clients may get another one.
    pub fn forget(&self, pairing: &PairingId) {
        for entry in self.entries() {
            entry.connections.forget_browser(pairing);
        }
    }

    /// Waits until the browser of this pairing has listed its tabs, and returns how many it has.
    pub async fn ready(&self, pairing: &PairingId) -> usize {
        let is_ready = |Entry { connections, .. }: &Entry| {
            connections.extension_ready.load(Ordering::Acquire)
                && connections.pairing().as_ref() == Some(pairing)
        };
        let ready = self.until(|| self.entries().into_iter().find(is_ready));
        ready.await.connections.pages.load(Ordering::Relaxed)
    }

    /// Waits until the browser that a client asks for has proven who it is. It may still have to list
    /// its tabs.
    pub async fn proven(&self, name: Option<&str>) -> Entry {
        let is_connected = |entry: &Entry| entry.connections.extension_link().is_some();
        self.until(|| self.find(name).ok().filter(is_connected))
            .await
    }

    /// Waits until something is found.
    async fn until<T>(&self, find: impl Fn() -> Option<T>) -> T {
        loop {
            let mut progress = pin!(self.progress.notified());
            // Before looking, so that nothing is missed.
            progress.as_mut().enable();
            if let Some(found) = find() {
                return found;
            }
            progress.await;
        }
    }

    /// Waits until the browser of this pairing has no connection, but not for long.
    pub async fn disconnected(&self, pairing: &PairingId) {
        let is_connected = || {
            self.entries().iter().any(|Entry { connections, .. }| {
                connections.extension_link().is_some()
                    && connections.pairing().as_ref() == Some(pairing)
            })
        };
        let disconnected = async {
            while is_connected() {
                tokio::time::sleep(DISCONNECT_POLL).await;
            }
        };
        let _ = tokio::time::timeout(DISCONNECT_TIMEOUT, disconnected).await;
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// The browsers that are connected, and the names of those that are not paired.
    pub fn in_use(&self) -> InUse {
        let entries = self.entries();
        let direct = entries.iter().filter_map(|entry| entry.direct.as_ref());
        let extensions = entries.iter().map(|entry| &entry.connections);
        InUse {
            names: direct.map(|browser| browser.name.clone()).collect(),
            connected: extensions
                .filter_map(|own| own.connected_install_id())
                .collect(),
        }
    }

    /// How many clients are connected. The sockets of one program are one client.
    pub fn client_count(&self) -> usize {
        let entries = self.entries();
        let reports = entries
            .iter()
            .map(|e| e.connections.clients.report(None, false));
        reports.map(|report| report.clients).sum()
    }

    /// The port that needs no token, while it is open.
    pub fn open_port(&self) -> Option<OpenPortReport> {
        lock(&self.open_port).clone()
    }

    /// The port that needs no token has been opened or closed.
    pub fn show_open_port(&self, report: Option<OpenPortReport>) {
        *lock(&self.open_port) = report;
        for entry in self.entries() {
            // A hub that has too much to do for this message looks at it soon.
            entry.hub.try_send(ToHub::StatusChanged);
        }
    }

    /// Gives renamed browsers their name, and disconnects those that are no longer paired.
    pub fn apply_pairings(&self, pairings: &Pairings) {
        let mut entries = self.lock();
        for entry in entries.iter() {
            entry.connections.apply_pairings(pairings);
        }
        self.check_preferred(pairings);
        if self.mode == BrowserMode::Many {
            entries.retain(|entry| !entry.connections.is_abandoned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        lock(&self.entries)
    }
}

/// In the form that Chrome's own ids have.
fn new_id() -> Arc<str> {
    let [a, b, c, d] = rand::random::<[u32; 4]>();
    let (b1, b2, c1, c2) = (b >> 16, b & 0xffff, c >> 16, c & 0xffff);
    format!("{a:08x}-{b1:04x}-{b2:04x}-{c1:04x}-{c2:04x}{d:08x}").into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
