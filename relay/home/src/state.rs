//! Which relay owns a home: the file `state.json`, which only the owner can write, and a lock on
//! the folder, which the kernel releases when the relay's process ends.

use std::fmt;
use std::fs::{File, TryLockError};

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::folder::Home;
use crate::private_file::read_to_string;

/// The content of `state.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub port: u16,
    pub pid: u32,
}

impl State {
    /// The file alone proves nothing: a killed relay leaves it behind, its pid may belong to
    /// another process by now, and whoever took its port would be sent the token.
    pub(crate) fn of_running(home: &Home) -> Option<Self> {
        let folder = File::open(home.path()).ok()?;
        match folder.try_lock_shared() {
            Ok(()) => None,
            // On a file system without locks, a live pid has to be enough.
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {
                Self::read(home).filter(|state| state.is_alive())
            }
        }
    }

    pub(crate) fn read(home: &Home) -> Option<Self> {
        serde_json::from_str(&read_to_string(&home.state_file()).ok()?).ok()
    }

    /// Whether the process lives. It may be another one by now, if the relay has exited.
    pub fn is_alive(self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}

/// Completes a sentence such as "… belongs to {state}".
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the relay on port {} (process {})", self.port, self.pid)
    }
}
