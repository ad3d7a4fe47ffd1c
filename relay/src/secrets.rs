//! The home's secrets as a running relay sees them: the token of clients and the pairings of
//! browsers. Both are read again when their files change, so that removing or replacing one takes
//! effect at once.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tabwire_home::{Error, Handshake, Home, InUse, PairingId, Pairings, Token, Verdict, now};

pub struct Secrets {
    home: Home,
    token: Mutex<CachedToken>,
    pairings: Mutex<CachedPairings>,
}

struct CachedToken {
    /// `None`: the file cannot be used. Nobody gets in until it can.
    token: Option<Token>,
    version: Option<FileVersion>,
    /// Counts the tokens this relay has had.
    generation: u64,
}

struct CachedPairings {
    pairings: Pairings,
    version: Option<FileVersion>,
}

/// Distinguishes the versions of a file that is always replaced and never written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
}

impl FileVersion {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(Self {
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            size: meta.size(),
        })
    }
}

impl Secrets {
    /// Creates the token if there is none.
    pub fn open(home: &Home) -> Result<Self, Error> {
        Token::load_or_create(home)?;
        // Versions are taken before the files are read: a file that is replaced in between is read
        // again.
        let token_version = FileVersion::of(&home.auth_token_file());
        let pairings_version = FileVersion::of(&home.paired_file());
        Ok(Self {
            token: Mutex::new(CachedToken {
                token: Some(Token::load(home)?),
                version: token_version,
                generation: 0,
            }),
            pairings: Mutex::new(CachedPairings {
                pairings: home.pairings()?,
                version: pairings_version,
            }),
            home: home.clone(),
        })
    }

    /// The current token and its generation. A file that was removed is created again, with a new
    /// token.
    pub fn token(&self) -> (Option<Token>, u64) {
        let mut cached = lock(&self.token);
        let mut version = FileVersion::of(&self.home.auth_token_file());
        if version.is_none() && Token::load_or_create(&self.home).is_ok() {
            version = FileVersion::of(&self.home.auth_token_file());
        }
        if version != cached.version {
            let loaded = Token::load(&self.home);
            if let Err(error) = &loaded {
                tracing::warn!(%error, "no client can connect until the token can be read");
            }
            cached.token = loaded.ok();
            cached.version = version;
            cached.generation += 1;
        }
        (cached.token.clone(), cached.generation)
    }

    /// Returns the token's generation if a client presents the current token.
    pub fn check_token(&self, presented: &str) -> Option<u64> {
        let (token, generation) = self.token();
        token
            .is_some_and(|token| token.matches(presented))
            .then_some(generation)
    }

    /// Verifies an extension's proof. Returns the relay's own proof too if it is valid.
    pub fn verify(&self, handshake: &Handshake<'_>, proof: &str) -> (Verdict, Option<String>) {
        let cached = self.current_pairings();
        let verdict = cached.pairings.verify(handshake, proof, now());
        let own = match &verdict {
            Verdict::Proven { pairing, .. } => cached.pairings.prove(pairing, handshake),
            Verdict::NotPaired | Verdict::WrongProof => None,
        };
        (verdict, own)
    }

    /// Records that a browser has connected, and returns its name.
    pub fn record_seen(
        &self,
        pairing: &PairingId,
        install_id: &str,
        browser: (&str, &str),
        in_use: &InUse,
    ) -> Result<Option<String>, Error> {
        self.home.update_pairings(|pairings| {
            pairings.record_seen(pairing, install_id, browser, in_use, now())
        })
    }

    pub fn with_pairings<T>(&self, read: impl FnOnce(&Pairings) -> T) -> T {
        read(&self.current_pairings().pairings)
    }

    fn current_pairings(&self) -> MutexGuard<'_, CachedPairings> {
        let mut cached = lock(&self.pairings);
        let version = FileVersion::of(&self.home.paired_file());
        if version != cached.version {
            cached.version = version;
            // A file that cannot be read admits nobody.
            cached.pairings = self.home.pairings().unwrap_or_else(|error| {
                tracing::warn!(%error, "no browser can connect until the file can be read");
                Pairings::default()
            });
        }
        cached
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
