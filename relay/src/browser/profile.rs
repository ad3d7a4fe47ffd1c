//! A browser's profile folder: whether a running browser has it open, which process that is, and
//! where its debugging port is.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// The process that has this profile open. The browser keeps a link that names its host and process
/// while it runs, and leaves the link behind if it is killed.
pub fn open_by(profile: &Path) -> Option<u32> {
    let link = fs::read_link(profile.join("SingletonLock")).ok()?;
    let (host, pid) = link.to_str()?.rsplit_once('-')?;
    let pid: u32 = pid.parse().ok()?;
    (host == host_name() && is_alive(pid)).then_some(pid)
}

pub fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// The debugging port of a browser, and the path of its WebSocket, which only those who can read the
/// profile know.
#[derive(Debug, PartialEq, Eq)]
pub struct ActivePort {
    pub port: u16,
    pub path: String,
}

/// The file in which a browser with a debugging port writes where it is. It stays when the browser
/// exits, so the port may belong to another program.
const ACTIVE_PORT_FILE: &str = "DevToolsActivePort";

pub fn active_port(profile: &Path) -> Option<ActivePort> {
    let text = fs::read_to_string(profile.join(ACTIVE_PORT_FILE)).ok()?;
    let (port, path) = text.split_once('\n')?;
    let path = path.trim_end();
    path.starts_with('/').then_some(ActivePort {
        port: port.parse().ok()?,
        path: path.to_owned(),
    })
}

/// Call this before a browser is started, so that an old file is not taken for its own.
pub fn remove_active_port(profile: &Path) {
    let _ = fs::remove_file(profile.join(ACTIVE_PORT_FILE));
}

fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile_of(host: &str, pid: u32) -> tempfile::TempDir {
        let profile = tempfile::tempdir().unwrap();
        let target = format!("{host}-{pid}");
        std::os::unix::fs::symlink(target, profile.path().join("SingletonLock")).unwrap();
        profile
    }

    #[test]
    fn profile_is_open_while_its_browser_lives() {
        let pid = std::process::id();
        assert_eq!(open_by(profile_of(&host_name(), pid).path()), Some(pid));
        assert_eq!(open_by(profile_of("elsewhere", pid).path()), None);
        assert_eq!(open_by(profile_of(&host_name(), 0x3fff_fff0).path()), None);
        assert_eq!(open_by(tempfile::tempdir().unwrap().path()), None);
    }

    #[test]
    fn active_port_is_read_only_if_it_is_complete() {
        let profile = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(profile.path().join(ACTIVE_PORT_FILE), text).unwrap();
            active_port(profile.path())
        };
        let complete = ActivePort {
            port: 9222,
            path: "/devtools/browser/1".to_owned(),
        };
        assert_eq!(read("9222\n/devtools/browser/1"), Some(complete));
        for incomplete in ["", "9222", "9222\n", "x\n/devtools/browser/1", "99999\n/d"] {
            assert_eq!(read(incomplete), None, "{incomplete:?}");
        }
        remove_active_port(profile.path());
        assert_eq!(active_port(profile.path()), None);
    }
}
