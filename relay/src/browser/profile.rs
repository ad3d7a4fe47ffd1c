//! A browser's profile folder: whether a running browser has it open, which process that is, and
//! where its debugging port is.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::process::is_alive;

/// In a profile: a link to the socket of the browser that has it open.
const SOCKET: &str = "SingletonSocket";

/// What the lock in a profile says. It is a link that names the browser's host and process, and stays
/// behind if the browser is killed.
#[derive(Debug, PartialEq, Eq)]
pub enum Lock {
    /// There is none.
    Free,
    Held(u32),
    /// By a process of another machine, or by something unknown.
    Elsewhere,
}

impl Lock {
    pub fn read(profile: &Path, host: &str) -> Self {
        let Ok(link) = fs::read_link(profile.join("SingletonLock")) else {
            return Self::Free;
        };
        let holder = link.to_str().and_then(|link| link.rsplit_once('-'));
        let pid = holder.and_then(|(own, pid)| pid.parse().ok().filter(|_| own == host));
        pid.map_or(Self::Elsewhere, Self::Held)
    }
}

/// Whether a browser listens on the socket in its profile, as another start of it would ask. The
/// process in a lock may be another one by now.
pub fn listens(profile: &Path) -> bool {
    // A link, because the path of a profile can be too long for a socket.
    let Ok(target) = fs::read_link(profile.join(SOCKET)) else {
        return false;
    };
    let connected = || -> Result<(), Errno> {
        let address = SocketAddrUnix::new(target)?;
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        // A browser that hangs must not block the relay.
        rustix::io::ioctl_fionbio(&socket, true)?;
        rustix::net::connect(&socket, &address)
    };
    matches!(connected(), Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS))
}

/// The process that has this profile open. Nobody else's profile counts.
pub fn open_by(profile: &Path) -> Option<u32> {
    let Lock::Held(pid) = Lock::read(profile, &host_name()) else {
        return None;
    };
    let owner = fs::metadata(profile).ok()?.uid();
    let is_own = owner == rustix::process::geteuid().as_raw();
    (is_own && is_alive(pid) && listens(profile)).then_some(pid)
}

/// The folder of a browser's socket, in the folder for temporary files. Ask before the browser is stopped:
/// one that is killed while it exits has removed the link to the folder, but not the folder.
pub fn socket_folder(profile: &Path) -> Option<PathBuf> {
    let target = fs::read_link(profile.join(SOCKET)).ok()?;
    let folder = target.ends_with(SOCKET).then(|| target.parent())?;
    folder.map(Path::to_owned)
}

/// Removes the folder of the socket of a browser that was stopped. Only what Chromium creates there is
/// removed, and nothing while a browser listens.
pub fn remove_socket(profile: &Path, folder: &Path) {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    let name = folder.file_name().and_then(|name| name.to_str());
    // `org.chromium.Chromium.a1B2c3`, or the same with the name of another browser.
    let is_chromiums =
        name.is_some_and(|name| name.split('.').filter(|part| !part.is_empty()).count() == 4);
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_chromiums || !is_own || listens(profile) {
        return;
    }
    for name in [SOCKET, "SingletonCookie"] {
        let file = folder.join(name);
        let kind = fs::symlink_metadata(&file).map(|file| file.file_type());
        if kind.is_ok_and(|kind| kind.is_socket() || kind.is_symlink()) {
            let _ = fs::remove_file(file);
        }
    }
    // Fails if there is anything else in it.
    let _ = fs::remove_dir(folder);
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

pub fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn socket_is_removed_after_the_browser_and_nothing_else() {
        let temporary = tempfile::tempdir().unwrap();
        let profile = temporary.path().join("profile");
        fs::create_dir(&profile).unwrap();
        let folder = temporary.path().join("org.chromium.Chromium.a1B2c3");
        let other = temporary.path().join("documents");
        for socket in [&folder, &other] {
            fs::create_dir(socket).unwrap();
            symlink("123", socket.join("SingletonCookie")).unwrap();
            let _ = fs::remove_file(profile.join(SOCKET));
            symlink(socket.join(SOCKET), profile.join(SOCKET)).unwrap();
            assert_eq!(socket_folder(&profile).as_ref(), Some(socket));
            let listener = UnixListener::bind(socket.join(SOCKET)).unwrap();
            remove_socket(&profile, socket);
            assert!(socket.join(SOCKET).exists(), "a browser listens");
            drop(listener);
            fs::write(socket.join("thesis"), "years").unwrap();
            remove_socket(&profile, socket);
            assert!(socket.join("thesis").exists());
            fs::remove_file(socket.join("thesis")).unwrap();
            remove_socket(&profile, socket);
        }
        assert!(!folder.exists());
        assert!(other.join(SOCKET).exists(), "not created by Chromium");
    }

    /// A profile with a lock, and a socket that the returned listener answers.
    fn profile_of(host: &str, pid: u32) -> (tempfile::TempDir, UnixListener) {
        let profile = tempfile::tempdir().unwrap();
        let path = profile.path();
        symlink(format!("{host}-{pid}"), path.join("SingletonLock")).unwrap();
        let listener = UnixListener::bind(path.join("socket")).unwrap();
        symlink(path.join("socket"), path.join("SingletonSocket")).unwrap();
        (profile, listener)
    }

    #[test]
    fn profile_is_open_while_its_browser_lives() {
        let pid = std::process::id();
        let open = |host: &str, pid| {
            let (profile, _listener) = profile_of(host, pid);
            open_by(profile.path())
        };
        assert_eq!(open(&host_name(), pid), Some(pid));
        assert_eq!(open("elsewhere", pid), None);
        assert_eq!(open(&host_name(), 0x3fff_fff0), None);
        assert_eq!(open_by(tempfile::tempdir().unwrap().path()), None);
    }

    #[test]
    fn lock_of_a_killed_browser_does_not_count_although_its_process_id_was_reused() {
        let pid = std::process::id();
        let (profile, listener) = profile_of(&host_name(), pid);
        drop(listener);
        assert_eq!(open_by(profile.path()), None, "nobody listens");
        fs::remove_file(profile.path().join("SingletonSocket")).unwrap();
        assert_eq!(open_by(profile.path()), None, "there is no socket");
        let own = Lock::read(profile.path(), &host_name());
        assert_eq!(own, Lock::Held(pid));
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
