//! What `tabwire doctor --fix` does. Each repair checks again that it is safe, because something may
//! have changed since it was proposed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tabwire_home::{Home, Token};

use super::files::user_of;
use super::finding::{Finding, Severity};
use crate::browser::bundle;
use crate::browser::leftovers::{self, REMOVED_PREFIX};
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Of a relay that was killed.
    RemoveStaleFiles,
    /// A folder of a browser whose relay was killed.
    RemoveTemporary(PathBuf),
    /// That cannot be used.
    ReplaceToken,
    /// A folder with an older version of the extension.
    RewriteExtension(PathBuf),
}

/// Repairs what a finding is about, and says so in its place.
pub fn apply(home: &Home, finding: &mut Finding) {
    let Some(repair) = finding.repair.take() else {
        return;
    };
    match repair.run(home) {
        Ok(done) => {
            finding.severity = Severity::Fixed;
            finding.text = done;
            finding.fix = None;
            if let Repair::RewriteExtension(_) = repair {
                finding.fix = Some("Reload the extension at chrome://extensions.".to_owned());
            }
        }
        Err(error) => {
            let reason = error.to_string();
            finding.text = format!("{} It was not repaired: {reason}", finding.text);
        }
    }
}

impl Repair {
    fn run(&self, home: &Home) -> Result<String, Error> {
        match self {
            Self::RemoveStaleFiles => remove_stale_files(home),
            Self::RemoveTemporary(folder) => remove_temporary(home, folder),
            Self::ReplaceToken => replace_token(home),
            Self::RewriteExtension(folder) => rewrite_extension(home, folder),
        }
    }
}

fn remove_stale_files(home: &Home) -> Result<String, Error> {
    let files = [home.cdp_url_file(), home.state_file()];
    let present = files.iter().filter(|file| file.exists());
    let names: Vec<String> = present.map(|file| file.display().to_string()).collect();
    home.remove_stale_files();
    if files.iter().any(|file| file.exists()) {
        return Err(refused(
            "a relay has started, or the files cannot be removed",
        ));
    }
    Ok(format!("Removed {}.", names.join(" and ")))
}

fn remove_temporary(home: &Home, folder: &Path) -> Result<String, Error> {
    let moved = move_away(home, folder)?;
    // Removes a link, and not what it points to.
    if let Err(error) = fs::remove_dir_all(&moved)
        // A relay that has started meanwhile removes it, too.
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    Ok(format!("Removed {}.", folder.display()))
}

/// Makes sure that nobody uses a temporary folder, and gives it a name under which nobody will.
///
/// The home is claimed only for this. A relay that starts waits for the claim for a moment, but then
/// runs without the home until it exits, and deleting a profile takes longer than that.
fn move_away(home: &Home, folder: &Path) -> Result<PathBuf, Error> {
    let _claim = home.claim()?.ok_or_else(relay_started)?;
    if !leftovers::may_be_removed(folder) {
        return Err(refused("it is not a folder that Tabwire has created"));
    }
    if leftovers::has_owner(folder) {
        return Err(refused("the process that created it is running"));
    }
    if let Some(pid) = user_of(folder) {
        return Err(refused(&format!("process {pid} uses it")));
    }
    home.update_pairings(|pairings| pairings.unpair_folder(&folder.join("extension")))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with(REMOVED_PREFIX) {
        return Ok(folder.to_owned());
    }
    // It stays among the temporary folders, so that it is found again if this process is killed.
    let moved = folder.with_file_name(format!("{REMOVED_PREFIX}{name}"));
    fs::rename(folder, &moved)?;
    Ok(moved)
}

fn replace_token(home: &Home) -> Result<String, Error> {
    let _claim = home.claim()?.ok_or_else(relay_started)?;
    fs::remove_file(home.auth_token_file())?;
    Token::load_or_create(home)?;
    let file = home.auth_token_file();
    Ok(format!(
        "Replaced {}. Clients need the new CDP URL.",
        file.display()
    ))
}

fn rewrite_extension(home: &Home, folder: &Path) -> Result<String, Error> {
    let copy = bundle::present_copy(folder);
    let pairings = home.pairings()?;
    let copy = copy.filter(|copy| pairings.browsers_with(&copy.secret).is_some());
    let copy = copy.ok_or_else(|| refused("it is not paired with this home"))?;
    bundle::rewrite(folder, &copy)?;
    Ok(format!(
        "Wrote version {} of the extension to {}.",
        env!("CARGO_PKG_VERSION"),
        folder.display()
    ))
}

fn relay_started() -> Error {
    refused("a relay has started")
}

fn refused(reason: &str) -> Error {
    Error::Io(io::Error::other(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().to_owned()).unwrap();
        (folder, home)
    }

    #[test]
    fn home_is_free_again_before_a_folder_is_deleted() {
        let (_guard, home) = new_home();
        let folder = home.temporary_folder().join("browser-a");
        fs::create_dir_all(folder.join("profile")).unwrap();
        let moved = move_away(&home, &folder).unwrap();
        assert!(home.claim().unwrap().is_some());
        assert!(!folder.exists() && moved.join("profile").exists());
        // As if the process had been killed here: what is left can be removed later.
        remove_temporary(&home, &moved).unwrap();
        assert!(!moved.exists());
    }

    #[test]
    fn folder_that_has_an_owner_by_now_is_left_alone() {
        let (_guard, home) = new_home();
        let folder = leftovers::new_folder(&home).unwrap();
        assert!(remove_temporary(&home, &folder).is_err());
        assert!(folder.exists());
    }

    #[test]
    fn nothing_is_removed_while_a_relay_owns_the_home() {
        let (_guard, home) = new_home();
        let folder = home.temporary_folder().join("browser-a");
        fs::create_dir_all(&folder).unwrap();
        let claim = home.claim().unwrap();
        assert!(remove_temporary(&home, &folder).is_err());
        drop(claim);
        assert!(folder.exists());
    }
}
