//! The files of agents: read, and replaced in one step, so that nobody ever sees half of one. A link is followed, because
//! people keep such files elsewhere; what belongs to another user, or is read-only, is never replaced.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Such files may contain keys.
const NEW_MODE: u32 = 0o600;

/// A file as it was read.
#[derive(Debug)]
pub struct ConfigFile {
    /// As the agent calls it.
    pub path: PathBuf,
    /// Where it really is.
    pub target: PathBuf,
    /// Nothing if it does not exist.
    pub content: Option<String>,
    mode: u32,
}

impl ConfigFile {
    pub fn read(path: &Path) -> Result<Self, Error> {
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Ok(Self {
                    path: path.to_owned(),
                    target: path.to_owned(),
                    content: None,
                    mode: NEW_MODE,
                });
            }
            Err(reason) => return Err(failed(path, reason)),
        };
        let metadata = fs::metadata(&target).map_err(|reason| failed(path, reason))?;
        if !metadata.is_file() {
            return Err(Error::SetupFile {
                file: target,
                problem: "is not a regular file",
            });
        }
        let content = fs::read_to_string(&target).map_err(|reason| failed(path, reason))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            content: Some(content),
            mode: metadata.mode() & 0o777,
        })
    }

    pub fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Whether the file itself is a link. Links among its folders surprise nobody.
    pub fn is_link(&self) -> bool {
        self.path.is_symlink()
    }

    /// Whether it may be replaced.
    pub fn check(&self) -> Result<(), Error> {
        let Ok(metadata) = fs::metadata(&self.target) else {
            return Ok(());
        };
        let problem = if metadata.uid() != rustix::process::geteuid().as_raw() {
            "belongs to another user"
        } else if metadata.mode() & 0o200 == 0 {
            "is read-only"
        } else {
            return Ok(());
        };
        Err(Error::SetupFile {
            file: self.target.clone(),
            problem,
        })
    }

    /// Replaces the content. The mode stays.
    pub fn write(&self, content: &str) -> Result<(), Error> {
        self.replace(content).map_err(|reason| Error::WriteFile {
            path: self.target.clone(),
            reason,
        })
    }

    fn replace(&self, content: &str) -> io::Result<()> {
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let mut new = tempfile::Builder::new()
            .prefix(".tabwire-")
            .tempfile_in(folder)?;
        new.write_all(content.as_bytes())?;
        let file = new.as_file();
        file.set_permissions(fs::Permissions::from_mode(self.mode))?;
        file.sync_all()?;
        new.persist(&self.target)?;
        Ok(())
    }

    pub fn remove(&self) -> Result<(), Error> {
        fs::remove_file(&self.path).map_err(|reason| Error::WriteFile {
            path: self.path.clone(),
            reason,
        })
    }
}

fn failed(path: &Path, reason: io::Error) -> Error {
    Error::ReadConfig {
        file: path.to_owned(),
        reason,
    }
}
