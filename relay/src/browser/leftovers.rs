//! The folders of browsers with a temporary profile: creating and removing them, and finding those
//! whose owner was killed. A folder whose owner lives is never touched by anyone else.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::de::DeserializeOwned;
use tabwire_home::Home;

use super::process::{LaunchedProcess, ProcessIdentity};
use crate::error::Error;

/// In a temporary folder: which process created it, and will remove it.
const OWNER_FILE: &str = "owner.json";
/// In a temporary folder: which browser uses it.
const PROCESS_FILE: &str = "process.json";

/// A folder that belongs to this process.
pub fn new_folder(home: &Home) -> Result<PathBuf, Error> {
    let parent = home.temporary_folder();
    fs::create_dir_all(&parent)?;
    // Created elsewhere, because a relay that starts meanwhile removes a folder without an owner.
    let folder = tempfile::Builder::new()
        .prefix("browser-")
        .tempdir_in(home.path())?;
    let owner = ProcessIdentity::of(std::process::id());
    let text = serde_json::to_string(&owner).map_err(io::Error::from)?;
    fs::write(folder.path().join(OWNER_FILE), text)?;
    let path = parent.join(folder.path().file_name().unwrap_or_default());
    fs::rename(folder.path(), &path)?;
    // Its old path does not exist any more.
    let _ = folder.keep();
    Ok(path)
}

/// Whether the process that created the folder is still there to remove it.
pub fn has_owner(folder: &Path) -> bool {
    read::<ProcessIdentity>(&folder.join(OWNER_FILE)).is_some_and(|owner| owner.is_alive())
}

/// Lets the next relay find the browser, if this one and its watchdog are killed.
pub fn write_process(folder: &Path, process: &LaunchedProcess) {
    let written = (|| {
        // Replaced at once, because a relay that is killed meanwhile must not leave half a file.
        let new = folder.join(format!("{PROCESS_FILE}.new"));
        fs::write(&new, serde_json::to_string(process)?)?;
        fs::rename(new, folder.join(PROCESS_FILE))
    })();
    if let Err(error) = written {
        tracing::warn!(%error, "cannot note which process uses a temporary profile");
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

/// Removes what processes that were killed left behind. Only the relay that owns the home may do this.
pub async fn remove_all(home: &Home) {
    let Ok(folders) = fs::read_dir(home.temporary_folder()) else {
        return;
    };
    let folders = folders.flatten().map(|folder| folder.path());
    for folder in folders.filter(|folder| !has_owner(folder)) {
        if let Some(process) = read::<LaunchedProcess>(&folder.join(PROCESS_FILE)) {
            process.stop().await;
        }
        remove_folder(home, &folder);
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let text = fs::read(file).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    fn new_home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().to_owned()).unwrap();
        (folder, home)
    }

    /// A process with the arguments of a browser that uses the folder.
    fn start_browser(folder: &Path) -> (Child, LaunchedProcess) {
        let profile = folder.join("profile");
        let child = Command::new("sh")
            .args(["-c", "sleep 60 & wait", "sh"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .process_group(0)
            .spawn()
            .unwrap();
        let process = LaunchedProcess::new(child.id(), profile, false);
        while !process.is_running() {
            std::thread::yield_now();
        }
        (child, process)
    }

    /// Makes a process that has exited the owner of a folder.
    fn abandon(folder: &Path) {
        let mut owner = Command::new("sleep").arg("60").spawn().unwrap();
        let text = serde_json::to_string(&ProcessIdentity::of(owner.id())).unwrap();
        fs::write(folder.join(OWNER_FILE), text).unwrap();
        assert!(has_owner(folder));
        owner.kill().unwrap();
        owner.wait().unwrap();
    }

    #[tokio::test]
    async fn folder_of_a_living_owner_is_kept_with_its_browser() {
        let (_guard, home) = new_home();
        let folder = new_folder(&home).unwrap();
        assert_eq!(folder.parent(), Some(home.temporary_folder().as_path()));
        let (mut child, process) = start_browser(&folder);
        write_process(&folder, &process);
        remove_all(&home).await;
        assert!(folder.exists());
        assert!(process.is_running());
        abandon(&folder);
        remove_all(&home).await;
        assert!(!folder.exists());
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn folder_without_an_owner_is_removed() {
        let (_guard, home) = new_home();
        let unknown = new_folder(&home).unwrap();
        fs::remove_file(unknown.join(OWNER_FILE)).unwrap();
        let unreadable = new_folder(&home).unwrap();
        fs::write(unreadable.join(OWNER_FILE), "{").unwrap();
        let kept = new_folder(&home).unwrap();
        remove_all(&home).await;
        assert!(!unknown.exists() && !unreadable.exists() && kept.exists());
    }
}
