//! Whether the extension that a profile has loaded is paired, and which paired browser the profile
//! can be. An extension does not know which profile it runs in, so the secret in its folder identifies
//! it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tabwire_home::{PairingId, Pairings};

use super::detect::{self, LoadedExtension};
use super::{bundle, process};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfilePairing {
    /// `None`: it may have been paired by a code, which leaves no trace in its folder.
    pub paired: Option<bool>,
    /// The browsers that have connected with the folder's secret. Several profiles can have loaded
    /// the same folder.
    pub paired_as: Vec<String>,
}

impl ProfilePairing {
    pub fn of(extension: &LoadedExtension, pairings: &Pairings) -> Self {
        let copy = bundle::present_copy(&extension.folder);
        let browsers = copy.and_then(|copy| pairings.browsers_with(&copy.secret));
        let names = browsers.unwrap_or_default().iter();
        Self {
            paired: match browsers {
                Some(_) => Some(true),
                None if pairings.has_code_browsers() => None,
                None => Some(false),
            },
            paired_as: names.map(|browser| browser.name.clone()).collect(),
        }
    }
}

/// Why it is unknown which paired browser a running one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unidentified {
    NoExtension,
    SwitchedOff,
    NotPaired,
    /// A code leaves no trace in the extension's folder.
    MayBePairedByCode,
    /// Several browsers have loaded the extension's folder.
    SharedFolder,
}

/// The pairing of the process that has a profile open. Nobody else loads the extension in `own`.
pub fn of_running(
    profile: &Path,
    pid: u32,
    own: &Path,
    pairings: &Pairings,
) -> Result<PairingId, Unidentified> {
    let loaded = detect::profiles(profile).into_iter();
    let (off, on): (Vec<_>, Vec<_>) = loaded
        .filter_map(|profile| profile.extension)
        .partition(|extension| extension.off.is_some());
    let installed = on.into_iter().map(|extension| extension.folder);
    let mut fault = if off.is_empty() {
        Unidentified::NoExtension
    } else {
        Unidentified::SwitchedOff
    };
    for folder in loaded_by_flag(pid).into_iter().chain(installed) {
        match pairing_of(&folder, own, pairings) {
            Ok(pairing) => return Ok(pairing),
            Err(reason) => fault = reason,
        }
    }
    Err(fault)
}

/// The folders of this extension that a browser has loaded from the command line.
fn loaded_by_flag(pid: u32) -> Vec<PathBuf> {
    let arguments = process::command_line(pid).unwrap_or_default();
    let lists = arguments
        .iter()
        .filter_map(|own| own.strip_prefix("--load-extension="));
    let folders = lists.flat_map(|list| list.split(',')).map(PathBuf::from);
    folders
        .filter(|folder| bundle::version_in(folder).is_some())
        .collect()
}

fn pairing_of(folder: &Path, own: &Path, pairings: &Pairings) -> Result<PairingId, Unidentified> {
    let copy = bundle::present_copy(folder);
    let secret = copy.as_ref().map(|copy| &copy.secret);
    let Some(pairing) = secret.and_then(|secret| pairings.with_secret(secret)) else {
        return Err(if pairings.has_code_browsers() {
            Unidentified::MayBePairedByCode
        } else {
            Unidentified::NotPaired
        });
    };
    let browsers = secret.and_then(|secret| pairings.browsers_with(secret));
    let is_shared = folder != own && browsers.is_some_and(|browsers| browsers.len() > 1);
    if is_shared {
        Err(Unidentified::SharedFolder)
    } else {
        Ok(pairing.clone())
    }
}

/// Whether a browser may have been launched by a relay that has ended, and be about to exit: it has a
/// debugging port or pipe, which no browser has that a person has opened.
pub fn may_be_exiting(pid: u32) -> bool {
    let arguments = process::command_line(pid).unwrap_or_default();
    arguments
        .iter()
        .any(|own| own.starts_with("--remote-debugging-"))
}
