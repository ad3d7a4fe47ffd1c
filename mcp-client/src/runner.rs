//! The runner: the JavaScript that runs an agent's code. It travels inside the binary and is unpacked into the home,
//! beside its packages, which npm brings at the first use.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::errors::Error;
use crate::progress::Progress;

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../runner/", $name)))),*] };
}

const FILES: [(&str, &str); 16] = files![
    "browser_link.mjs",
    "compile.mjs",
    "explain.mjs",
    "internals.mjs",
    "labels.mjs",
    "main.mjs",
    "orphan.mjs",
    "output.mjs",
    "package-lock.json",
    "package.json",
    "realm.mjs",
    "refs.mjs",
    "renewal.mjs",
    "scope.mjs",
    "screenshot.mjs",
    "snapshot.mjs",
];

/// npm writes this when everything is there, and not before.
const COMPLETE: &str = "node_modules/.package-lock.json";
const OLDEST_NODE: u32 = 20;
const NODE_WITHIN: Duration = Duration::from_secs(10);
const NPM_WITHIN: Duration = Duration::from_secs(300);

/// A runner that is there with its packages.
pub struct Runner {
    pub folder: PathBuf,
}

impl Runner {
    pub fn main(&self) -> PathBuf {
        self.folder.join("main.mjs")
    }
}

/// Finds the runner in the home, or puts it there. Another version of this program has another folder.
pub async fn ensure(home: &Path, progress: &Progress) -> Result<Runner, Error> {
    let folder = home.join("runner").join(version());
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
    URL_SAFE_NO_PAD
        .encode(digest.finalize())
        .chars()
        .take(12)
        .collect()
}

/// Everything happens in a folder of its own that takes its name at the end: servers that start at once do not meet, and
/// what is half done is never found.
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
        .step("installing playwright-core, once (npm, about 15 MB)")
        .await;
    run_npm(new.path(), progress).await?;
    match std::fs::rename(new.path(), folder) {
        // It is no longer where its guard would remove it.
        Ok(()) => drop(new.keep()),
        Err(_) if folder.join(COMPLETE).is_file() => {}
        Err(error) => return Err(error.into()),
    }
    progress.step("playwright-core is installed").await;
    Ok(())
}

/// Whether there is a Node that can run the runner.
pub async fn check_node() -> Result<(), Error> {
    let asked = Command::new("node")
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let asked = tokio::time::timeout(NODE_WITHIN, asked).await;
    let output = asked
        .map_err(|_| Error::NoNode("`node --version` does not answer".into()))?
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoNode("`node` was not found".into()),
            _ => Error::NoNode(format!("`node` cannot be run: {error}")),
        })?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(Error::NodeTooOld(version)),
    }
}

async fn run_npm(folder: &Path, progress: &Progress) -> Result<(), Error> {
    let failed = |reason: String| Error::Install(reason);
    let mut npm = Command::new("npm")
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
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoNpm,
            _ => failed(format!("npm cannot be run: {error}")),
        })?;
    let mut words = Vec::new();
    let finished = async {
        if let Some(stderr) = npm.stderr.take() {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line.contains("http fetch") {
                    progress.notify("npm: downloading").await;
                } else if line.contains("error") {
                    words.push(line);
                }
            }
        }
        npm.wait().await
    };
    let status = tokio::time::timeout(NPM_WITHIN, finished)
        .await
        .map_err(|_| failed(format!("npm took more than {} s", NPM_WITHIN.as_secs())))??;
    if status.success() {
        return Ok(());
    }
    words.truncate(4);
    Err(failed(format!(
        "npm ended with {status}: {}",
        words.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_runner_is_in_the_binary() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runner");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.retain(|name| name != "node_modules");
        found.sort();
        assert_eq!(found, FILES.map(|(name, _)| name.to_owned()));
    }

    #[test]
    fn the_packages_are_pinned_and_name_no_registry() {
        let text = |wanted: &str| FILES.iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert!(text("package.json").contains(r#""playwright-core": "1.65.0""#));
        assert!(!text("package-lock.json").contains("resolved"));
    }
}
