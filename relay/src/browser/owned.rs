//! The browsers that this relay has launched or joined, for reports and the log. Kept apart from the
//! launcher's own list, which is locked while a browser starts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::PairingId;
use tabwire_home::control::Ownership;

use super::program::Program;
use crate::direct::StrongSignal;

/// A browser enters when it is started and leaves when it is stopped.
#[derive(Default)]
pub struct Owned(Mutex<HashMap<PairingId, (Ownership, Arc<Program>)>>);

impl Owned {
    pub fn insert(&self, pairing: &PairingId, ownership: Ownership, program: Arc<Program>) {
        self.lock().insert(pairing.clone(), (ownership, program));
    }

    pub fn remove(&self, pairing: &PairingId) {
        self.lock().remove(pairing);
    }

    /// `None` for a browser that the user has opened.
    pub fn get(&self, pairing: &PairingId) -> Option<Ownership> {
        self.lock().get(pairing).map(|(ownership, _)| *ownership)
    }

    pub fn program(&self, pairing: &PairingId) -> Option<Arc<Program>> {
        self.lock().get(pairing).map(|(_, program)| program.clone())
    }

    pub fn log_opened(&self, name: &str, pairing: Option<&PairingId>) {
        match self.find(pairing) {
            Some((ownership, program)) => program.log(|log| log.extension_opened(ownership)),
            None => log_users(name, "connected", None),
        }
    }

    pub fn log_lost(&self, name: &str, pairing: Option<&PairingId>, signal: StrongSignal) {
        match self.find(pairing) {
            Some((ownership, program)) => program.log(|log| log.extension_lost(ownership, signal)),
            None => log_users(name, "degraded", Some(signal)),
        }
    }

    fn find(&self, pairing: Option<&PairingId>) -> Option<(Ownership, Arc<Program>)> {
        self.lock().get(pairing?).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PairingId, (Ownership, Arc<Program>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About a browser that the user has opened.
fn log_users(name: &str, state: &str, signal: Option<StrongSignal>) {
    tracing::info!(
        browser = name,
        transportMode = "extension",
        runtimeState = state,
        ownership = Ownership::Attached.name(),
        disconnectSignals = signal.map(StrongSignal::name),
        "extension",
    );
}
