//! Which relay runs in a home: the file `state.json`, which nobody but the home's owner can write.

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

    /// What is written there. A relay that was killed leaves it behind.
    pub fn read(home: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(Self::file(home)).ok()?).ok()
    }

    /// Whether its process is there.
    pub fn lives(self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}
