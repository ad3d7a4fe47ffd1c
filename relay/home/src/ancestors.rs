//! The folders above the home. Whoever can rename one of them can put another home in its place, with a
//! token and pairings of their own, so they must belong to the user or to root. As with `StrictModes` of
//! sshd.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::Error;

const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// `home`: without links.
pub fn check(home: &Path) -> Result<(), Error> {
    let user = User::current();
    for folder in home.ancestors().skip(1) {
        let meta = fs::symlink_metadata(folder).map_err(Error::io("inspect", folder))?;
        if !user.trusts_owner(meta.uid()) {
            return Err(Error::AncestorOfOther(folder.to_owned()));
        }
        if user.lets_others_write(meta.mode(), meta.gid()) {
            return Err(Error::AncestorWritable(folder.to_owned()));
        }
    }
    Ok(())
}

struct User {
    uid: u32,
    gid: u32,
    /// What the kernel calls the owner of root's files in a user namespace without root, such as a
    /// sandbox.
    unmapped_root: Option<u32>,
}

impl User {
    fn current() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        let (map, overflow) = ("/proc/self/uid_map", "/proc/sys/kernel/overflowuid");
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            unmapped_root: unmapped_root(read(map), read(overflow)),
        }
    }

    fn trusts_owner(&self, owner: u32) -> bool {
        [self.uid, ROOT].contains(&owner) || self.unmapped_root == Some(owner)
    }

    fn lets_others_write(&self, mode: u32, group: u32) -> bool {
        // Many systems give each user a group of their own, with the same number, and let it write.
        let is_own_group = group == self.gid && self.gid == self.uid;
        let writers = if is_own_group { 0o002 } else { 0o022 };
        // In a folder like /tmp, only the owner of an entry can rename it.
        mode & writers != 0 && mode & STICKY == 0
    }
}

/// Systems other than Linux have neither file.
fn unmapped_root(map: Option<String>, overflow: Option<String>) -> Option<u32> {
    let is_mapped = maps_root(&map?);
    overflow?.trim().parse().ok().filter(|_| !is_mapped)
}

/// Each line maps a range of this namespace: its start, the start outside, and its length.
fn maps_root(map: &str) -> bool {
    map.lines()
        .any(|line| line.split_whitespace().next() == Some("0"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const USER: User = User {
        uid: 1000,
        gid: 1000,
        unmapped_root: None,
    };

    #[test]
    fn only_the_user_and_root_may_own_a_folder() {
        assert!(USER.trusts_owner(1000) && USER.trusts_owner(0));
        assert!(!USER.trusts_owner(1001) && !USER.trusts_owner(65534));
        let in_sandbox = User {
            unmapped_root: Some(65534),
            ..USER
        };
        assert!(in_sandbox.trusts_owner(65534) && !in_sandbox.trusts_owner(1001));
    }

    #[test]
    fn others_may_write_only_to_a_sticky_folder() {
        let writable = |mode, group| USER.lets_others_write(mode, group);
        for mode in [0o755, 0o700, 0o1777, 0o1775] {
            assert!(!writable(mode, 50), "{mode:o}");
        }
        for mode in [0o777, 0o775, 0o757, 0o2775] {
            assert!(writable(mode, 50), "{mode:o}");
        }
        // The user's own group.
        assert!(!writable(0o775, 1000) && writable(0o777, 1000));
        let shared = User { gid: 100, ..USER };
        assert!(shared.lets_others_write(0o775, 100));
    }

    #[test]
    fn namespace_without_root_is_recognized() {
        assert!(maps_root("         0          0 4294967295\n"));
        assert!(maps_root(
            "      1000       1000          1\n         0       5000          1\n"
        ));
        assert!(!maps_root("      1000       1000          1\n"));
    }

    #[test]
    fn unmapped_root_has_the_number_of_unmapped_users() {
        let overflow = || Some("65534\n".to_owned());
        let root = |map: &str| unmapped_root(Some(map.to_owned()), overflow());
        assert_eq!(root("1000 1000 1\n"), Some(65534));
        assert_eq!(root("0 0 4294967295\n"), None);
        assert_eq!(unmapped_root(None, overflow()), None);
    }

    #[test]
    fn every_folder_above_the_home_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        let home = open.join("inner/home");
        fs::create_dir_all(&home).unwrap();
        let result_with = |mode| {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            check(&home.canonicalize().unwrap())
        };
        assert!(result_with(0o755).is_ok());
        let refused = result_with(0o777).unwrap_err();
        assert!(matches!(refused, Error::AncestorWritable(path) if path.ends_with("open")));
    }
}
