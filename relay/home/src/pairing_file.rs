//! Reads and writes `paired.json`. The relay and several commands change it, so each change is made
//! under a lock.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::SystemTime;

use crate::error::Error;
use crate::folder::Home;
use crate::pairing::Pairings;

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
        // On a file system without locks, changes at the same moment may be lost.
        let _ = lock.lock();
        let mut pairings = self.pairings()?;
        pairings.forget_unused_codes(now());
        let outcome = change(&mut pairings);
        let text = serde_json::to_string_pretty(&pairings)
            .map_err(|error| Error::io("write", &path)(error.into()))?;
        self.write_private(&path, &text)?;
        Ok(outcome)
    }
}

/// Milliseconds since 1970, as in JavaScript.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
