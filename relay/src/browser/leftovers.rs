//! The folders of browsers with a temporary profile: creating and removing them, and finding those
//! that a killed relay left behind.

use std::fs;
use std::path::{Path, PathBuf};

use tabwire_home::Home;

use super::process::LaunchedProcess;
use crate::error::Error;

/// In a temporary folder: which process uses it.
const PROCESS_FILE: &str = "process.json";

pub fn new_folder(home: &Home) -> Result<PathBuf, Error> {
    let parent = home.temporary_folder();
    fs::create_dir_all(&parent)?;
    Ok(tempfile::Builder::new()
        .prefix("browser-")
        .tempdir_in(parent)?
        .keep())
}

/// Lets the next relay find the browser, if this one and its watchdog are killed.
pub fn write_process(folder: &Path, process: &LaunchedProcess) {
    if let Ok(text) = serde_json::to_string(process) {
        let _ = fs::write(folder.join(PROCESS_FILE), text);
    }
}

pub fn remove_folder(home: &Home, folder: &Path) {
    let unpaired = home.update_pairings(|pairings| {
        pairings.unpair_folder(&folder.join("extension"));
    });
    let removed = fs::remove_dir_all(folder);
    if let Err(error) = unpaired {
        tracing::warn!(%error, "cannot unpair a temporary browser");
    }
    if let Err(error) = removed {
        tracing::warn!(%error, folder = %folder.display(), "cannot remove a temporary profile");
    }
}

/// Removes what runs that were killed left behind. Only the relay that owns the home may do this.
pub async fn remove_all(home: &Home) {
    let Ok(folders) = fs::read_dir(home.temporary_folder()) else {
        return;
    };
    for folder in folders.flatten().map(|folder| folder.path()) {
        if let Some(process) = read_process(&folder) {
            process.stop().await;
        }
        remove_folder(home, &folder);
    }
}

/// The browser whose temporary folder this is.
fn read_process(folder: &Path) -> Option<LaunchedProcess> {
    let text = fs::read(folder.join(PROCESS_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}
