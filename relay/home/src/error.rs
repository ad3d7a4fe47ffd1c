//! What can be wrong with the home and its files. Each text is a complete sentence that tells the
//! user what to do.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("Cannot find your home folder. Set TABWIRE_HOME to a folder of your own.")]
    NoHomeFolder,
    #[error("TABWIRE_HOME is not a valid path: {0}.")]
    InvalidPath(io::Error),
    #[error("{} is not a folder. Symbolic links are not followed here, because Tabwire keeps a secret in it.", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} belongs to another user. Set TABWIRE_HOME to a folder of your own.", .0.display())]
    OtherOwner(PathBuf),
    #[error("Other users can write to {}. Set TABWIRE_HOME to a folder of your own.", .0.display())]
    WritableByOthers(PathBuf),
    #[error("{} belongs to another user, who could put another folder in place of your Tabwire home below it. Set TABWIRE_HOME to a folder elsewhere.", .0.display())]
    AncestorOfOther(PathBuf),
    #[error("Other users can write to {folder}, and could put another folder in place of your Tabwire home below it. Run `chmod go-w {folder}`, or set TABWIRE_HOME to a folder elsewhere.", folder = .0.display())]
    AncestorWritable(PathBuf),
    #[error("Cannot {action} {}: {reason}.", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        reason: io::Error,
    },
    #[error("Cannot use {}: {fault}. Remove it to get a new token.", path.display())]
    Token { path: PathBuf, fault: TokenFault },
    #[error("Cannot use {}: {fault}. Remove it{remedy}.", path.display())]
    File {
        path: PathBuf,
        fault: FileFault,
        /// What to do beside removing it.
        remedy: &'static str,
    },
    #[error("Cannot use {}: {reason}. Remove it and pair your browsers again.", path.display())]
    Paired {
        path: PathBuf,
        reason: serde_json::Error,
    },
}

/// Why a file is rejected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    #[error("it is a symbolic link")]
    SymbolicLink,
    #[error("it is the same file as another one, by a hard link")]
    HardLink,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it belongs to another user")]
    OtherOwner,
    #[error("other users can write to it")]
    WritableByOthers,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Why the token file is rejected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    #[error("it does not contain a token")]
    Malformed,
    #[error(transparent)]
    File(#[from] FileFault),
}

impl Error {
    /// For `map_err`: names the file that an I/O error is about.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Io {
            action,
            path,
            reason,
        }
    }
}
