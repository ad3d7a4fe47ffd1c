//! What the finder knows about the machine: its system, folders and processes. Tests fake all of it,
//! so every system's rules are tested on any system.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::browser::detect::catalog::Package;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    pub const CURRENT: Self = if cfg!(target_os = "macos") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The variables that say where programs and data are.
const VARIABLES: [&str; 8] = [
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CHROME_CONFIG_HOME",
    "CHROME_USER_DATA_DIR",
    "LOCALAPPDATA",
    "ProgramFiles",
    "ProgramFiles(x86)",
];

pub struct Environment {
    pub system: System,
    /// Holds the folders that no variable names, such as `/Applications`.
    pub root: PathBuf,
    pub variables: HashMap<&'static str, OsString>,
    /// As a browser writes it to its lock.
    pub host_name: String,
    /// Whether a process of this id exists and can be a browser.
    pub is_browser_process: fn(u32) -> bool,
}

impl Environment {
    pub fn current() -> Self {
        let read = |name| Some((name, std::env::var_os(name)?));
        let mut variables: HashMap<_, _> = VARIABLES.into_iter().filter_map(read).collect();
        if let Some(home) = std::env::home_dir() {
            variables.insert("HOME", home.into_os_string());
        }
        let uname = rustix::system::uname();
        Self {
            system: System::CURRENT,
            root: PathBuf::from("/"),
            variables,
            host_name: uname.nodename().to_string_lossy().into_owned(),
            is_browser_process,
        }
    }

    /// The folders in which programs of this kind of package are, in order of preference.
    pub fn program_folders(&self, package: Package) -> Vec<PathBuf> {
        match (self.system, package) {
            (System::Linux, Package::Native) => self.search_path(),
            (System::Linux, Package::Snap) => vec![self.snap_folder()],
            (System::Linux, Package::Flatpak) => self.flatpak_folders(),
            (System::MacOs, _) => {
                let own = self.home().map(|home| home.join("Applications"));
                let shared = self.root.join("Applications");
                [Some(shared), own].into_iter().flatten().collect()
            }
            (System::Windows, _) => ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"]
                .into_iter()
                .filter_map(|name| self.folder(name))
                .collect(),
        }
    }

    /// The folder that holds the user data directories of this kind of package.
    pub fn data_folder(&self, package: Package) -> Option<PathBuf> {
        match (self.system, package) {
            (System::Linux, Package::Native) => self
                .folder("CHROME_CONFIG_HOME")
                .or_else(|| self.folder("XDG_CONFIG_HOME"))
                .or_else(|| Some(self.home()?.join(".config"))),
            (System::Linux, Package::Snap) => Some(self.home()?.join("snap")),
            (System::Linux, Package::Flatpak) => Some(self.home()?.join(".var/app")),
            (System::MacOs, _) => Some(self.home()?.join("Library/Application Support")),
            (System::Windows, _) => self.folder("LOCALAPPDATA"),
        }
    }

    /// A folder that a variable names. Relative ones are ignored, as the XDG specification demands.
    pub fn folder(&self, variable: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.variables.get(variable)?);
        path.has_root().then_some(path)
    }

    fn home(&self) -> Option<PathBuf> {
        self.folder("HOME")
    }

    /// PATH, without the folders that have rows of their own.
    fn search_path(&self) -> Vec<PathBuf> {
        let mut others = self.flatpak_folders();
        others.push(self.snap_folder());
        let path = self.variables.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|folder| !others.contains(folder))
            .collect()
    }

    fn snap_folder(&self) -> PathBuf {
        self.root.join("snap/bin")
    }

    fn flatpak_folders(&self) -> Vec<PathBuf> {
        let own = self
            .folder("XDG_DATA_HOME")
            .or_else(|| Some(self.home()?.join(".local/share")));
        let shared = self.root.join("var/lib");
        [Some(shared), own]
            .into_iter()
            .flatten()
            .map(|folder| folder.join("flatpak/exports/bin"))
            .collect()
    }
}

/// Whether this file can be run.
pub fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && is_executable(&meta))
}

#[cfg(unix)]
fn is_executable(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    // A faked Windows tree is on a Unix file system too; its tests set the mode.
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// The id in a lock may have been reused since its browser was killed, so the program counts too.
#[cfg(target_os = "linux")]
fn is_browser_process(pid: u32) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    match std::fs::read_link(process.join("exe")) {
        Ok(program) => is_browser_program(&program),
        // Another user's process does not show its program.
        Err(_) => process.exists(),
    }
}

#[cfg(not(target_os = "linux"))]
fn is_browser_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok();
    pid.and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| match rustix::process::test_kill_process(pid) {
            Ok(()) => true,
            Err(error) => error == rustix::io::Errno::PERM,
        })
}

/// For example `/opt/google/chrome/chrome`, `/opt/vivaldi/vivaldi-bin` or, after an update,
/// `/usr/lib/chromium/chromium (deleted)`.
#[cfg(target_os = "linux")]
fn is_browser_program(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    ["chrom", "brave", "msedge", "vivaldi"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn recognizes_browser_processes_by_their_program() {
        for (program, expected) in [
            ("/opt/google/chrome/chrome", true),
            ("/usr/lib/chromium/chromium (deleted)", true),
            ("/opt/vivaldi/vivaldi-bin", true),
            ("/opt/microsoft/msedge/msedge", true),
            ("/usr/bin/bash", false),
        ] {
            assert_eq!(is_browser_program(Path::new(program)), expected);
        }
        assert!(!is_browser_process(std::process::id()), "this is a test");
        assert!(!is_browser_process(u32::MAX), "there is no such process");
    }
}
