//! The process that has a profile open, when that is not in the process group of what was launched: a
//! script may start its browser in a session of its own. The lock in the profile names it.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process};

use super::process::ProcessIdentity;
use super::process_group::ProcessGroup;
use super::profile;

/// How long it may take to exit before it is killed, and then until the kernel has ended it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whoever calls this has to know that it is a browser that was launched.
pub fn of(profile: &Path) -> Option<ProcessIdentity> {
    profile::open_by(profile).map(ProcessIdentity::of)
}

/// Asks the process to exit, and kills it if it does not. Returns when nothing is left of it.
pub async fn stop(process: &ProcessIdentity) {
    let Some(pid) = i32::try_from(process.pid()).ok().and_then(Pid::from_raw) else {
        return;
    };
    if process.is_alive() && getpgid(Some(pid)) == Ok(pid) {
        // Its helpers go on writing to the profile for a moment.
        if let Some(group) = ProcessGroup::of(process.pid()) {
            group.stop().await;
        }
        return;
    }
    for (request, timeout) in [(Signal::TERM, EXIT_TIMEOUT), (Signal::KILL, KILL_TIMEOUT)] {
        if !process.is_alive() {
            return;
        }
        let _ = kill_process(pid, request);
        let exited = async {
            while process.is_alive() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(timeout, exited).await;
    }
}

#[cfg(test)]
pub mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    /// A process in a group of its own that looks like a browser which has the profile open.
    pub fn open(profile: &Path) -> (Child, UnixListener) {
        fs::create_dir_all(profile).unwrap();
        let child = Command::new("sh")
            .args(["-c", "sleep 60 & wait", "sh"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .process_group(0)
            .spawn()
            .unwrap();
        let lock = format!("{}-{}", profile::host_name(), child.id());
        symlink(lock, profile.join("SingletonLock")).unwrap();
        let listener = UnixListener::bind(profile.join("socket")).unwrap();
        symlink(profile.join("socket"), profile.join("SingletonSocket")).unwrap();
        (child, listener)
    }

    #[tokio::test]
    async fn holder_is_found_and_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let (mut child, _listener) = open(folder.path());
        let holder = of(folder.path()).unwrap();
        assert_eq!(holder.pid(), child.id());
        stop(&holder).await;
        assert!(!holder.is_alive());
        child.wait().unwrap();
    }
}
