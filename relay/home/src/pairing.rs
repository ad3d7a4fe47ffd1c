//! Which browsers may connect to this home's relay: the content of `paired.json`, and the rules for
//! changing it. Reading and writing the file is in `pairing_file`.
//!
//! A **pairing** is a secret that the relay and some extension share. It is made for a folder that
//! `install-extension` or `up` writes, or as a code that the user pastes into the popup. A
//! **browser** is one installation of the extension that has proven to know the secret of its
//! pairing. Several browsers can load the same folder.

mod seen;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::proof::{Handshake, Role, Secret};

pub use seen::InUse;

/// How long an unused code stays valid, in milliseconds.
const CODE_LIFETIME: u64 = 60 * 60 * 1000;
const MAX_NAME: usize = 40;

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Pairings {
    #[serde(default)]
    pairings: Vec<Pairing>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pairing {
    id: PairingId,
    #[serde(with = "secret_text")]
    secret: Secret,
    origin: Origin,
    created: u64,
    /// What its first browser is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Whether any browser has connected with it.
    #[serde(default)]
    used: bool,
    #[serde(default)]
    browsers: Vec<PairedBrowser>,
    /// Installation ids that may not use this secret any more, although others may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revoked: Vec<String>,
}

/// Identifies a pairing. Not secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PairingId(String);

/// Where the extension has its secret from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    Folder(PathBuf),
    Code,
}

/// A browser that has connected. Times are milliseconds since 1970, as in JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PairedBrowser {
    pub install_id: String,
    pub name: String,
    /// Product and version, such as `Chrome/156.0.8078.79`.
    pub product: String,
    pub paired: u64,
    pub last_seen: u64,
    /// Whether the user chose its name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub renamed: bool,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Whether an extension's proof holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `name`: what the browser is called, unless it has never connected before.
    Proven {
        pairing: PairingId,
        name: Option<String>,
    },
    /// No pairing has this secret.
    NotPaired,
    /// The browser is paired, but not with this secret.
    WrongProof,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    #[error(
        "A browser's name has 1 to {MAX_NAME} letters, digits, dots, hyphens or underscores, and starts with a letter or digit."
    )]
    Malformed,
    #[error(
        "Another browser is called '{0}'. Choose another name; `tabwire browsers` lists those that are taken."
    )]
    Taken(String),
    #[error("No browser is called '{0}'. Run `tabwire browsers` to list them.")]
    Unknown(String),
}

impl Pairings {
    /// The secret of a folder that the extension is written to. A secret that the folder already
    /// has stays valid, so that writing a newer version needs no new pairing, wherever the folder
    /// was moved to. After a browser of the folder was unpaired, the folder gets a new one.
    pub fn pair_folder(
        &mut self,
        folder: &Path,
        present: Option<&Secret>,
        name: Option<&str>,
        now: u64,
    ) -> (PairingId, Secret) {
        let origin = Origin::Folder(folder.to_owned());
        let has_secret = |pairing: &Pairing| {
            pairing.origin != Origin::Code && present.is_some_and(|own| *own == pairing.secret)
        };
        let by_secret = self.pairings.iter().position(has_secret);
        let by_folder = || self.pairings.iter().position(|p| p.origin == origin);
        let found = by_secret.or_else(by_folder);
        let Some(pairing) = found.and_then(|at| self.pairings.get_mut(at)) else {
            return self.add(origin, name, now);
        };
        if by_secret.is_none() || !pairing.revoked.is_empty() {
            pairing.secret = Secret::random();
            pairing.revoked.clear();
        }
        pairing.origin = origin;
        pairing.name = name.map(str::to_owned).or(pairing.name.take());
        (pairing.id.clone(), pairing.secret.clone())
    }

    /// The secret of a code that the user pastes into the popup.
    pub fn pair_by_code(&mut self, name: Option<&str>, now: u64) -> Secret {
        self.add(Origin::Code, name, now).1
    }

    fn add(&mut self, origin: Origin, name: Option<&str>, now: u64) -> (PairingId, Secret) {
        let pairing = Pairing {
            id: PairingId(format!("{:016x}", rand::random::<u64>())),
            secret: Secret::random(),
            origin,
            created: now,
            name: name.map(str::to_owned),
            used: false,
            browsers: Vec::new(),
            revoked: Vec::new(),
        };
        let made = (pairing.id.clone(), pairing.secret.clone());
        self.pairings.push(pairing);
        made
    }

    pub(crate) fn forget_unused_codes(&mut self, now: u64) {
        self.pairings.retain(|pairing| {
            pairing.origin != Origin::Code
                || !pairing.browsers.is_empty()
                || now.saturating_sub(pairing.created) < CODE_LIFETIME
        });
    }

    /// A browser that has connected before must use the secret of its pairing, or one that was made
    /// since and that nobody has used. This way no browser can pose as another one.
    pub fn verify(&self, handshake: &Handshake<'_>, proof: &str, now: u64) -> Verdict {
        let install_id = handshake.install_id;
        let own = self.pairings.iter().find(|p| p.has(install_id));
        let may_use = |pairing: &&Pairing| match own {
            Some(own) if own.id == pairing.id => true,
            Some(own) => pairing.is_unused(now) && pairing.created >= own.created,
            None => pairing.accepts_new_browsers(now),
        };
        let mut proven = self.pairings.iter().filter(may_use).filter(|pairing| {
            !pairing.revoked.iter().any(|id| id == install_id)
                && pairing.secret.verify(Role::Extension, handshake, proof)
        });
        match (proven.next(), own) {
            (Some(pairing), _) => Verdict::Proven {
                pairing: pairing.id.clone(),
                name: self.browser(install_id).map(|browser| browser.name.clone()),
            },
            (None, Some(_)) => Verdict::WrongProof,
            (None, None) => Verdict::NotPaired,
        }
    }

    /// The relay's own proof.
    pub fn prove(&self, id: &PairingId, handshake: &Handshake<'_>) -> Option<String> {
        let pairing = self.pairings.iter().find(|pairing| pairing.id == *id)?;
        Some(pairing.secret.prove(Role::Relay, handshake))
    }

    fn take_browser(&mut self, install_id: &str) -> Option<PairedBrowser> {
        self.pairings.iter_mut().find_map(|pairing| {
            let at = pairing.position(install_id)?;
            Some(pairing.browsers.remove(at))
        })
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), NameFault> {
        check_name(to)?;
        let unknown = || NameFault::Unknown(from.to_owned());
        let install_id = self.named(from).ok_or_else(unknown)?.install_id.clone();
        if self
            .named(to)
            .is_some_and(|other| other.install_id != install_id)
        {
            return Err(NameFault::Taken(to.to_owned()));
        }
        for browser in self.pairings.iter_mut().flat_map(|p| &mut p.browsers) {
            if browser.install_id == install_id {
                to.clone_into(&mut browser.name);
                browser.renamed = true;
            }
        }
        Ok(())
    }

    /// Removes a browser. Its secret goes with it, unless other browsers have the same one; then this
    /// installation alone is refused. Returns the browser, and the names of those others.
    pub fn unpair(&mut self, name: &str) -> Result<(PairedBrowser, Vec<String>), NameFault> {
        let unknown = || NameFault::Unknown(name.to_owned());
        let install_id = self.named(name).ok_or_else(unknown)?.install_id.clone();
        let at = self.pairings.iter().position(|p| p.has(&install_id));
        let removed = self.take_browser(&install_id).ok_or_else(unknown)?;
        let mut sharing = Vec::new();
        if let Some(at) = at
            && let Some(pairing) = self.pairings.get_mut(at)
        {
            if pairing.browsers.is_empty() {
                self.pairings.remove(at);
            } else {
                pairing.revoked.push(install_id);
                sharing.extend(pairing.browsers.iter().map(|browser| browser.name.clone()));
            }
        }
        Ok((removed, sharing))
    }

    /// Removes the pairing of a folder, with all its browsers.
    pub fn unpair_folder(&mut self, folder: &Path) {
        let origin = Origin::Folder(folder.to_owned());
        self.pairings.retain(|pairing| pairing.origin != origin);
    }

    pub fn browsers(&self) -> impl Iterator<Item = &PairedBrowser> {
        self.pairings.iter().flat_map(|pairing| &pairing.browsers)
    }

    pub fn browser(&self, install_id: &str) -> Option<&PairedBrowser> {
        self.browsers()
            .find(|browser| browser.install_id == install_id)
    }

    /// The browsers that have connected with this secret. `None`: it is of no pairing.
    pub fn browsers_with(&self, secret: &Secret) -> Option<&[PairedBrowser]> {
        let mut pairings = self.pairings.iter();
        let own = pairings.find(|pairing| pairing.secret == *secret)?;
        Some(&own.browsers)
    }

    /// The pairing of this secret.
    pub fn with_secret(&self, secret: &Secret) -> Option<&PairingId> {
        let mut pairings = self.pairings.iter();
        let own = pairings.find(|pairing| pairing.secret == *secret)?;
        Some(&own.id)
    }

    /// Whether a browser has connected with a code, wherever its extension is.
    pub fn has_code_browsers(&self) -> bool {
        let mut codes = self.pairings.iter().filter(|p| p.origin == Origin::Code);
        codes.any(|pairing| !pairing.browsers.is_empty())
    }

    /// The folders that the extension was written to, as they were called then.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.pairings
            .iter()
            .filter_map(|pairing| match &pairing.origin {
                Origin::Folder(folder) => Some(folder.as_path()),
                Origin::Code => None,
            })
    }

    /// Whether anybody can connect with this secret, now or later.
    pub fn contains(&self, id: &PairingId) -> bool {
        self.pairings.iter().any(|pairing| pairing.id == *id)
    }

    /// Whether this browser may stay connected.
    pub fn is_paired(&self, id: &PairingId, install_id: &str) -> bool {
        let pairing = self.pairings.iter().find(|pairing| pairing.id == *id);
        pairing.is_some_and(|pairing| !pairing.revoked.iter().any(|revoked| revoked == install_id))
    }

    /// Whether a browser has this name whose extension is not from this folder.
    pub fn has_name_outside(&self, folder: Option<&Path>, name: &str) -> bool {
        self.has_name_elsewhere(|own| folder == Some(own), name)
    }

    /// As `has_name_outside`, for any number of folders.
    pub fn has_name_elsewhere(&self, is_own: impl Fn(&Path) -> bool, name: &str) -> bool {
        let is_outside = |pairing: &&Pairing| match &pairing.origin {
            Origin::Folder(folder) => !is_own(folder),
            Origin::Code => true,
        };
        let others = self.pairings.iter().filter(is_outside);
        others
            .flat_map(|pairing| &pairing.browsers)
            .any(|browser| browser.name.eq_ignore_ascii_case(name))
    }

    fn named(&self, name: &str) -> Option<&PairedBrowser> {
        self.browsers()
            .find(|browser| browser.name.eq_ignore_ascii_case(name))
    }
}

impl Pairing {
    fn position(&self, install_id: &str) -> Option<usize> {
        self.browsers
            .iter()
            .position(|browser| browser.install_id == install_id)
    }

    fn has(&self, install_id: &str) -> bool {
        self.position(install_id).is_some()
    }

    /// Whether a browser that has never connected may use this secret. A code admits one browser,
    /// and a folder no new one after one of its browsers was unpaired.
    fn accepts_new_browsers(&self, now: u64) -> bool {
        match self.origin {
            Origin::Code => self.is_unused(now),
            Origin::Folder(_) => self.revoked.is_empty(),
        }
    }

    fn is_unused(&self, now: u64) -> bool {
        let is_valid =
            self.origin != Origin::Code || now.saturating_sub(self.created) < CODE_LIFETIME;
        !self.used && self.browsers.is_empty() && is_valid
    }
}

/// Names are used in URLs and on the command line.
pub fn check_name(name: &str) -> Result<(), NameFault> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    // It becomes the name of a folder, where `..` has a meaning.
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if starts_well && name.len() <= MAX_NAME && name.bytes().all(is_valid) {
        Ok(())
    } else {
        Err(NameFault::Malformed)
    }
}

mod secret_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Secret;

    pub fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&secret.reveal())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        let text = String::deserialize(from)?;
        Secret::parse(&text).ok_or_else(|| D::Error::custom("a secret has 32 bytes"))
    }
}

#[cfg(test)]
mod tests;
