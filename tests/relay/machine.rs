//! A faked machine: a search path with browsers, and a user with profiles.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire_tests::{EXTENSION_ID, Exit, run};
use tempfile::TempDir;

/// Listens as a browser does that has opened this profile.
pub fn listen_in(profile: &Path) -> UnixListener {
    let socket = profile.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    symlink(socket, profile.join("SingletonSocket")).unwrap();
    listener
}

pub struct Machine {
    folder: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["bin", "ann/.config/chromium"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Tabwire's home.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn run(&self, arguments: &[&str]) -> Exit {
        self.run_in(&self.home(), arguments)
    }

    pub fn run_in(&self, home: &Path, arguments: &[&str]) -> Exit {
        let (path, user) = (self.path("bin"), self.path("ann"));
        let environment = [
            ("PATH", path.to_str().unwrap()),
            ("HOME", user.to_str().unwrap()),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_DATA_HOME", ""),
            ("CHROME_CONFIG_HOME", ""),
            ("CHROME_USER_DATA_DIR", ""),
        ];
        run(home, arguments, &environment)
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let exit = self.run(arguments);
        serde_json::from_str(&exit.stdout).unwrap_or_else(|_| panic!("{exit:?}"))
    }

    /// Installs Chromium, whose profile `Work` has loaded the extension from a folder. `more` is
    /// added to the browser's record of it.
    pub fn load_extension(&self, folder: &Path, more: &Value) {
        self.program("chromium", "echo Chromium 156.0.8078.79");
        let user_data = self.path("ann/.config/chromium");
        let state = json!({ "profile": { "info_cache": { "Profile 1": { "name": "Work" } } } });
        fs::write(user_data.join("Local State"), state.to_string()).unwrap();
        let mut entry = json!({ "path": folder, "location": 4, "disable_reasons": [] });
        let more = more.as_object().unwrap().clone();
        entry.as_object_mut().unwrap().extend(more);
        let preferences = json!({ "extensions": { "settings": { EXTENSION_ID: entry } } });
        fs::create_dir_all(user_data.join("Profile 1")).unwrap();
        let file = user_data.join("Profile 1/Preferences");
        fs::write(file, preferences.to_string()).unwrap();
    }
}
