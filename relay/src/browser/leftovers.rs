//! The folders of browsers with a temporary profile: creating and removing them, and finding those
//! whose owner was killed. A folder whose owner lives is never touched by anyone else.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use tabwire_home::Home;
use tokio::task::spawn_blocking;

use super::process::{LaunchedProcess, ProcessIdentity};
use super::profile_holder;
use crate::error::Error;

/// In a temporary folder: which process created it, and will remove it.
const OWNER_FILE: &str = "owner.json";
/// In a temporary folder: which browser uses it.
const PROCESS_FILE: &str = "process.json";
/// How the names of the folders begin.
const PREFIX: &str = "browser-";
/// How the names of those begin that are being removed.
pub const REMOVED_PREFIX: &str = "removed-";
/// How long a folder may take to get its owner.
const CREATE_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder that belongs to this process.
pub fn new_folder(home: &Home) -> Result<PathBuf, Error> {
    let parent = home.temporary_folder();
    fs::create_dir_all(&parent)?;
    // Created elsewhere, because a relay that starts meanwhile removes a folder without an owner.
    let folder = tempfile::Builder::new()
        .prefix(PREFIX)
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

/// Removes a folder that nobody uses any more, and the pairing of the extension in it.
pub async fn remove_folder(home: &Home, folder: &Path) {
    let (home, folder) = (home.clone(), folder.to_owned());
    // A script may have started the browser in a session of its own. Nobody else uses this profile.
    if let Some(holder) = profile_holder::of(&folder.join("profile")) {
        profile_holder::stop(&holder).await;
    }
    // A profile has thousands of files, and another process may be changing the pairings.
    let _ = spawn_blocking(move || remove_now(&home, &folder)).await;
}

/// As `remove_folder`, for callers that may block.
pub fn remove_now(home: &Home, folder: &Path) {
    unpair(home, &[folder.to_owned()]);
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(%error, folder = %folder.display(), "cannot remove a temporary profile");
    }
}

fn unpair(home: &Home, folders: &[PathBuf]) {
    let unpaired = home.update_pairings(|pairings| {
        for folder in folders {
            pairings.unpair_folder(&folder.join("extension"));
        }
    });
    if let Err(error) = unpaired {
        tracing::warn!(%error, "cannot unpair a temporary browser");
    }
}

/// The folders that processes that were killed left behind. Their browsers are unpaired at once, so
/// that their names are free; removing them takes longer. Only the relay that owns the home may do this.
pub async fn find_all(home: &Home) -> Vec<PathBuf> {
    let home = home.clone();
    let found = spawn_blocking(move || {
        let begun = list(home.path()).filter(|folder| is_abandoned(folder) && !has_owner(folder));
        let left: Vec<PathBuf> = without_owner(&home).chain(begun).collect();
        if !left.is_empty() {
            unpair(&home, &left);
        }
        left
    });
    found.await.unwrap_or_default()
}

/// The folders of temporary browsers that a process should have removed before it ended.
pub fn without_owner(home: &Home) -> impl Iterator<Item = PathBuf> + use<> {
    let created = list(&home.temporary_folder());
    created.filter(|folder| may_be_removed(folder) && !has_owner(folder))
}

/// Whether this is a folder that Tabwire has created. Everything else among the temporary folders,
/// and everything behind a link, was put there by someone else.
pub fn may_be_removed(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let prefixes = [PREFIX, REMOVED_PREFIX];
    let is_ours = name.is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    is_ours && is_folder(folder) && folder.parent().is_some_and(is_folder)
}

/// Not for a link to a folder.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn list(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Whether `new_folder` has begun this one, and was killed before it was done.
fn is_abandoned(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let is_new = name.is_some_and(|name| name.starts_with(PREFIX)) && is_folder(folder);
    // Until it is moved, there is nothing else in it.
    let is_new = is_new && list(folder).all(|file| file.ends_with(OWNER_FILE));
    let changed = fs::metadata(folder).and_then(|folder| folder.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    is_new && age.is_some_and(|age| age > CREATE_TIMEOUT)
}

/// Stops the browsers that use these folders, and removes the folders.
pub async fn remove_all(home: &Home, folders: Vec<PathBuf>) {
    let removing = folders.iter().map(|folder| async {
        if let Some(process) = read::<LaunchedProcess>(&folder.join(PROCESS_FILE)) {
            process.stop().await;
        }
        remove_folder(home, folder).await;
    });
    join_all(removing).await;
}

fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let text = fs::read(file).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::bundle;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::time::SystemTime;

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
        remove_all(&home, find_all(&home).await).await;
        assert!(folder.exists());
        assert!(process.is_running());
        abandon(&folder);
        remove_all(&home, find_all(&home).await).await;
        assert!(!folder.exists());
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn browser_is_unpaired_with_its_folder_also_below_a_link() {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("real")).unwrap();
        let link = outside.path().join("link");
        std::os::unix::fs::symlink(outside.path().join("real"), &link).unwrap();
        let home = Home::open_at(link.join("home")).unwrap();
        let folder = new_folder(&home).unwrap();
        bundle::pair(&home, &folder.join("extension"), Some("work")).unwrap();
        assert_eq!(home.pairings().unwrap().folders().count(), 1);
        remove_folder(&home, &folder).await;
        assert!(!folder.exists());
        assert_eq!(home.pairings().unwrap().folders().count(), 0);
    }

    #[tokio::test]
    async fn profile_is_never_removed_under_a_running_browser() {
        let (_guard, home) = new_home();
        let folder = new_folder(&home).unwrap();
        let (mut child, _listener) = profile_holder::tests::open(&folder.join("profile"));
        remove_folder(&home, &folder).await;
        assert!(child.try_wait().unwrap().is_some(), "stopped first");
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn abandoned_browser_is_unpaired_before_its_folder_is_removed() {
        let (_guard, home) = new_home();
        let folder = new_folder(&home).unwrap();
        bundle::pair(&home, &folder.join("extension"), Some("work")).unwrap();
        abandon(&folder);
        let found = find_all(&home).await;
        assert_eq!(found, std::slice::from_ref(&folder));
        assert_eq!(home.pairings().unwrap().folders().count(), 0);
        assert!(folder.exists());
    }

    #[tokio::test]
    async fn folder_that_was_never_finished_is_removed_after_a_while() {
        let (_guard, home) = new_home();
        let names = ["browser-a", "browser-b", "launched", "browser-c"];
        let [begun, recent, other, used] = names.map(|name| {
            let folder = home.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
        fs::write(used.join("notes"), "years").unwrap();
        let long_ago = SystemTime::now() - 2 * CREATE_TIMEOUT;
        for folder in [&begun, &other, &used] {
            let opened = fs::File::open(folder).unwrap();
            opened.set_modified(long_ago).unwrap();
        }
        remove_all(&home, find_all(&home).await).await;
        assert!(!begun.exists() && recent.exists() && other.exists() && used.exists());
    }

    #[tokio::test]
    async fn what_others_put_there_is_never_removed() {
        let (guard, home) = new_home();
        let temporary = home.temporary_folder();
        let outside = guard.path().join("outside");
        fs::create_dir_all(temporary.join("mydata")).unwrap();
        fs::create_dir_all(outside.join("browser-thesis")).unwrap();
        fs::write(temporary.join("browser-notes"), "years").unwrap();
        let link = temporary.join("browser-link");
        std::os::unix::fs::symlink(outside.join("browser-thesis"), link).unwrap();
        assert_eq!(find_all(&home).await, [] as [PathBuf; 0]);

        fs::rename(&temporary, guard.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &temporary).unwrap();
        assert_eq!(find_all(&home).await, [] as [PathBuf; 0]);
        assert!(!may_be_removed(&temporary.join("browser-thesis")));
    }

    #[tokio::test]
    async fn folder_without_an_owner_is_removed() {
        let (_guard, home) = new_home();
        let unknown = new_folder(&home).unwrap();
        fs::remove_file(unknown.join(OWNER_FILE)).unwrap();
        let unreadable = new_folder(&home).unwrap();
        fs::write(unreadable.join(OWNER_FILE), "{").unwrap();
        let kept = new_folder(&home).unwrap();
        remove_all(&home, find_all(&home).await).await;
        assert!(!unknown.exists() && !unreadable.exists() && kept.exists());
    }
}
