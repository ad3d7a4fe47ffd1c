//! Which relay runs in a home: the file `state.json`, which nobody but the home's owner can write, and a lock on the folder,
//! which goes with the relay's process however that ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct State {
    pub port: u16,
    pub pid: u32,
}

impl State {
    pub fn file(home: &Path) -> std::path::PathBuf {
        home.join("state.json")
    }

    /// The relay that runs there. What the file says is not enough: one that was killed leaves it behind, its number may be
    /// another process's by now, and its port may be anyone's, who would be told the token.
    pub fn of_running(home: &Path) -> Option<Self> {
        let folder = File::open(home).ok()?;
        match folder.try_lock_shared() {
            Ok(()) => None,
            // Where the file system has no locks, the number has to do.
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {
                Self::read(home).filter(|state| state.lives())
            }
        }
    }

    /// What is written there.
    pub fn read(home: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(Self::file(home)).ok()?).ok()
    }

    /// Whether a process of its number is there: not while the file is still that of the relay before.
    fn lives(self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}
