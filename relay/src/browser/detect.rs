//! Finds installed browsers. It looks at well-known names and paths only, and starts nothing; `version`
//! is the exception, which only `tabwire browsers` uses.

mod catalog;
mod environment;
mod loaded;
mod policy;
mod user_data;
pub mod version;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tabwire_home::check_name;

pub use catalog::{Kind, Package};
pub use environment::{Environment, System};
pub use loaded::{LoadedExtension, Off};
pub use policy::{Effect, Restriction, restrictions};
pub use user_data::{Profile, profiles};

use crate::error::Error;
use catalog::Entry;
use environment::is_program;

/// A browser to start.
#[derive(Debug, Clone, Serialize)]
pub struct Browser {
    /// What `--browser` takes, such as `chrome-beta`. The name of its program if it is in no catalog.
    pub name: String,
    /// `None` if it is in no catalog.
    pub kind: Option<Kind>,
    pub path: PathBuf,
}

/// An installed browser and what its files say about it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// What `--browser` takes, such as `chrome-beta`.
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub package: Package,
    pub path: PathBuf,
    pub user_data_dir: Option<PathBuf>,
    /// Whether a browser uses that directory. `None` if that cannot be known.
    pub running: Option<bool>,
    pub profiles: Vec<Profile>,
}

/// A browser that Tabwire cannot use.
#[derive(Debug, Clone, Serialize)]
pub struct Unsupported {
    pub name: &'static str,
    pub path: PathBuf,
    pub reason: &'static str,
}

/// In order of preference.
pub fn installed(environment: &Environment) -> Vec<Installation> {
    let found = programs(environment);
    found
        .into_iter()
        .map(|(entry, path)| describe(environment, entry, path))
        .collect()
}

pub fn unsupported(environment: &Environment) -> Vec<Unsupported> {
    catalog::unsupported(environment.system)
        .iter()
        .filter_map(|entry| {
            let path = find(environment, entry.package, entry.programs)?;
            Some(Unsupported {
                name: entry.name,
                path,
                reason: entry.reason,
            })
        })
        .collect()
}

/// The requested browser, by name or path, or else the first that is installed.
pub fn choose(requested: Option<&str>) -> Result<Browser, Error> {
    choose_in(&Environment::current(), requested)
}

fn choose_in(environment: &Environment, requested: Option<&str>) -> Result<Browser, Error> {
    let found = programs(environment);
    let Some(requested) = requested else {
        // The sandbox of a Flatpak hides Tabwire's folder, so it is used only on request.
        let mut found = found.into_iter();
        let first = found.find(|(entry, _)| entry.package != Package::Flatpak);
        let (entry, path) = first.ok_or_else(none_installed)?;
        return Ok(Browser::listed(entry, path));
    };
    let mut named = found.iter();
    if let Some((entry, path)) = named.find(|(entry, _)| entry.answers_to(requested)) {
        return Ok(Browser::listed(entry, path.clone()));
    }
    let path = find_program(environment, requested)
        .ok_or_else(|| Error::UnknownBrowser(requested.to_owned()))?;
    // How a browser is started depends on what it is, also if the user knows its path.
    let same = found.iter().find(|(entry, own)| is_same(entry, own, &path));
    Ok(match same {
        // The same browser by another path is no other program.
        Some((entry, own)) => Browser::listed(entry, own.clone()),
        None => Browser {
            name: name_after(&path),
            kind: kind_of(environment.system, &path),
            path,
        },
    })
}

impl Browser {
    fn listed(entry: &Entry, path: PathBuf) -> Self {
        Self {
            name: entry.name.to_owned(),
            kind: Some(entry.kind),
            path,
        }
    }
}

/// Whether a path is that of an installed browser. All snaps are links to one program.
fn is_same(entry: &Entry, own: &Path, path: &Path) -> bool {
    let is_linked = || own.canonicalize().ok() == path.canonicalize().ok();
    own == path || (entry.package == Package::Native && is_linked())
}

/// What the program is, if it is not installed where the catalog looks.
fn kind_of(system: System, path: &Path) -> Option<Kind> {
    let target = path.canonicalize().ok();
    let paths = [Some(path), target.as_deref()];
    paths
        .into_iter()
        .flatten()
        .find_map(|path| catalog::kind_of(system, path))
}

/// Each program gets a name of its own, because browsers of the same name share a kept profile.
fn name_after(program: &Path) -> String {
    let name = program.file_stem().map(OsStr::to_string_lossy);
    let name = name.filter(|name| check_name(name).is_ok());
    name.map_or_else(|| "browser".to_owned(), |name| name.to_ascii_lowercase())
}

pub fn none_installed() -> Error {
    Error::NoBrowser(if cfg!(target_os = "macos") {
        "brew install --cask chromium"
    } else {
        "sudo apt-get install chromium"
    })
}

/// The rows of the catalog that are installed, with their programs.
fn programs(environment: &Environment) -> Vec<(&'static Entry, PathBuf)> {
    let mut found: Vec<(&'static Entry, PathBuf)> = Vec::new();
    for entry in catalog::browsers(environment.system) {
        let Some(path) = find(environment, entry.package, entry.programs) else {
            continue;
        };
        // `google-chrome` may be a link to `google-chrome-beta`. The row of the latter knows better
        // where its data is.
        if entry.package == Package::Native {
            let program = path.canonicalize().ok();
            found.retain(|(other, path)| {
                other.package != Package::Native || path.canonicalize().ok() != program
            });
        }
        found.push((entry, path));
    }
    found
}

fn describe(environment: &Environment, entry: &Entry, path: PathBuf) -> Installation {
    let user_data = user_data_dir(environment, entry);
    let running = user_data
        .as_deref()
        .and_then(|folder| user_data::is_running(environment, entry.package, folder));
    let profiles = user_data.as_deref().map(user_data::profiles);
    Installation {
        name: entry.name,
        kind: entry.kind,
        package: entry.package,
        path,
        running,
        profiles: profiles.unwrap_or_default(),
        user_data_dir: user_data,
    }
}

fn user_data_dir(environment: &Environment, entry: &Entry) -> Option<PathBuf> {
    let is_native_linux = environment.system == System::Linux && entry.package == Package::Native;
    let overridden = environment
        .folder("CHROME_USER_DATA_DIR")
        .filter(|_| is_native_linux);
    overridden.or_else(|| {
        let folder = environment.data_folder(entry.package)?;
        Some(join(&folder, entry.user_data))
    })
}

fn find(environment: &Environment, package: Package, programs: &[&str]) -> Option<PathBuf> {
    let folders = environment.program_folders(package);
    programs.iter().find_map(|program| {
        let mut paths = folders.iter().map(|folder| join(folder, program));
        paths.find(|path| is_program(path) && !starts_a_snap(path))
    })
}

/// With the system's own separators.
fn join(folder: &Path, relative: &str) -> PathBuf {
    let mut path = folder.to_owned();
    path.extend(relative.split('/'));
    path
}

/// Ubuntu's `/usr/bin/chromium-browser` is a script that runs the snap, which has a row of its own.
fn starts_a_snap(program: &Path) -> bool {
    let mut script = String::new();
    let read = File::open(program).and_then(|file| file.take(4096).read_to_string(&mut script));
    read.is_ok() && script.starts_with("#!") && script.contains("/snap/bin/")
}

/// Finds a program by its path, or by its name on PATH.
fn find_program(environment: &Environment, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return is_program(Path::new(name)).then(|| PathBuf::from(name));
    }
    let path = environment.variables.get("PATH")?;
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|candidate| is_program(candidate))
}
