//! Where browsers are installed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Browser {
    pub name: &'static str,
    pub path: PathBuf,
}

/// By preference: those that take an unpacked extension from the command line come first. Branded Chrome has stopped
/// doing so; there the extension is loaded once by hand.
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
    let found = |(name, places): &(&'static str, &[&str])| {
        let path = places.iter().find_map(|place| find_program(place))?;
        Some(Browser { name, path })
    };
    KNOWN.iter().filter_map(found).collect()
}

/// The browser that was asked for, or the first there is.
pub fn choose(asked: Option<&str>) -> anyhow::Result<Browser> {
    let installed = installed();
    let Some(asked) = asked else {
        return installed.into_iter().next().with_context(how_to_install);
    };
    if let Some(browser) = installed.iter().find(|browser| browser.name == asked) {
        return Ok(browser.clone());
    }
    match find_program(asked) {
        Some(path) => Ok(Browser {
            name: "browser",
            path,
        }),
        None => bail!("there is no browser '{asked}'; `tabwire browsers` lists those found"),
    }
}

pub fn how_to_install() -> String {
    let command = if cfg!(target_os = "macos") {
        "brew install --cask chromium"
    } else {
        "sudo apt-get install chromium"
    };
    format!("no Chromium-family browser was found; install one, for example with: {command}")
}

/// A path as it is, or a name on the search path.
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
