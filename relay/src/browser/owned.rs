//! Who started the browsers that this relay has launched or joined, for reports. Kept apart from the
//! launcher's own list, which is locked while a browser starts.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tabwire_home::PairingId;
use tabwire_home::control::Ownership;

/// A browser enters when it is ready and leaves when it is stopped.
#[derive(Default)]
pub struct Owned(Mutex<HashMap<PairingId, Ownership>>);

impl Owned {
    pub fn insert(&self, pairing: &PairingId, ownership: Ownership) {
        self.lock().insert(pairing.clone(), ownership);
    }

    pub fn remove(&self, pairing: &PairingId) {
        self.lock().remove(pairing);
    }

    /// `None` for a browser that the user has opened.
    pub fn get(&self, pairing: &PairingId) -> Option<Ownership> {
        self.lock().get(pairing).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PairingId, Ownership>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
