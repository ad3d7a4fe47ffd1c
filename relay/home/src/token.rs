//! The secret that admits clients: 32 random bytes, created once, in a file that only its owner can
//! read.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::{Error, FileFault, TokenFault};
use crate::folder::Home;
use crate::private_file::open_to_read;

/// Enough for any token; a larger file is not one.
const MAX_FILE_SIZE: u64 = 4096;

/// No `Debug` and no `Display`, so that it cannot be logged by mistake.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Reads the home's token, and creates it if there is none. Relays that start at the same time
    /// agree on one.
    pub fn load_or_create(home: &Home) -> Result<Self, Error> {
        let path = home.auth_token_file();
        // `symlink_metadata` also sees a dangling link, which must be rejected and not written
        // through.
        if fs::symlink_metadata(&path).is_err() {
            create(home, &path).map_err(Error::io("create", &path))?;
        }
        Self::load(home)
    }

    /// Reads the home's token, which must exist.
    pub fn load(home: &Home) -> Result<Self, Error> {
        let path = home.auth_token_file();
        read(&path)
            .map(Self)
            .map_err(|fault| Error::Token { path, fault })
    }

    /// A token that is in no file.
    #[cfg(feature = "test-support")]
    pub fn for_test(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Compares digests, so that the time it takes reveals neither content nor length.
    pub fn matches(&self, presented: &str) -> bool {
        let (own, other) = (Sha256::digest(&self.0), Sha256::digest(presented));
        own.as_slice().ct_eq(other.as_slice()).into()
    }

    /// For addresses and requests of clients. Never log it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn create(home: &Home, path: &Path) -> io::Result<()> {
    let token = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
    let mut file = home.new_file()?;
    file.write_all(token.as_bytes())?;
    // Of several processes that start at the same time, the first one wins and the others read its
    // file.
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn read(path: &Path) -> Result<String, TokenFault> {
    let mut text = String::new();
    open_to_read(path)?
        .take(MAX_FILE_SIZE)
        .read_to_string(&mut text)
        .map_err(FileFault::Io)?;
    let text = text.trim();
    let is_token = URL_SAFE_NO_PAD
        .decode(text)
        .is_ok_and(|bytes| bytes.len() == 32);
    is_token
        .then(|| text.to_owned())
        .ok_or(TokenFault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_created_once_and_matches_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        assert!(Token::load(&home).is_err());
        let token = Token::load_or_create(&home).unwrap();
        let again = Token::load_or_create(&home).unwrap();
        assert!(token.matches(again.reveal()));
        assert!(!token.matches(""));
        assert!(!token.matches(&format!("{}x", token.reveal())));
    }

    #[test]
    fn first_of_several_creators_wins() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        let path = home.auth_token_file();
        create(&home, &path).unwrap();
        let first = fs::read(&path).unwrap();
        create(&home, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        assert!(create(&home, &home.path().join("missing/token")).is_err());
    }
}
