//! `tabwire browsers`: what it finds on a faked machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::{Value, json};
use tabwire_home::{Home, InUse, Secret};

use crate::machine::{Machine, listen_in};

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
        "direct": [],
        "installed": [
            browser("chromium", &chromium, json!("156.0.8078.79"), "ann/.config/chromium"),
            browser("brave", &brave, Value::Null, "ann/.config/BraveSoftware/Brave-Browser"),
        ],
        "unsupported": [{
            "name": "firefox", "path": firefox,
            "reason": "not supported: no debugger API for extensions",
        }],
    });
    assert_eq!(machine.json(&["browsers", "--json"]), expected);
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
    let _listener = listen_in(&machine.path("ann/.config/chromium"));
    // This test has another program than a browser, as has a process that reuses an id.
    for (pid, expected) in [(browser.0.id(), true), (std::process::id(), false)] {
        symlink(format!("{host}-{pid}"), &lock).unwrap();
        assert_eq!(
            machine.json(&["browsers", "--json"])["installed"][0]["running"],
            expected
        );
        fs::remove_file(&lock).unwrap();
    }
    symlink(format!("{host}-{}", browser.0.id()), &lock).unwrap();
    drop(browser);
    assert_eq!(
        machine.json(&["browsers", "--json"])["installed"][0]["running"],
        false
    );
}

/// The profile's extension in the output of `browsers --json`.
fn extension(machine: &Machine) -> Value {
    machine.json(&["browsers", "--json"])["installed"][0]["profiles"][0]["extension"].clone()
}

#[test]
fn shows_in_which_profile_the_extension_is_loaded_and_paired() {
    let machine = Machine::new();
    let folder = machine.path("Tabwire Extension");
    machine.load_extension(&folder, &json!({}));
    let expected = json!({
        "folder": folder, "version": null, "off": null, "paired": false, "pairedAs": [],
    });
    assert_eq!(extension(&machine), expected);
    let table = || machine.run(&["browsers"]).stdout;
    assert!(table().contains("profiles: Work (Profile 1): extension not paired\n"));

    machine.run(&["install-extension"]);
    assert_eq!(extension(&machine)["paired"], true);
    assert_eq!(extension(&machine)["version"], env!("CARGO_PKG_VERSION"));
    assert!(table().contains("Work (Profile 1): paired, has not connected yet\n"));
    let connect = |install_id: &str| {
        let home = Home::open_at(machine.home()).unwrap();
        let name = home.update_pairings(|pairings| {
            let (id, _) = pairings.pair_folder(&folder, present_secret(&folder).as_ref(), None, 0);
            let seen = ("chrome", "Chrome/1");
            pairings.record_seen(&id, install_id, seen, &InUse::default(), 1)
        });
        name.unwrap().unwrap()
    };
    assert_eq!(connect("00000000-0000-4000-8000-000000000001"), "chrome");
    assert!(table().contains("Work (Profile 1): paired as chrome\n"));
    connect("00000000-0000-4000-8000-000000000002");
    assert_eq!(
        extension(&machine)["pairedAs"],
        json!(["chrome", "chrome-2"])
    );

    machine.load_extension(&folder, &json!({ "disable_reasons": [1] }));
    assert_eq!(extension(&machine)["off"], "user");
    assert!(table().contains("Work (Profile 1): extension switched off\n"));
}

fn present_secret(folder: &Path) -> Option<Secret> {
    let text = fs::read_to_string(folder.join("pairing.json")).ok()?;
    let pairing: Value = serde_json::from_str(&text).ok()?;
    Secret::parse(pairing["secret"].as_str()?)
}
