//! Opens the files of the home. Nothing is read from or written to a file that may be somebody else's: one
//! behind a link, of another owner, or that others can write to.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::FileFault;

/// Opens a file to append to it, and creates it if it is missing.
pub fn open_to_append(path: &Path) -> Result<File, FileFault> {
    open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
}

pub fn open_to_read(path: &Path) -> Result<File, FileFault> {
    open(path, OFlags::RDONLY)
}

/// Opens a file to lock it, and creates it if it is missing.
pub(crate) fn open_to_lock(path: &Path) -> Result<File, FileFault> {
    open(path, OFlags::RDWR | OFlags::CREATE)
}

pub fn read_to_string(path: &Path) -> Result<String, FileFault> {
    let mut text = String::new();
    open_to_read(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a file that only this user can have written. It is private to its owner afterwards, under any
/// umask.
fn open(path: &Path, access: OFlags) -> Result<File, FileFault> {
    // O_NONBLOCK: opening a FIFO must not hang.
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::LOOP) => return Err(FileFault::SymbolicLink),
        Err(error) => return Err(FileFault::Io(error.into())),
    };
    let meta = file.metadata()?;
    let mode = meta.permissions().mode() & 0o777;
    if !meta.is_file() {
        return Err(FileFault::NotAFile);
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(FileFault::OtherOwner);
    }
    if meta.nlink() > 1 {
        return Err(FileFault::HardLink);
    }
    if mode & 0o022 != 0 {
        return Err(FileFault::WritableByOthers);
    }
    // The umask may also have removed permissions from the owner.
    if mode != 0o600 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    if mode & 0o044 != 0 {
        tracing::warn!(
            "{} was readable by other users. Its permissions are now 0600.",
            path.display()
        );
    }
    Ok(file)
}

impl FileFault {
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == ErrorKind::NotFound)
    }
}

impl From<FileFault> for io::Error {
    fn from(fault: FileFault) -> Self {
        match fault {
            FileFault::Io(error) => error,
            fault => Self::new(ErrorKind::InvalidInput, fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn file_is_private_after_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a").unwrap();
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        set_mode(&path, 0o644);
        open_to_append(&path).unwrap().write_all(b"b").unwrap();
        assert_eq!(mode(), 0o600);
        set_mode(&path, 0o444);
        assert_eq!(read_to_string(&path).unwrap(), "ab");
        assert_eq!(mode(), 0o600);
        open_to_lock(&path).unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "ab");
    }

    #[test]
    fn creates_what_is_appended_to_or_locked() {
        let folder = tempfile::tempdir().unwrap();
        let [log, lock, missing] = ["log", "lock", "missing"].map(|name| folder.path().join(name));
        open_to_append(&log).unwrap();
        open_to_lock(&lock).unwrap().write_all(b"a").unwrap();
        assert!(open_to_read(&missing).unwrap_err().is_missing());
        assert!(log.exists() && lock.exists() && !missing.exists());
    }

    #[test]
    fn refuses_what_may_be_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, hard, missing, fifo, open] =
            ["file", "link", "hard", "missing", "fifo", "open"]
                .map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        symlink(&missing, &link).unwrap();
        fs::hard_link(&file, &hard).unwrap();
        fs::write(&open, "").unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        for mode in [0o666, 0o620, 0o602] {
            set_mode(&open, mode);
            for path in [&link, &hard, &fifo, &open, &folder.path().to_owned()] {
                assert!(open_to_append(path).is_err(), "{}", path.display());
                assert!(open_to_read(path).is_err(), "{}", path.display());
                assert!(open_to_lock(path).is_err(), "{}", path.display());
            }
        }
        assert!(!missing.exists());
    }
}
