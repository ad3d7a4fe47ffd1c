//! Opens the files that relays append to. Nothing is written through a link or into a file that may
//! be somebody else's.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a file to append to it, and creates it if it is missing. It is private to its owner
/// afterwards, under any umask.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let file = open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
    let meta = file.metadata()?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(refusal("it belongs to another user"));
    }
    if meta.nlink() > 1 {
        return Err(refusal(
            "it is the same file as another one, by a hard link",
        ));
    }
    if meta.permissions().mode() & 0o777 != 0o600 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, OFlags::RDONLY)
}

fn open(path: &Path, access: OFlags) -> io::Result<File> {
    // O_NONBLOCK: opening a FIFO must not hang.
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::LOOP) => return Err(refusal("it is a symbolic link")),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(refusal("it is not a regular file"));
    }
    Ok(file)
}

fn refusal(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn appends_to_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "a").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        open_to_append(&path).unwrap().write_all(b"b").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ab");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn refuses_what_may_be_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, hard, missing, fifo] =
            ["file", "link", "hard", "missing", "fifo"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        symlink(&missing, &link).unwrap();
        fs::hard_link(&file, &hard).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        for path in [&link, &hard, &fifo, &folder.path().to_owned()] {
            assert!(open_to_append(path).is_err(), "{}", path.display());
        }
        for path in [&link, &fifo, &folder.path().to_owned()] {
            assert!(open_to_read(path).is_err(), "{}", path.display());
        }
        assert!(!missing.exists());
    }
}
