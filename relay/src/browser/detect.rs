//! Finds installed browsers. Looks only at well-known names and paths, and starts nothing.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Error;

#[derive(Debug, Clone, Serialize)]
pub struct Browser {
    pub name: &'static str,
    pub path: PathBuf,
}

/// In order of preference. Browsers that load an unpacked extension from the command line come
/// first; branded Chrome no longer does.
#[cfg(not(target_os = "macos"))]
const KNOWN: &[(&str, &[&str])] = &[
    (
        "chromium",
        &["chromium", "chromium-browser", "/snap/bin/chromium"],
    ),
    ("brave", &["brave-browser", "brave"]),
    ("edge", &["microsoft-edge", "microsoft-edge-stable"]),
    ("vivaldi", &["vivaldi", "vivaldi-stable"]),
    ("chrome", &["google-chrome", "google-chrome-stable"]),
];

#[cfg(target_os = "macos")]
const KNOWN: &[(&str, &[&str])] = &[
    (
        "chromium",
        &["/Applications/Chromium.app/Contents/MacOS/Chromium"],
    ),
    (
        "brave",
        &["/Applications/Brave Browser.app/Contents/MacOS/Brave Browser"],
    ),
    (
        "edge",
        &["/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"],
    ),
    (
        "vivaldi",
        &["/Applications/Vivaldi.app/Contents/MacOS/Vivaldi"],
    ),
    (
        "chrome",
        &["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"],
    ),
];

pub fn installed() -> Vec<Browser> {
    let find = |(name, programs): &(&'static str, &[&str])| {
        let path = programs.iter().find_map(|program| find_program(program))?;
        Some(Browser { name, path })
    };
    KNOWN.iter().filter_map(find).collect()
}

/// The requested browser, by name or path, or else the first that is installed.
pub fn choose(requested: Option<&str>) -> Result<Browser, Error> {
    let mut installed = installed().into_iter();
    let Some(requested) = requested else {
        return installed.next().ok_or_else(none_installed);
    };
    if let Some(browser) = installed.find(|browser| browser.name == requested) {
        return Ok(browser);
    }
    match find_program(requested) {
        Some(path) => Ok(Browser {
            name: "browser",
            path,
        }),
        None => Err(Error::UnknownBrowser(requested.to_owned())),
    }
}

pub fn none_installed() -> Error {
    Error::NoBrowser(if cfg!(target_os = "macos") {
        "brew install --cask chromium"
    } else {
        "sudo apt-get install chromium"
    })
}

/// Finds a program by its path, or by its name on PATH.
fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return is_program(Path::new(name)).then(|| PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
