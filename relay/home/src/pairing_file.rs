//! Reads and writes `paired.json`. The relay and several commands change it, so each change is made
//! under a lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::error::Error;
use crate::folder::Home;
use crate::pairing::Pairings;

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

impl Home {
    /// The paired browsers. A missing file means that there are none.
    pub fn pairings(&self) -> Result<Pairings, Error> {
        let path = self.paired_file();
        match fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|reason| Error::Paired { path, reason })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Pairings::default()),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    /// Changes the paired browsers. A running relay notices.
    pub fn update_pairings<T>(&self, change: impl FnOnce(&mut Pairings) -> T) -> Result<T, Error> {
        let path = self.paired_file();
        let lock_file = path.with_extension("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_file)
            .map_err(Error::io("open", &lock_file))?;
        wait_for(&lock).map_err(Error::io("lock", &lock_file))?;
        let mut pairings = self.pairings()?;
        pairings.forget_unused_codes(now());
        let outcome = change(&mut pairings);
        let text = serde_json::to_string_pretty(&pairings)
            .map_err(|error| Error::io("write", &path)(error.into()))?;
        self.write_private(&path, &text)?;
        Ok(outcome)
    }
}

/// Locks a file that others hold for a moment only.
fn wait_for(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(LOCK_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another tabwire command holds it"));
            }
            // On a file system without locks, changes at the same moment may be lost.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

/// The current time, as `milliseconds` has it.
pub fn now() -> u64 {
    milliseconds(SystemTime::now())
}

/// Milliseconds since 1970, as in JavaScript.
pub fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
