//! Whether a profile has loaded the extension, as the browser's own files say. Only reads.
//!
//! A running browser writes these files about ten seconds after a change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::browser::bundle::{self, EXTENSION_ID};

/// Branded browsers protect the list of extensions, and keep it in the first file.
const FILES: [&str; 2] = ["Secure Preferences", "Preferences"];

/// Where an extension comes from, as Chromium's `ManifestLocation` numbers it.
const COMMAND_LINE: u32 = 8;
/// A creation flag: loaded over a debugging pipe, and forgotten at the next start.
const FOR_ONE_RUN: u32 = 1 << 15;

// Reasons to switch an extension off, as Chromium's `disable_reason` numbers them.
const BY_USER: u64 = 1;
const FOR_RELOADING: u64 = 1 << 2;
const BY_POLICY: u64 = 1 << 16;
const WITHOUT_DEVELOPER_MODE: u64 = 1 << 24;

/// The extension in a profile, where it stays until the user removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedExtension {
    pub folder: PathBuf,
    /// What is in the folder now. The browser may have loaded an earlier version.
    pub version: Option<String>,
    /// Why it is switched off. `None`: it is on.
    pub off: Option<Off>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    User,
    DeveloperMode,
    Policy,
    Other,
}

#[derive(Deserialize)]
struct Preferences {
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct Extensions {
    settings: Option<HashMap<String, Box<RawValue>>>,
}

#[derive(Deserialize)]
struct Entry {
    path: PathBuf,
    #[serde(default)]
    location: u32,
    #[serde(default)]
    creation_flags: u32,
    #[serde(default)]
    disable_reasons: Option<Reasons>,
    /// Older browsers: 0 if it is switched off.
    state: Option<u32>,
}

/// A list of numbers, in older browsers their sum.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reasons {
    List(Vec<u64>),
    Sum(u64),
}

/// The extension in this profile, unless it was loaded for one run only.
pub fn in_profile(profile: &Path) -> Option<LoadedExtension> {
    let entry = FILES.iter().find_map(|name| read(&profile.join(name)))?;
    if entry.location == COMMAND_LINE || entry.creation_flags & FOR_ONE_RUN != 0 {
        return None;
    }
    let off = entry.off();
    // A relative path is one of an extension that was not loaded unpacked.
    let folder = profile.join("Extensions").join(entry.path);
    Some(LoadedExtension {
        version: bundle::version_in(&folder),
        folder,
        off,
    })
}

fn read(file: &Path) -> Option<Entry> {
    let text = fs::read(file).ok()?;
    let preferences: Preferences = serde_json::from_slice(&text).ok()?;
    let settings = preferences.extensions?.settings?;
    serde_json::from_str(settings.get(EXTENSION_ID)?.get()).ok()
}

impl Entry {
    fn off(&self) -> Option<Off> {
        let reasons = match &self.disable_reasons {
            Some(Reasons::List(list)) => list.iter().fold(0, |sum, reason| sum | reason),
            Some(Reasons::Sum(sum)) => *sum,
            None => 0,
        };
        let has = |reason| reasons & reason != 0;
        if has(BY_POLICY) {
            Some(Off::Policy)
        } else if has(WITHOUT_DEVELOPER_MODE) {
            Some(Off::DeveloperMode)
        } else if has(BY_USER) {
            Some(Off::User)
        } else if has(!FOR_RELOADING) || (reasons == 0 && self.state == Some(0)) {
            Some(Off::Other)
        } else {
            None
        }
    }
}
