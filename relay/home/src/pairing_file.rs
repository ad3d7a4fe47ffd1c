//! Reads and writes `paired.json`. The relay and several commands change it, so each change is made
//! under a lock.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::error::{Error, FileFault};
use crate::folder::Home;
use crate::pairing::Pairings;
use crate::private_file::{open_to_lock, read_to_string};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

impl Home {
    /// The paired browsers. A missing file means that there are none.
    pub fn pairings(&self) -> Result<Pairings, Error> {
        let path = self.paired_file();
        match read_to_string(&path) {
            Ok(text) => {
                serde_json::from_str(&text).map_err(|reason| Error::Paired { path, reason })
            }
            Err(fault) if fault.is_missing() => Ok(Pairings::default()),
            Err(fault) => Err(rejected(path, fault, " and pair your browsers again")),
        }
    }

    /// Changes the paired browsers. A running relay notices.
    pub fn update_pairings<T>(&self, change: impl FnOnce(&mut Pairings) -> T) -> Result<T, Error> {
        let path = self.paired_file();
        let lock_file = path.with_extension("lock");
        let lock =
            open_to_lock(&lock_file).map_err(|fault| rejected(lock_file.clone(), fault, ""))?;
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

fn rejected(path: PathBuf, fault: FileFault, remedy: &'static str) -> Error {
    match fault {
        FileFault::Io(error) => Error::io("open", path)(error),
        fault => Error::File {
            path,
            fault,
            remedy,
        },
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
