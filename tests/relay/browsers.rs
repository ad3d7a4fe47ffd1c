//! `tabwire browsers`: what it finds on a faked machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};
use tabwire_tests::{Exit, run};
use tempfile::TempDir;

/// A home folder and a search path of its own.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["bin", "ann/.config/chromium"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn run(&self, arguments: &[&str]) -> Exit {
        let (path, home) = (self.path("bin"), self.path("ann"));
        let environment = [
            ("PATH", path.to_str().unwrap()),
            ("HOME", home.to_str().unwrap()),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_DATA_HOME", ""),
            ("CHROME_CONFIG_HOME", ""),
            ("CHROME_USER_DATA_DIR", ""),
        ];
        let exit = run(&self.path("home"), arguments, &environment);
        assert_eq!(exit.code, Some(0), "{exit:?}");
        exit
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.run(&["browsers", "--json"]).stdout).unwrap()
    }
}

#[test]
fn lists_programs_on_the_search_path_with_their_versions() {
    let machine = Machine::new();
    let chromium = machine.program("chromium", "echo Chromium 156.0.8078.79 built on Debian");
    let brave = machine.program("brave-browser", "exit 1");
    let firefox = machine.program("firefox", "");
    fs::write(machine.path("bin/google-chrome"), "not executable").unwrap();
    let browser = |name: &str, path: &Path, version: Value, data: &str| {
        json!({
            "name": name, "type": name, "package": "native", "path": path, "version": version,
            "userDataDir": machine.path(data), "running": false, "profiles": [],
        })
    };
    let expected = json!({
        "paired": [],
        "installed": [
            browser("chromium", &chromium, json!("156.0.8078.79"), "ann/.config/chromium"),
            browser("brave", &brave, Value::Null, "ann/.config/BraveSoftware/Brave-Browser"),
        ],
        "unsupported": [{
            "name": "firefox", "path": firefox,
            "reason": "not supported: no debugger API for extensions",
        }],
    });
    assert_eq!(machine.json(), expected);
}

#[test]
fn prints_a_table() {
    let machine = Machine::new();
    let chromium = machine.program("chromium", "echo Chromium 156.0.8078.79");
    let firefox = machine.program("firefox", "");
    let state = json!({ "profile": { "info_cache": { "Default": { "name": "Ann\u{1b}[2J" } } } });
    let file = machine.path("ann/.config/chromium/Local State");
    fs::write(file, state.to_string()).unwrap();
    let expected = format!(
        "No browser is paired. Run `tabwire install-extension` to add one.\n\
         Installed (start one with `tabwire up --browser NAME`):\n  \
         chromium  156.0.8078.79  {}  profiles: Ann[2J (Default)\n\
         Other browsers:\n  \
         firefox  {}  not supported: no debugger API for extensions\n",
        chromium.display(),
        firefox.display()
    );
    assert_eq!(machine.run(&["browsers"]).stdout, expected);
}

/// A process that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_counts_only_while_its_browser_lives() {
    let machine = Machine::new();
    machine.program("chromium", "echo Chromium 156.0.8078.79");
    let program = machine.path("chromium");
    fs::copy("/bin/sleep", &program).unwrap();
    let browser = Running(Command::new(program).arg("600").spawn().unwrap());
    let uname = rustix::system::uname();
    let host = uname.nodename().to_str().unwrap();
    let lock = machine.path("ann/.config/chromium/SingletonLock");
    // This test has another program than a browser, as has a process that reuses an id.
    for (pid, expected) in [(browser.0.id(), true), (std::process::id(), false)] {
        symlink(format!("{host}-{pid}"), &lock).unwrap();
        assert_eq!(machine.json()["installed"][0]["running"], expected);
        fs::remove_file(&lock).unwrap();
    }
    symlink(format!("{host}-{}", browser.0.id()), &lock).unwrap();
    drop(browser);
    assert_eq!(machine.json()["installed"][0]["running"], false);
}
