//! The home folder: where it is, that it is private to its owner, and the names of the files in it.
//!
//! Tabwire writes to no other folder unless the user names one.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::ancestors;
use crate::error::Error;
use crate::state::State;

/// A home folder that exists, belongs to this user, and is closed to others.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Opens `TABWIRE_HOME` or `~/.tabwire`, and creates it if it is missing.
    pub fn open() -> Result<Self, Error> {
        Self::open_at(locate()?)
    }

    pub fn open_at(path: PathBuf) -> Result<Self, Error> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(Error::io("create", &path))?;
        let meta = fs::symlink_metadata(&path).map_err(Error::io("inspect", &path))?;
        if !meta.is_dir() {
            return Err(Error::NotAFolder(path));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(Error::OtherOwner(path));
        }
        make_private(&path, meta.permissions().mode() & 0o777)?;
        // A folder above it may be a link. Paths in the home are compared with those that were stored,
        // which contain no links.
        let path = fs::canonicalize(&path).map_err(Error::io("inspect", &path))?;
        ancestors::check(&path)?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn auth_token_file(&self) -> PathBuf {
        self.path.join("auth-token")
    }

    pub fn cdp_url_file(&self) -> PathBuf {
        self.path.join("cdp-url")
    }

    pub fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// The browsers that may connect.
    pub fn paired_file(&self) -> PathBuf {
        self.path.join("paired.json")
    }

    /// The log of the relay that owns this home.
    pub fn relay_log_file(&self) -> PathBuf {
        self.path.join("relay.log")
    }

    /// What the log contained before it became too large. The larger the number, the older.
    pub fn old_relay_log_file(&self, number: usize) -> PathBuf {
        self.path.join(format!("relay.log.{number}"))
    }

    /// What a relay in the background prints: why it cannot start, and panics.
    pub fn relay_output_file(&self) -> PathBuf {
        self.path.join("relay.out")
    }

    /// The extension that the user loads. It is beside the home and not in it, because folder
    /// pickers do not show hidden folders.
    pub fn visible_extension_folder(&self) -> PathBuf {
        self.path.with_file_name("Tabwire Extension")
    }

    /// The extension and the profile of a browser that the relay launches, by its name.
    pub fn launched_folder(&self, name: &str) -> PathBuf {
        self.path.join("launched").join(name)
    }

    /// The folders of browsers that leave nothing behind.
    pub fn temporary_folder(&self) -> PathBuf {
        self.path.join("temporary")
    }

    /// For what agents download, print or record, unless the user chose another folder.
    pub fn files_folder(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The script runner and its packages, one folder per version.
    pub fn runner_folder(&self) -> PathBuf {
        self.path.join("runner")
    }

    /// The relay that owns this home and is alive.
    pub fn running_relay(&self) -> Option<State> {
        State::of_running(self)
    }

    /// The relay that last owned this home. It may have been killed.
    pub fn last_relay(&self) -> Option<State> {
        State::read(self)
    }

    /// Replaces a file. Readers see the old content or the new, never a part, and other users see
    /// neither.
    pub(crate) fn write_private(&self, path: &Path, text: &str) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            let mut file = self.new_file()?;
            file.write_all(text.as_bytes())?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(Error::io("write", path))
    }

    /// A file without a final name yet, created with O_EXCL and mode 0600 under any umask.
    pub(crate) fn new_file(&self) -> io::Result<NamedTempFile> {
        let file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.path)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
}

fn locate() -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("TABWIRE_HOME").filter(|path| !path.is_empty()) {
        let path = std::path::absolute(path).map_err(Error::InvalidPath)?;
        // Collecting components drops a trailing slash, which would make the kernel follow a link.
        return Ok(path.components().collect());
    }
    std::env::home_dir()
        .filter(|home| !home.as_os_str().is_empty())
        .map(|home| home.join(".tabwire"))
        .ok_or(Error::NoHomeFolder)
}

/// Closes a folder that others could read. One that others can write to is rejected: its files may
/// not be ours.
fn make_private(path: &Path, mode: u32) -> Result<(), Error> {
    if mode & 0o022 != 0 {
        return Err(Error::WritableByOthers(path.to_owned()));
    }
    // The umask may also have removed permissions from the owner.
    if mode != 0o700 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(Error::io("set the permissions of", path))?;
    }
    if mode & 0o077 != 0 {
        tracing::warn!(
            "{} was accessible to other users. Its permissions are now 0700.",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn link_above_the_home_is_resolved_and_a_link_in_its_place_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::create_dir(folder.join("real")).unwrap();
        symlink(folder.join("real"), folder.join("link")).unwrap();
        let home = Home::open_at(folder.join("link/home")).unwrap();
        assert_eq!(home.path(), folder.join("real/home"));
        symlink(folder.join("real/home"), folder.join("home")).unwrap();
        assert!(Home::open_at(folder.join("home")).is_err());
    }
}
