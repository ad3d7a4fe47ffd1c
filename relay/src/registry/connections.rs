//! Who is connected to one browser's hub: its extension and its clients.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::open_port::OpenPortReport;
use tabwire_home::{PairingId, Pairings};
use tokio::sync::Notify;

use super::clients::Clients;
use super::extension::{Extension, ExtensionSlot, Holder, Identity, SLOT_TAKEN};
use crate::config::ClientMode;

const GOING_AWAY: u16 = 1001;
/// The close code for a browser that is not paired, or not any more.
pub const NOT_PAIRED: u16 = 4401;

pub struct Connections {
    pub clients: Clients,
    last_id: Arc<AtomicU64>,
    /// Notified when the extension has taken its slot, and when it has listed its tabs.
    progress: Arc<Notify>,
    pub(super) extension: Mutex<Extension>,
    /// How many pages there are; 0 without a browser. Written by the hub and, for a browser with a
    /// debugging port of its own, whenever somebody asks that port.
    pub pages: AtomicUsize,
    /// Whether the extension is connected and has listed its tabs, or the browser's own debugging port has
    /// answered. Written by the hub, after `pages`.
    pub extension_ready: AtomicBool,
    /// Whether the person has stopped all clients of this browser. Written by the hub.
    pub paused: AtomicBool,
    /// Written by the registry, for all browsers.
    open_port: Arc<Mutex<Option<OpenPortReport>>>,
}

impl Connections {
    pub fn new(
        mode: ClientMode,
        last_id: Arc<AtomicU64>,
        progress: Arc<Notify>,
        open_port: Arc<Mutex<Option<OpenPortReport>>>,
    ) -> Self {
        Self {
            clients: Clients::new(mode, last_id.clone()),
            last_id,
            progress,
            extension: Mutex::default(),
            pages: AtomicUsize::new(0),
            extension_ready: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            open_port,
        }
    }

    /// The port that needs no token, if this browser can be used through it.
    pub fn open_port(&self) -> Option<OpenPortReport> {
        let open = self.open_port.lock();
        let open = open.unwrap_or_else(PoisonError::into_inner).clone()?;
        let own = self.browser_name();
        let is_other = open.browser.is_some() && open.browser != own;
        (!is_other).then_some(open)
    }

    /// For a hub that does not know which tabs its clients use.
    pub fn without_tabs(mut self) -> Self {
        self.clients.knows_tabs = false;
        self
    }

    /// Returns the holder's name, if it has one, if the slot is taken.
    pub fn take_extension_slot(
        connections: &Arc<Self>,
        identity: Identity,
        take_over: bool,
    ) -> Result<ExtensionSlot, Option<String>> {
        let link = connections.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let is_another = !connections.is_of(&identity.install_id);
        connections.lock().take(identity, take_over, link)?;
        connections.on_progress();
        if is_another {
            // They asked for the browser that was here before.
            connections.clients.close_named(
                GOING_AWAY,
                "Another browser has replaced the one that you named.",
            );
        }
        Ok(ExtensionSlot::new(link, connections.clone()))
    }

    /// Frees the extension's slot at once; its socket may take longer to close.
    pub fn free_extension_slot(&self, link: u64) {
        let holder = self.lock().holder.take_if(|holder| holder.link == link);
        if let Some(holder) = holder {
            holder.abort_replaced();
        }
    }

    /// Wakes whoever is waiting for a browser.
    pub fn on_progress(&self) {
        self.progress.notify_waiters();
    }

    pub fn extension_link(&self) -> Option<u64> {
        self.lock().holder.as_ref().map(|holder| holder.link)
    }

    /// How many sockets of clients are open.
    pub fn client_count(&self) -> usize {
        self.clients.count()
    }

    /// What the browser is called that is connected, or was last.
    pub fn browser_name(&self) -> Option<String> {
        self.lock().identity.as_ref()?.name.clone()
    }

    pub fn pairing(&self) -> Option<PairingId> {
        self.lock().identity.as_ref()?.pairing.clone()
    }

    /// The browser whose extension is connected.
    pub fn connected_install_id(&self) -> Option<String> {
        let extension = self.lock();
        let identity = extension.identity.as_ref();
        let connected = identity.filter(|_| extension.holder.is_some());
        connected.map(|own| own.install_id.clone())
    }

    pub fn is_of(&self, install_id: &str) -> bool {
        let extension = self.lock();
        extension
            .identity
            .as_ref()
            .is_some_and(|own| own.install_id == install_id)
    }

    /// Whether the browser is, or was last, one with another pairing.
    pub fn is_of_another(&self, pairing: &PairingId) -> bool {
        let extension = self.lock();
        let identity = extension.identity.as_ref();
        identity.is_some_and(|own| own.pairing.as_ref() != Some(pairing))
    }

    /// Gives the browser its current name, or disconnects it with its clients if it is no longer
    /// paired.
    pub(super) fn apply_pairings(&self, pairings: &Pairings) {
        let mut extension = self.lock();
        let Extension { identity, holder } = &mut *extension;
        let Some(own) = identity else { return };
        let Some(pairing) = &own.pairing else { return };
        let listed = pairings.browser(&own.install_id);
        // A browser that has not introduced itself yet is not listed.
        let is_known = own.name.is_none() || listed.is_some();
        if is_known && pairings.is_paired(pairing, &own.install_id) {
            if let Some(browser) = listed {
                own.name = Some(browser.name.clone());
            }
            return;
        }
        let reason = "This browser is no longer paired.";
        if let Some(holder) = holder.take() {
            holder.abort(NOT_PAIRED, reason);
        }
        *identity = None;
        self.clients.close_all(GOING_AWAY, reason);
    }

    /// Whether nobody is connected, and the browser cannot come back.
    pub(super) fn is_abandoned(&self) -> bool {
        let extension = self.lock();
        extension.identity.is_none() && extension.holder.is_none() && self.clients.count() == 0
    }

    pub(super) fn forget_browser(&self, pairing: &PairingId) {
        let mut extension = self.lock();
        if extension.holder.is_none() {
            let identity = &mut extension.identity;
            identity.take_if(|own| own.pairing.as_ref() == Some(pairing));
        }
    }

    /// Disconnects the clients of the browser of this pairing.
    pub(super) fn close_clients_of(&self, pairing: &PairingId, reason: &str) {
        if self.pairing().as_ref() == Some(pairing) {
            self.clients.close_all(GOING_AWAY, reason);
        }
    }

    /// Disconnects a browser of another pairing, and its clients.
    pub(super) fn make_way_for(&self, pairing: &PairingId) {
        let is_other = self.is_of_another(pairing);
        let holder = self.lock().holder.take_if(|_| is_other);
        if let Some(holder) = holder {
            self.on_replaced(Some(holder));
        }
    }

    /// Disconnects the browser, if one is connected, and its clients.
    pub(super) fn make_way(&self) {
        let holder = self.lock().holder.take();
        self.on_replaced(holder);
    }

    fn on_replaced(&self, holder: Option<Holder>) {
        // One without an outbox is being introduced, and finds its slot taken.
        if let Some(holder) = holder {
            holder.abort(SLOT_TAKEN, "Tabwire has launched another browser.");
        }
        self.clients.close_all(
            GOING_AWAY,
            "The relay has switched to another browser. Connect again.",
        );
    }

    /// Closes every socket because the relay stops.
    pub fn close_all(&self, reason: &str) {
        self.clients.close_all(GOING_AWAY, reason);
        if let Some(outbox) = self
            .lock()
            .holder
            .as_ref()
            .and_then(|holder| holder.outbox.as_ref())
        {
            outbox.close(GOING_AWAY, reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Extension> {
        self.extension
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
