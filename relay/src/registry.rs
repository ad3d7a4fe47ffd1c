//! Who is connected: the slots and the links that hold them. HTTP handlers read it, while the hub
//! owns the protocol state.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use dashmap::DashMap;
use tabwire_core::ids::ClientId;
use tabwire_home::SlotReport;

use crate::commands::serve::ClientMode;
use crate::link::outbox::Outbox;

pub struct Registry {
    mode: ClientMode,
    /// A client enters when it takes a slot and leaves when its socket is closed.
    clients: DashMap<ClientId, ConnectedClient>,
    /// Who holds the only slot in `single-active`; 0 if nobody does. Atomic, so that one of several
    /// clients wins.
    active: AtomicU64,
    last_id: AtomicU64,
    extension: Mutex<Option<ExtensionHolder>>,
    /// How many pages there are; 0 without an extension. Written by the hub.
    pub pages: AtomicUsize,
    /// Whether the extension is connected and has introduced itself. Written by the hub.
    pub extension_ready: AtomicBool,
}

struct ConnectedClient {
    connected_at: SystemTime,
    /// `None` until the socket is open.
    outbox: Option<Outbox>,
}

/// The extension's link. `link` distinguishes it from earlier ones.
#[derive(Clone)]
pub struct ExtensionHolder {
    pub link: u64,
    pub origin: String,
    pub connected_at: SystemTime,
    pub outbox: Option<Outbox>,
}

/// A client's right to be connected. Dropping it frees the slot.
pub struct ClientSlot {
    pub client: ClientId,
    registry: Arc<Registry>,
}

/// The extension's right to be connected. Dropping it frees the slot.
pub struct ExtensionSlot {
    pub link: u64,
    registry: Arc<Registry>,
}

impl Registry {
    pub fn new(mode: ClientMode) -> Arc<Self> {
        Arc::new(Self {
            mode,
            clients: DashMap::new(),
            active: AtomicU64::new(0),
            last_id: AtomicU64::new(0),
            extension: Mutex::new(None),
            pages: AtomicUsize::new(0),
            extension_ready: false.into(),
        })
    }

    /// Takes a client slot, or reports who holds it.
    pub fn take_client_slot(self: &Arc<Self>) -> Result<ClientSlot, SlotReport> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        if self.mode == ClientMode::SingleActive
            && self
                .active
                .compare_exchange(0, id, Ordering::AcqRel, Ordering::Acquire)
                .is_err()
        {
            return Err(self.slot_report());
        }
        self.clients.insert(
            ClientId(id),
            ConnectedClient {
                connected_at: SystemTime::now(),
                outbox: None,
            },
        );
        Ok(ClientSlot {
            client: ClientId(id),
            registry: self.clone(),
        })
    }

    pub fn take_extension_slot(
        self: &Arc<Self>,
        origin: &str,
    ) -> Result<ExtensionSlot, ExtensionHolder> {
        let mut slot = self.lock_extension();
        if let Some(holder) = slot.as_ref() {
            return Err(holder.clone());
        }
        let link = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        *slot = Some(ExtensionHolder {
            link,
            origin: origin.to_owned(),
            connected_at: SystemTime::now(),
            outbox: None,
        });
        Ok(ExtensionSlot {
            link,
            registry: self.clone(),
        })
    }

    /// Frees the extension's slot at once; its socket may take longer to close.
    pub fn free_extension_slot(&self, link: u64) -> Option<ExtensionHolder> {
        self.lock_extension().take_if(|holder| holder.link == link)
    }

    pub fn extension_link(&self) -> Option<u64> {
        self.lock_extension().as_ref().map(|holder| holder.link)
    }

    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// Closes every socket because the relay stops.
    pub fn close_all(&self, reason: &str) {
        const GOING_AWAY: u16 = 1001;
        let clients = self
            .clients
            .iter()
            .filter_map(|client| client.outbox.clone());
        let extension = self
            .lock_extension()
            .as_ref()
            .and_then(|holder| holder.outbox.clone());
        for outbox in clients.chain(extension) {
            outbox.close(GOING_AWAY, reason);
        }
    }

    pub fn slot_report(&self) -> SlotReport {
        let holder = self
            .clients
            .iter()
            .min_by_key(|client| client.connected_at)
            .map(|client| (*client.key(), client.connected_at));
        SlotReport {
            mode: self.mode.name().to_owned(),
            busy: self.mode == ClientMode::SingleActive && self.active.load(Ordering::Acquire) != 0,
            active_client_id: holder.map(|(client, _)| client.to_string()),
            connected_at: holder.map(|(_, at)| milliseconds(at)),
            clients: self.clients.len(),
        }
    }

    fn lock_extension(&self) -> MutexGuard<'_, Option<ExtensionHolder>> {
        self.extension
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Milliseconds since 1970, as in JavaScript.
pub fn milliseconds(at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl ClientSlot {
    pub fn open(&self, outbox: Outbox) {
        if let Some(mut client) = self.registry.clients.get_mut(&self.client) {
            client.outbox = Some(outbox);
        }
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.registry.clients.remove(&self.client);
        let _ = self.registry.active.compare_exchange(
            self.client.0,
            0,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

impl ExtensionSlot {
    pub fn open(&self, outbox: Outbox) {
        if let Some(holder) = self
            .registry
            .lock_extension()
            .as_mut()
            .filter(|holder| holder.link == self.link)
        {
            holder.outbox = Some(outbox);
        }
    }
}

impl Drop for ExtensionSlot {
    fn drop(&mut self) {
        let mut slot = self.registry.lock_extension();
        if slot.as_ref().is_some_and(|holder| holder.link == self.link) {
            *slot = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_a_client_slot_frees_it() {
        let registry = Registry::new(ClientMode::SingleActive);
        let slot = registry.take_client_slot().expect("free");
        let report = registry.take_client_slot().err().expect("taken");
        assert_eq!(report.active_client_id, Some(slot.client.to_string()));
        drop(slot);
        assert!(registry.take_client_slot().is_ok());
    }

    #[test]
    fn multi_client_has_a_slot_for_everyone() {
        let registry = Registry::new(ClientMode::MultiClient);
        let slots: Vec<_> = (0..5)
            .filter_map(|_| registry.take_client_slot().ok())
            .collect();
        assert_eq!(slots.len(), 5);
        assert!(!registry.slot_report().busy);
    }

    #[test]
    fn replaced_extension_does_not_free_the_next_ones_slot() {
        let registry = Registry::new(ClientMode::SingleActive);
        let dead = registry.take_extension_slot("a").ok().expect("free");
        registry.free_extension_slot(dead.link);
        let next = registry.take_extension_slot("b").ok().expect("free");
        drop(dead);
        assert_eq!(registry.extension_link(), Some(next.link));
    }
}
