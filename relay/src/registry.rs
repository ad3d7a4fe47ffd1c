//! Who is connected: the slots, and the links behind them. HTTP handlers read it while the hub owns the protocol state.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;

use dashmap::DashMap;
use serde::{Deserialize, Serialize};
use tabwire_core::ids::ClientId;

use crate::cli::ClientMode;
use crate::outbox::Outbox;

pub struct Registry {
    mode: ClientMode,
    /// A client enters when its slot is taken and leaves when its socket is done.
    clients: DashMap<ClientId, Seated>,
    /// The holder of the one slot in `single-active`, 0 for none: taken by one atomic step.
    active: AtomicU64,
    last_id: AtomicU64,
    extension: Mutex<Option<ExtensionHolder>>,
    /// How many pages the hub knows; 0 without an extension. Written by the hub.
    pub pages: AtomicUsize,
    pub extension_ready: std::sync::atomic::AtomicBool,
}

struct Seated {
    connected_at: SystemTime,
    /// There once the socket is open.
    outbox: Option<Outbox>,
}

/// The extension's link; `link` tells it from one before it.
#[derive(Clone)]
pub struct ExtensionHolder {
    pub link: u64,
    pub origin: String,
    pub connected_at: SystemTime,
    pub outbox: Option<Outbox>,
}

/// What `GET /client-slot` says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotReport {
    pub mode: String,
    pub busy: bool,
    pub active_client_id: Option<String>,
    /// Milliseconds since 1970, as JavaScript counts.
    pub connected_at: Option<u64>,
    pub clients: usize,
}

/// A client's right to be connected; dropping it gives it back.
pub struct ClientSeat {
    pub client: ClientId,
    registry: Arc<Registry>,
}

/// The extension's; dropping it gives it back.
pub struct ExtensionSeat {
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

    /// Takes a client's slot, or tells who holds it.
    pub fn seat_client(self: &Arc<Self>) -> Result<ClientSeat, SlotReport> {
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
            Seated {
                connected_at: SystemTime::now(),
                outbox: None,
            },
        );
        Ok(ClientSeat {
            client: ClientId(id),
            registry: self.clone(),
        })
    }

    pub fn seat_extension(
        self: &Arc<Self>,
        origin: &str,
    ) -> Result<ExtensionSeat, ExtensionHolder> {
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
        Ok(ExtensionSeat {
            link,
            registry: self.clone(),
        })
    }

    /// Frees the extension's slot at once; its socket may take longer to go.
    pub fn unseat_extension(&self, link: u64) -> Option<ExtensionHolder> {
        self.lock_extension().take_if(|holder| holder.link == link)
    }

    pub fn extension_link(&self) -> Option<u64> {
        self.lock_extension().as_ref().map(|holder| holder.link)
    }

    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// Tells every socket that the relay stops.
    pub fn close_all(&self, reason: &str) {
        const GOING_AWAY: u16 = 1001;
        let clients = self
            .clients
            .iter()
            .filter_map(|seated| seated.outbox.clone());
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
            .min_by_key(|seated| seated.connected_at)
            .map(|seated| (*seated.key(), seated.connected_at));
        SlotReport {
            mode: self.mode.name().to_owned(),
            busy: self.mode == ClientMode::SingleActive && self.active.load(Ordering::Acquire) != 0,
            active_client_id: holder.map(|(client, _)| client.to_string()),
            connected_at: holder.map(|(_, at)| milliseconds(at)),
            clients: self.clients.len(),
        }
    }

    fn lock_extension(&self) -> std::sync::MutexGuard<'_, Option<ExtensionHolder>> {
        self.extension
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub fn milliseconds(at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl ClientSeat {
    pub fn open(&self, outbox: Outbox) {
        if let Some(mut seated) = self.registry.clients.get_mut(&self.client) {
            seated.outbox = Some(outbox);
        }
    }
}

impl Drop for ClientSeat {
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

impl ExtensionSeat {
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

impl Drop for ExtensionSeat {
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
    fn the_one_slot_is_free_again_when_its_seat_is_dropped() {
        let registry = Registry::new(ClientMode::SingleActive);
        let seat = registry.seat_client().unwrap_or_else(|_| panic!("free"));
        let report = registry.seat_client().err().expect("taken");
        assert_eq!(report.active_client_id, Some(seat.client.to_string()));
        drop(seat);
        assert!(registry.seat_client().is_ok());
    }

    #[test]
    fn several_clients_are_seated_in_multi_client() {
        let registry = Registry::new(ClientMode::MultiClient);
        let seats: Vec<_> = (0..5).filter_map(|_| registry.seat_client().ok()).collect();
        assert_eq!(seats.len(), 5);
        assert!(!registry.slot_report().busy);
    }

    #[test]
    fn an_unseated_extension_does_not_free_the_slot_of_the_next_one() {
        let registry = Registry::new(ClientMode::SingleActive);
        let dead = registry.seat_extension("a").ok().expect("free");
        registry.unseat_extension(dead.link);
        let next = registry.seat_extension("b").ok().expect("free");
        drop(dead);
        assert_eq!(registry.extension_link(), Some(next.link));
    }
}
