//! Which browsers may connect to this home's relay: the content of `paired.json`, and the rules for
//! changing it. Reading and writing the file is in `pairing_file`.
//!
//! A **pairing** is a secret that the relay and some extension share. It is made for a folder that
//! `install-extension` or `up` writes, or as a code that the user pastes into the popup. A
//! **browser** is one installation of the extension that has proven to know the secret of its
//! pairing. Several browsers can load the same folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::proof::{Handshake, Role, Secret};

/// How long an unused code stays valid, in milliseconds.
const CODE_LIFETIME: u64 = 60 * 60 * 1000;
/// Removing and loading the extension again makes another browser. The ones that were not seen for
/// the longest time are forgotten.
const MAX_BROWSERS: usize = 32;
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
    #[serde(default)]
    browsers: Vec<PairedBrowser>,
    /// Installation ids that may not use this secret any more, although others may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revoked: Vec<String>,
}

/// Identifies a pairing. Not secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[error("A browser's name has 1 to {MAX_NAME} letters, digits, dots, hyphens or underscores.")]
    Malformed,
    #[error("Another browser is called '{0}'.")]
    Taken(String),
    #[error("No browser is called '{0}'. Run `tabwire browsers` to list them.")]
    Unknown(String),
}

impl Pairings {
    /// The secret of a folder that the extension is written to. A secret that the folder already
    /// has stays valid, so that writing a newer version needs no new pairing.
    pub fn pair_folder(
        &mut self,
        folder: &Path,
        present: Option<&Secret>,
        name: Option<&str>,
        now: u64,
    ) -> (PairingId, Secret) {
        let origin = Origin::Folder(folder.to_owned());
        let known = self.pairings.iter_mut().find(|pairing| {
            pairing.origin == origin && present.is_some_and(|present| *present == pairing.secret)
        });
        if let Some(pairing) = known {
            pairing.name = name.map(str::to_owned).or(pairing.name.take());
            return (pairing.id.clone(), pairing.secret.clone());
        }
        // A folder that was removed and written again: its old secret is in no folder any more.
        if let Some(pairing) = self.pairings.iter_mut().find(|p| p.origin == origin) {
            pairing.secret = Secret::random();
            return (pairing.id.clone(), pairing.secret.clone());
        }
        self.add(origin, name, now)
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

    /// A browser that has connected before must use the secret of its pairing, or a code that was
    /// made for it since. This way no browser can pose as another one.
    pub fn verify(&self, handshake: &Handshake<'_>, proof: &str, now: u64) -> Verdict {
        let install_id = handshake.install_id;
        let own = self.pairings.iter().find(|p| p.has(install_id));
        let candidates = self.pairings.iter().filter(|pairing| match own {
            Some(own) => own.id == pairing.id || pairing.is_unused_code(now),
            None => pairing.origin != Origin::Code || pairing.is_unused_code(now),
        });
        let mut proven = candidates.filter(|pairing| {
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

    /// Records that a browser has connected, and returns its name. `brand` is what a new one is
    /// named after.
    pub fn record_seen(
        &mut self,
        id: &PairingId,
        install_id: &str,
        (brand, product): (&str, &str),
        now: u64,
    ) -> Option<String> {
        let known = self.take_browser(install_id);
        let free_name = self.free_name(id, brand);
        let pairing = self.pairings.iter_mut().find(|pairing| pairing.id == *id)?;
        let browser = PairedBrowser {
            product: product.to_owned(),
            last_seen: now,
            ..known.unwrap_or_else(|| PairedBrowser {
                install_id: install_id.to_owned(),
                name: free_name,
                product: String::new(),
                paired: now,
                last_seen: now,
            })
        };
        let name = browser.name.clone();
        pairing.browsers.push(browser);
        pairing.browsers.sort_by_key(|browser| browser.last_seen);
        let surplus = pairing.browsers.len().saturating_sub(MAX_BROWSERS);
        pairing.browsers.drain(..surplus);
        Some(name)
    }

    fn take_browser(&mut self, install_id: &str) -> Option<PairedBrowser> {
        self.pairings.iter_mut().find_map(|pairing| {
            let at = pairing.position(install_id)?;
            Some(pairing.browsers.remove(at))
        })
    }

    /// The name that the user chose for this pairing, or the browser's brand, with a number if it
    /// is taken.
    fn free_name(&self, id: &PairingId, brand: &str) -> String {
        let chosen = self
            .pairings
            .iter()
            .find(|p| p.id == *id)
            .and_then(|p| p.name.as_deref());
        let stem = chosen
            .or((check_name(brand).is_ok()).then_some(brand))
            .unwrap_or("browser");
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        std::iter::once(stem.to_owned())
            .chain(numbered)
            .find(|name| self.named(name).is_none())
            .unwrap_or_default()
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
            }
        }
        Ok(())
    }

    /// Removes a browser. Its secret goes with it, unless other browsers have the same one.
    pub fn unpair(&mut self, name: &str) -> Result<PairedBrowser, NameFault> {
        let unknown = || NameFault::Unknown(name.to_owned());
        let install_id = self.named(name).ok_or_else(unknown)?.install_id.clone();
        let at = self.pairings.iter().position(|p| p.has(&install_id));
        let removed = self.take_browser(&install_id).ok_or_else(unknown)?;
        if let Some(at) = at
            && let Some(pairing) = self.pairings.get_mut(at)
        {
            if pairing.browsers.is_empty() {
                self.pairings.remove(at);
            } else {
                pairing.revoked.push(install_id);
            }
        }
        Ok(removed)
    }

    pub fn browsers(&self) -> impl Iterator<Item = &PairedBrowser> {
        self.pairings.iter().flat_map(|pairing| &pairing.browsers)
    }

    pub fn browser(&self, install_id: &str) -> Option<&PairedBrowser> {
        self.browsers()
            .find(|browser| browser.install_id == install_id)
    }

    /// Whether this browser may stay connected.
    pub fn is_paired(&self, id: &PairingId, install_id: &str) -> bool {
        let pairing = self.pairings.iter().find(|pairing| pairing.id == *id);
        pairing.is_some_and(|pairing| !pairing.revoked.iter().any(|revoked| revoked == install_id))
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

    /// A code admits one browser.
    fn is_unused_code(&self, now: u64) -> bool {
        self.origin == Origin::Code
            && self.browsers.is_empty()
            && now.saturating_sub(self.created) < CODE_LIFETIME
    }
}

/// Names are used in URLs and on the command line.
pub fn check_name(name: &str) -> Result<(), NameFault> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_valid) {
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
