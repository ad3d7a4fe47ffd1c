//! The runner: the JavaScript that runs an agent's code. It is built into the binary and unpacked
//! into the home at the first use, when npm installs its packages beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tabwire_home::Home;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::error::Error;
use crate::progress::Progress;

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../runner/", $name)))),*] };
}

const FILES: &[(&str, &str)] = &files![
    "activity.mjs",
    "animation.mjs",
    "browser_link.mjs",
    "closest.mjs",
    "compile.mjs",
    "downloads.mjs",
    "explain.mjs",
    "files.mjs",
    "find.mjs",
    "help.mjs",
    "image.mjs",
    "internals.mjs",
    "labels.mjs",
    "main.mjs",
    "markdown.mjs",
    "network_idle.mjs",
    "options.mjs",
    "orphan.mjs",
    "outline.mjs",
    "output.mjs",
    "package-lock.json",
    "package.json",
    "page_fetch.mjs",
    "page_inline.mjs",
    "page_text.mjs",
    "realm.mjs",
    "rebind.mjs",
    "recorder.mjs",
    "refs.mjs",
    "scope.mjs",
    "screenshot.mjs",
    "script.mjs",
    "script_functions.mjs",
    "secret_patterns.mjs",
    "secret_requests.mjs",
    "secrets.mjs",
    "snapshot.mjs",
    "stopped.mjs",
    "tiles.mjs",
    "timing.mjs",
    "toolbox.mjs",
    "transcript.mjs",
];

/// npm writes this file last.
const COMPLETE: &str = "node_modules/.package-lock.json";
const MIN_NODE: u32 = 20;
const NODE_TIMEOUT: Duration = Duration::from_secs(10);
const NPM_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_NPM_ERRORS: usize = 4;

/// An installed runner with its packages.
pub struct Runner {
    pub folder: PathBuf,
}

impl Runner {
    pub fn main(&self) -> PathBuf {
        self.folder.join("main.mjs")
    }
}

/// Finds the runner in the home or installs it. Each version of this program has its own folder.
pub async fn ensure(home: &Home, progress: &Progress) -> Result<Runner, Error> {
    let folder = home.runner_folder().join(version());
    if !folder.join(COMPLETE).is_file() {
        install(&folder, progress).await?;
    }
    Ok(Runner { folder })
}

fn version() -> String {
    let mut digest = Sha256::new();
    for (name, text) in FILES {
        digest.update(name);
        digest.update(text);
    }
    let version = URL_SAFE_NO_PAD.encode(digest.finalize());
    version.chars().take(12).collect()
}

/// Installs into a temporary folder and renames it at the end, so that servers that start at the
/// same time do not collide and nobody finds a partial installation.
async fn install(folder: &Path, progress: &Progress) -> Result<(), Error> {
    check_node().await?;
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)?;
    let new = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(parent)?;
    for (name, text) in FILES {
        std::fs::write(new.path().join(name), text)?;
    }
    progress
        .step("installing playwright-core with npm (only once, about 15 MB)")
        .await;
    run_npm(new.path(), progress).await?;
    match std::fs::rename(new.path(), folder) {
        // Its old path no longer exists, so there is nothing to remove on drop.
        Ok(()) => drop(new.keep()),
        Err(_) if folder.join(COMPLETE).is_file() => {}
        Err(error) => return Err(error.into()),
    }
    progress.step("playwright-core is installed").await;
    Ok(())
}

/// Checks that `node` exists and is new enough for the runner.
pub async fn check_node() -> Result<(), Error> {
    let output = Command::new("node")
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(NODE_TIMEOUT, output)
        .await
        .map_err(|_| Error::NoNode("`node --version` does not respond".into()))?
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoNode("`node` was not found".into()),
            _ => Error::NoNode(format!("`node` cannot be run: {error}")),
        })?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= MIN_NODE => Ok(()),
        _ => Err(Error::NodeTooOld(version)),
    }
}

async fn run_npm(folder: &Path, progress: &Progress) -> Result<(), Error> {
    let mut npm = spawn_npm(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoNpm,
        _ => Error::Install(format!("npm cannot be run: {error}")),
    })?;
    let (status, errors) = tokio::time::timeout(NPM_TIMEOUT, finish_npm(&mut npm, progress))
        .await
        .map_err(|_| {
            let seconds = NPM_TIMEOUT.as_secs();
            Error::Install(format!("npm did not finish within {seconds} s"))
        })??;
    if status.success() {
        return Ok(());
    }
    Err(Error::Install(format!(
        "npm failed with {status}: {}",
        errors.join("; ")
    )))
}

fn spawn_npm(folder: &Path) -> io::Result<Child> {
    Command::new("npm")
        .args([
            "ci",
            "--omit=dev",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--loglevel=http",
        ])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Waits for npm. Returns its status and the first errors it printed.
async fn finish_npm(npm: &mut Child, progress: &Progress) -> io::Result<(ExitStatus, Vec<String>)> {
    let mut errors = Vec::new();
    if let Some(stderr) = npm.stderr.take() {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line.contains("http fetch") {
                progress.notify("npm: downloading").await;
            } else if line.contains("error") && errors.len() < MAX_NPM_ERRORS {
                errors.push(line);
            }
        }
    }
    Ok((npm.wait().await?, errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runner_file_is_in_the_binary() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runner");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.retain(|name| name != "node_modules");
        found.sort();
        let embedded: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found, embedded);
    }

    #[test]
    fn packages_are_pinned_and_name_no_registry() {
        let text = |wanted: &str| FILES.iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert!(text("package.json").contains(r#""playwright-core": "1.65.0""#));
        assert!(!text("package-lock.json").contains("resolved"));
    }
}
