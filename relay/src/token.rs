//! The secret that lets clients in: 32 random bytes, made once, kept in a file that only its owner can read.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::home::Home;

/// It has no `Debug` and no `Display`: it cannot be logged by mistake.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The home's token; made if there is none. Many relays that start at once agree on one.
    pub fn of(home: &Home) -> anyhow::Result<Self> {
        let path = home.file("auth-token");
        if !path.try_exists().unwrap_or(false) && fs::symlink_metadata(&path).is_err() {
            create(home, &path).with_context(|| format!("cannot create {}", path.display()))?;
        }
        Self::read(home)
    }

    /// The home's token, which must be there.
    pub fn read(home: &Home) -> anyhow::Result<Self> {
        let path = home.file("auth-token");
        read(&path)
            .map(Self)
            .with_context(|| format!("cannot use {}", path.display()))
    }

    /// Compares digests, so that neither content nor length shows in the time it takes.
    pub fn matches(&self, presented: &str) -> bool {
        let (own, other) = (Sha256::digest(&self.0), Sha256::digest(presented));
        own.as_slice().ct_eq(other.as_slice()).into()
    }

    #[cfg(test)]
    pub fn for_test(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// For the CDP URL, and for the worker that connects to it; nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn create(home: &Home, path: &Path) -> anyhow::Result<()> {
    let token = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
    let mut file = home.new_file()?;
    file.write_all(token.as_bytes())?;
    // Only the first of several that start at once puts its file there; the others find it.
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let opened = rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK,
        Mode::empty(),
    );
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::LOOP) => {
            bail!("it is a symbolic link, and a secret is not followed to another place; remove it")
        }
        Err(error) => return Err(error.into()),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        bail!("it is not a plain file; remove it");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        bail!("it belongs to another user; remove it");
    }
    if meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        tracing::warn!(
            "{} could be read by others; it is closed now. If others use this machine, remove it for a new token",
            path.display()
        );
    }
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text)?;
    let text = text.trim().to_owned();
    if URL_SAFE_NO_PAD
        .decode(&text)
        .is_ok_and(|bytes| bytes.len() == 32)
    {
        Ok(text)
    } else {
        bail!("it does not hold a token; remove it, and a new one is made")
    }
}
