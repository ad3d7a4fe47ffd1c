//! How many files and sockets the relay can have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for all places of the listener, with a second socket for each client of a browser with a
/// debugging port of its own.
const WANTED: u64 = 4096;

/// Raises the limit of this process as far as it is needed and allowed. Often it is 1,024, or 256 on
/// macOS.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}
