//! Who is connected to one browser's hub: its extension and its clients.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::{PairingId, Pairings};

use super::clients::Clients;
use super::extension::{Extension, ExtensionSlot, Identity};
use crate::config::ClientMode;

/// The close code for a browser that is not paired, or no longer is.
pub const NOT_PAIRED: u16 = 4401;

pub struct Connections {
    pub clients: Clients,
    last_id: Arc<AtomicU64>,
    pub(super) extension: Mutex<Extension>,
    /// How many pages there are; 0 without an extension. Written by the hub.
    pub pages: AtomicUsize,
    /// Whether the extension is connected and has listed its tabs. Written by the hub.
    pub extension_ready: AtomicBool,
}

impl Connections {
    pub fn new(mode: ClientMode, last_id: Arc<AtomicU64>) -> Self {
        Self {
            clients: Clients::new(mode, last_id.clone()),
            last_id,
            extension: Mutex::default(),
            pages: AtomicUsize::new(0),
            extension_ready: AtomicBool::new(false),
        }
    }

    /// If the slot is taken, the error is its holder's name, unless it has none yet.
    pub fn take_extension_slot(
        connections: &Arc<Self>,
        identity: Identity,
        take_over: bool,
    ) -> Result<ExtensionSlot, Option<String>> {
        let link = connections.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        connections.lock().take(identity, take_over, link)?;
        Ok(ExtensionSlot::new(link, connections.clone()))
    }

    /// Frees the extension's slot at once; its socket may take longer to close.
    pub fn free_extension_slot(&self, link: u64) {
        let mut extension = self.lock();
        extension.holder.take_if(|holder| holder.link == link);
    }

    pub fn extension_link(&self) -> Option<u64> {
        self.lock().holder.as_ref().map(|holder| holder.link)
    }

    pub fn client_count(&self) -> usize {
        self.clients.count()
    }

    /// The name of the browser that is connected, or was last.
    pub fn browser_name(&self) -> Option<String> {
        self.lock().identity.as_ref()?.name.clone()
    }

    pub fn pairing(&self) -> Option<PairingId> {
        self.lock().identity.as_ref()?.pairing.clone()
    }

    pub fn is_of(&self, install_id: &str) -> bool {
        let extension = self.lock();
        extension
            .identity
            .as_ref()
            .is_some_and(|own| own.install_id == install_id)
    }

    /// These connections are for this browser, which is about to take the slot.
    pub(super) fn reserve_for(&self, install_id: &str) {
        self.lock().identity = Some(Identity {
            install_id: install_id.to_owned(),
            pairing: None,
            name: None,
        });
    }

    pub fn on_pairings_changed(&self, pairings: &Pairings) {
        let mut extension = self.lock();
        let Extension { identity, holder } = &mut *extension;
        let Some(identity) = identity else { return };
        let Some(pairing) = &identity.pairing else {
            return;
        };
        if let Some(browser) = pairings.browser(&identity.install_id) {
            identity.name = Some(browser.name.clone());
        }
        if !pairings.is_paired(pairing, &identity.install_id)
            && let Some(outbox) = holder.as_ref().and_then(|holder| holder.outbox.as_ref())
        {
            outbox.abort(NOT_PAIRED, "This browser is no longer paired.");
        }
    }

    /// Whether nobody is connected, and the browser cannot come back.
    pub(super) fn is_abandoned(&self, pairings: &Pairings) -> bool {
        let extension = self.lock();
        let is_paired = extension.identity.as_ref().is_some_and(|own| {
            own.pairing
                .as_ref()
                .is_none_or(|pairing| pairings.is_paired(pairing, &own.install_id))
        });
        !is_paired && extension.holder.is_none() && self.clients.count() == 0
    }

    /// Closes every socket because the relay is stopping.
    pub fn close_all(&self, reason: &str) {
        const GOING_AWAY: u16 = 1001;
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
