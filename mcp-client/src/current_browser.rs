//! Which browser an agent's code runs in. The tools that manage browsers change it, and the session
//! follows with its next call, so that neither waits for the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones share the same choice.
#[derive(Clone)]
pub struct CurrentBrowser(Arc<Mutex<Choice>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// `None`: the only one that is connected.
    pub name: Option<String>,
    /// Also counts a restart of the same browser: either needs a new connection.
    pub changes: u64,
}

impl CurrentBrowser {
    pub fn new(name: Option<String>) -> Self {
        Self(Arc::new(Mutex::new(Choice { name, changes: 0 })))
    }

    pub fn get(&self) -> Choice {
        self.lock().clone()
    }

    pub fn set(&self, name: Option<String>) {
        let mut choice = self.lock();
        choice.name = name;
        choice.changes += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
