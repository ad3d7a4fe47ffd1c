//! A browser's profile folder: whether a running browser has it open, and which process that is.

use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// The process that has this profile open. The browser keeps a link that names its host and process
/// while it runs, and leaves the link behind if it is killed.
pub fn open_by(profile: &Path) -> Option<u32> {
    let link = std::fs::read_link(profile.join("SingletonLock")).ok()?;
    let (host, pid) = link.to_str()?.rsplit_once('-')?;
    let pid: i32 = pid.parse().ok()?;
    let is_alive = test_kill_process(Pid::from_raw(pid)?).is_ok();
    (host == host_name() && is_alive).then(|| u32::try_from(pid).ok())?
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
}
