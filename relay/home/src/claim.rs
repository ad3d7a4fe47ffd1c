//! The right to write `state.json` and `cdp-url`. One relay per home has it at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::folder::Home;
use crate::state::State;

/// Readers that check for a running relay hold a shared lock for a moment; a claim waits this long
/// for them.
const READER_TIMEOUT: Duration = Duration::from_millis(100);
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// The kernel releases the lock when the process ends, however it ends.
pub struct Claim {
    home: Home,
    _lock: File,
}

impl Home {
    /// Claims the home, unless a live relay owns it.
    pub fn claim(&self) -> Result<Option<Claim>, Error> {
        let folder = File::open(self.path()).map_err(Error::io("open", self.path()))?;
        match lock(&folder) {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // The state of a killed relay must not pass for this one's.
            Ok(()) => drop(fs::remove_file(self.state_file())),
            // On a file system without locks, the relay that started last owns the files.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(Some(Claim {
            home: self.clone(),
            _lock: folder,
        }))
    }

    /// Removes the files of a relay that was killed. Does nothing while a relay owns the home.
    pub fn remove_stale_files(&self) {
        if let Ok(Some(_claim)) = self.claim() {
            // In this order, nothing is left to do when both are gone: claiming removes the state file, too.
            for file in [self.state_file(), self.cdp_url_file()] {
                let _ = fs::remove_file(file);
            }
        }
    }

    /// Names the relay that owns this home, for a message to the user.
    pub fn owner(&self) -> String {
        self.last_relay()
            .map_or_else(|| "another relay".to_owned(), |state| state.to_string())
    }
}

fn lock(folder: &File) -> Result<(), TryLockError> {
    let deadline = Instant::now() + READER_TIMEOUT;
    loop {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(RETRY_INTERVAL);
            }
            outcome => return outcome,
        }
    }
}

impl Claim {
    /// Publishes where the relay is.
    pub fn write(&self, state: State, cdp_url: Option<&str>) -> Result<(), Error> {
        let (state_file, cdp_url_file) = (self.home.state_file(), self.home.cdp_url_file());
        match cdp_url {
            Some(url) => self.home.write_private(&cdp_url_file, url)?,
            // A killed relay may have left one.
            None => drop(fs::remove_file(&cdp_url_file)),
        }
        let state = serde_json::to_string(&state)
            .map_err(|error| Error::io("write", &state_file)(error.into()))?;
        // Written last: whoever finds it may read the other file.
        self.home.write_private(&state_file, &state)
    }

    /// Publishes a new token.
    pub fn write_cdp_url(&self, url: &str) -> Result<(), Error> {
        self.home.write_private(&self.home.cdp_url_file(), url)
    }

    /// Removes the files, so that another relay can write its own.
    pub fn release(&self) {
        let other_owner = |state: State| state.pid != std::process::id();
        // Without locks, another relay may own the files by now.
        if self.home.last_relay().is_some_and(other_owner) {
            return;
        }
        for file in [self.home.cdp_url_file(), self.home.state_file()] {
            if let Err(error) = fs::remove_file(&file)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, file = %file.display(), "cannot remove file");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        (folder, home)
    }

    fn own_state() -> State {
        State {
            port: 4321,
            pid: std::process::id(),
        }
    }

    #[test]
    fn home_has_one_owner_at_a_time() {
        let (_folder, home) = home();
        let claim = home.claim().unwrap().unwrap();
        assert!(home.claim().unwrap().is_none());
        drop(claim);
        assert!(home.claim().unwrap().is_some());
    }

    #[test]
    fn relay_is_running_only_while_it_holds_its_claim() {
        let (_folder, home) = home();
        let claim = home.claim().unwrap().unwrap();
        claim.write(own_state(), Some("ws://url")).unwrap();
        assert_eq!(home.running_relay(), Some(own_state()));
        // Dropped without a release, as if the process had been killed.
        drop(claim);
        assert_eq!(home.running_relay(), None);
        assert_eq!(home.last_relay(), Some(own_state()));
    }

    #[test]
    fn release_removes_both_files() {
        let (_folder, home) = home();
        let claim = home.claim().unwrap().unwrap();
        claim.write(own_state(), Some("ws://url")).unwrap();
        claim.release();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
