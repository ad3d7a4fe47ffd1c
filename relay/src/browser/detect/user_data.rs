//! What a user data directory says about its browser: the profiles in it, the extension in each, and
//! whether the browser is running. Only reads.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::browser::detect::catalog::Package;
use crate::browser::detect::environment::{Environment, System};
use crate::browser::detect::loaded::{self, LoadedExtension};
use crate::browser::profile::{self, Lock};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// As the browser shows it.
    pub name: String,
    /// In the user data directory, as `--profile-directory` expects it.
    pub folder: String,
    /// The extension, if it is loaded in this profile.
    pub extension: Option<LoadedExtension>,
}

/// The part of `Local State` that lists the profiles.
#[derive(Deserialize)]
struct LocalState {
    profile: ProfileState,
}

#[derive(Deserialize)]
struct ProfileState {
    info_cache: HashMap<String, ProfileInfo>,
}

#[derive(Deserialize)]
struct ProfileInfo {
    name: Option<String>,
}

/// Empty if the browser has never been started.
pub fn profiles(user_data: &Path) -> Vec<Profile> {
    let state = fs::read(user_data.join("Local State")).ok();
    let state = state.and_then(|text| serde_json::from_slice::<LocalState>(&text).ok());
    let folders = state.map(|state| state.profile.info_cache);
    let mut profiles: Vec<Profile> = folders
        .unwrap_or_default()
        .into_iter()
        .map(|(folder, info)| Profile {
            name: info.name.unwrap_or_else(|| folder.clone()),
            extension: loaded::in_profile(&user_data.join(&folder)),
            folder,
        })
        .collect();
    // `Default`, `Profile 1`, …, `Profile 10`.
    profiles.sort_by(|a, b| (a.folder.len(), &a.folder).cmp(&(b.folder.len(), &b.folder)));
    profiles
}

/// Whether a browser uses this directory. `None` if that cannot be known from here.
pub fn is_running(environment: &Environment, package: Package, user_data: &Path) -> Option<bool> {
    if environment.system == System::Windows {
        // Windows deletes it when the browser ends, however it ends.
        return Some(user_data.join("lockfile").exists());
    }
    let pid = match Lock::read(user_data, &environment.host_name) {
        Lock::Free => return Some(false),
        // In a Flatpak, processes are numbered differently.
        Lock::Held(pid) if package != Package::Flatpak => pid,
        _ => return None,
    };
    // The socket of a snap is in a folder that only the snap sees.
    let listens = package == Package::Snap || profile::listens(user_data);
    Some(listens && (environment.is_browser_process)(pid))
}
