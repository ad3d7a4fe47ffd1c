//! Detection on faked trees of all three systems.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod loaded;
mod policy;
mod user_data;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::*;

/// A machine of another kind: all its absolute paths are in a temporary folder.
struct Machine {
    folder: TempDir,
    environment: Environment,
}

impl Machine {
    fn new(system: System, variables: &[(&'static str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let place = |(name, path): &(&'static str, &str)| (*name, folder.path().join(path).into());
        let environment = Environment {
            system,
            root: folder.path().to_owned(),
            variables: variables.iter().map(place).collect(),
            host_name: "desk-1".to_owned(),
            is_browser_process: |pid| pid == 4242,
        };
        Self {
            folder,
            environment,
        }
    }

    fn linux() -> Self {
        Self::new(System::Linux, &[("PATH", "usr/bin"), ("HOME", "home/ann")])
    }

    fn macos() -> Self {
        Self::new(System::MacOs, &[("HOME", "Users/ann")])
    }

    fn windows() -> Self {
        Self::new(
            System::Windows,
            &[
                ("LOCALAPPDATA", "Users/ann/AppData/Local"),
                ("ProgramFiles", "Program Files"),
                ("ProgramFiles(x86)", "Program Files (x86)"),
            ],
        )
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, path: &str) -> PathBuf {
        let path = self.write(path, "\u{7f}ELF");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// The names and paths of all installed browsers.
    fn found(&self) -> Vec<(&'static str, PathBuf)> {
        let installed = installed(&self.environment).into_iter();
        installed
            .map(|browser| (browser.name, browser.path))
            .collect()
    }

    fn only(&self) -> Installation {
        let mut installed = installed(&self.environment);
        assert_eq!(installed.len(), 1, "{installed:?}");
        installed.remove(0)
    }

    fn running(&self) -> Option<bool> {
        self.only().running
    }
}

#[test]
fn finds_packages_snaps_and_flatpaks_on_linux() {
    let machine = Machine::linux();
    let expected = [
        ("chromium", machine.program("usr/bin/chromium")),
        ("chromium-snap", machine.program("snap/bin/chromium")),
        ("brave", machine.program("usr/bin/brave-browser-stable")),
        ("vivaldi", machine.program("usr/bin/vivaldi-stable")),
        ("edge-dev", machine.program("usr/bin/microsoft-edge-dev")),
        (
            "vivaldi-snap",
            machine.program("snap/bin/vivaldi.vivaldi-stable"),
        ),
        (
            "chrome-dev",
            machine.program("usr/bin/google-chrome-unstable"),
        ),
        (
            "brave-flatpak",
            machine.program("var/lib/flatpak/exports/bin/com.brave.Browser"),
        ),
        (
            "chrome-flatpak",
            machine.program("home/ann/.local/share/flatpak/exports/bin/com.google.Chrome"),
        ),
    ];
    machine.write("usr/bin/microsoft-edge", "not executable");
    assert_eq!(machine.found(), expected);
}

#[test]
fn finds_applications_on_macos() {
    let machine = Machine::macos();
    let expected = [
        (
            "brave",
            machine
                .program("Users/ann/Applications/Brave Browser.app/Contents/MacOS/Brave Browser"),
        ),
        (
            "chrome",
            machine.program("Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
        ),
        (
            "edge-canary",
            machine.program(
                "Applications/Microsoft Edge Canary.app/Contents/MacOS/Microsoft Edge Canary",
            ),
        ),
    ];
    assert_eq!(machine.found(), expected);
}

#[test]
fn finds_programs_on_windows() {
    let machine = Machine::windows();
    let expected = [
        (
            "edge",
            machine.program("Program Files (x86)/Microsoft/Edge/Application/msedge.exe"),
        ),
        (
            "vivaldi",
            machine.program("Users/ann/AppData/Local/Vivaldi/Application/vivaldi.exe"),
        ),
        (
            "chrome",
            machine.program("Program Files/Google/Chrome/Application/chrome.exe"),
        ),
        (
            "chrome-canary",
            machine.program("Users/ann/AppData/Local/Google/Chrome SxS/Application/chrome.exe"),
        ),
    ];
    assert_eq!(machine.found(), expected);
}

#[test]
fn names_are_unique_on_each_system() {
    for system in [System::Linux, System::MacOs, System::Windows] {
        let mut names: Vec<_> = catalog::browsers(system).iter().map(|e| e.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{system:?}");
    }
}

#[test]
fn a_link_to_a_preview_is_not_a_release() {
    let machine = Machine::linux();
    let beta = machine.program("usr/bin/google-chrome-beta");
    machine.link("usr/bin/google-chrome", "google-chrome-beta");
    assert_eq!(machine.found(), [("chrome-beta", beta)]);
}

#[test]
fn a_script_that_starts_the_snap_is_not_a_second_browser() {
    let machine = Machine::linux();
    let script = machine.program("usr/bin/chromium-browser");
    fs::write(&script, "#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n").unwrap();
    let snap = machine.program("snap/bin/chromium");
    assert_eq!(machine.found(), [("chromium-snap", snap)]);
}

#[test]
fn firefox_and_safari_are_not_supported() {
    let machine = Machine::macos();
    machine.program("Applications/Firefox.app/Contents/MacOS/firefox");
    machine.program("Applications/Safari.app/Contents/MacOS/Safari");
    let found = unsupported(&machine.environment);
    let found: Vec<_> = found.iter().map(|b| (b.name, b.reason)).collect();
    let reason = "not supported: no debugger API for extensions";
    assert_eq!(found, [("firefox", reason), ("safari", reason)]);
    assert!(machine.found().is_empty());
    let linux = Machine::linux();
    let path = linux.program("usr/bin/firefox-esr");
    assert_eq!(unsupported(&linux.environment)[0].path, path);
    let windows = Machine::windows();
    let path = windows.program("Program Files/Mozilla Firefox/firefox.exe");
    assert_eq!(unsupported(&windows.environment)[0].path, path);
}

#[tokio::test]
async fn reads_versions_from_files_on_macos_and_windows() {
    let machine = Machine::macos();
    let program = machine.program("Applications/Chromium.app/Contents/MacOS/Chromium");
    let ask =
        |system, program| async move { version::version(system, program, Duration::ZERO).await };
    assert_eq!(ask(System::MacOs, &program).await, None);
    machine.write(
        "Applications/Chromium.app/Contents/Info.plist",
        "<plist version=\"1.0\"><dict>\n<key>CFBundleName</key><string>Chromium</string>\n\
         <key>CFBundleShortVersionString</key>\n\t<string>137.0.7151.104</string></dict></plist>",
    );
    assert_eq!(
        ask(System::MacOs, &program).await.as_deref(),
        Some("137.0.7151.104")
    );

    let machine = Machine::windows();
    let folder = "Program Files/Google/Chrome/Application";
    let program = machine.program(&format!("{folder}/chrome.exe"));
    for name in ["137.0.7151.104", "137.0.7151.99", "SetupMetrics"] {
        fs::create_dir_all(machine.path(&format!("{folder}/{name}"))).unwrap();
    }
    assert_eq!(
        ask(System::Windows, &program).await.as_deref(),
        Some("137.0.7151.104")
    );
}

#[test]
fn chooses_by_preference_name_or_path() {
    let machine = Machine::linux();
    let choose = |requested| {
        let browser = choose_in(&machine.environment, requested);
        browser.map(|browser| (browser.name, browser.path)).ok()
    };
    let named = |name: &str, path: &PathBuf| Some((name.to_owned(), path.clone()));
    let flatpak = machine.program("var/lib/flatpak/exports/bin/org.chromium.Chromium");
    assert_eq!(choose(None), None, "a Flatpak is used only on request");
    let beta = machine.program("usr/bin/google-chrome-beta");
    assert_eq!(choose(None), named("chrome-beta", &beta));
    let chrome = machine.program("usr/bin/google-chrome");
    assert_eq!(choose(None), named("chrome", &chrome));
    let brave = machine.program("usr/bin/brave-browser");
    assert_eq!(choose(None), named("brave", &brave));
    assert_eq!(choose(Some("chrome")), named("chrome", &chrome));
    assert_eq!(choose(Some("chrome-beta")), named("chrome-beta", &beta));
    assert_eq!(
        choose(Some("chromium-flatpak")),
        named("chromium-flatpak", &flatpak)
    );
    assert_eq!(choose(Some("chromium")), None);
    let snap = machine.program("snap/bin/chromium");
    assert_eq!(choose(Some("chromium")), named("chromium-snap", &snap));
    let chromium = machine.program("usr/bin/chromium");
    assert_eq!(choose(Some("chromium")), named("chromium", &chromium));
    let path = chromium.to_str().unwrap();
    assert_eq!(choose(Some(path)), named("chromium", &chromium));
    let other = machine.program("opt/thorium");
    let path = other.to_str().unwrap();
    assert_eq!(choose(Some(path)), named("thorium", &other));
    let other = machine.program("usr/bin/thorium");
    assert_eq!(choose(Some("thorium")), named("thorium", &other));
    let odd = machine.program("opt/my browser");
    let path = odd.to_str().unwrap();
    assert_eq!(choose(Some(path)), named("browser", &odd));
}

/// Branded browsers ignore `--load-extension`, so they have to be recognized.
#[test]
fn recognizes_a_browser_by_any_of_its_paths() {
    let machine = Machine::linux();
    let kept = machine.program("opt/google/chrome/google-chrome");
    machine.link("usr/bin/google-chrome-stable", kept.to_str().unwrap());
    machine.link("usr/bin/google-chrome", "google-chrome-stable");
    machine.link("home/ann/bin/browser", "../../../usr/bin/google-chrome");
    machine.link("home/ann/bin/edge", "../../../opt/microsoft/msedge/msedge");
    machine.program("opt/microsoft/msedge/msedge");
    machine.program("opt/google/chrome/chrome");
    machine.program("opt/google/chrome-beta/google-chrome-beta");
    machine.program("opt/chrome-linux/chrome");
    machine.program("snap/bin/snap");
    machine.link("snap/bin/chromium", "snap");
    machine.link("snap/bin/thorium", "snap");
    let choose = |requested: &str| {
        let browser = choose_in(&machine.environment, Some(requested)).unwrap();
        (browser.name, browser.kind, browser.path)
    };
    for (path, name, kind) in [
        ("usr/bin/google-chrome", "chrome", Some(Kind::Chrome)),
        ("usr/bin/google-chrome-stable", "chrome", Some(Kind::Chrome)),
        (
            "opt/google/chrome/google-chrome",
            "chrome",
            Some(Kind::Chrome),
        ),
        ("home/ann/bin/browser", "chrome", Some(Kind::Chrome)),
        ("opt/google/chrome/chrome", "chrome", Some(Kind::Chrome)),
        (
            "opt/google/chrome-beta/google-chrome-beta",
            "google-chrome-beta",
            Some(Kind::Chrome),
        ),
        ("home/ann/bin/edge", "edge", Some(Kind::Edge)),
        ("opt/microsoft/msedge/msedge", "msedge", Some(Kind::Edge)),
        ("opt/chrome-linux/chrome", "chrome", None),
        ("snap/bin/thorium", "thorium", None),
    ] {
        let path = machine.path(path);
        // A path that leads to a listed program stands for that.
        let is_listed = path.canonicalize().unwrap() == kept;
        let own = if is_listed {
            choose("chrome").2
        } else {
            path.clone()
        };
        let expected = (name.to_owned(), kind, own);
        assert_eq!(choose(path.to_str().unwrap()), expected);
    }
    let on_path = choose("google-chrome-stable");
    assert_eq!(
        (on_path.0.as_str(), on_path.1),
        ("chrome", Some(Kind::Chrome))
    );
    let machine = Machine::macos();
    let path = machine.program("Volumes/disk/Google Chrome.app/Contents/MacOS/Google Chrome");
    let chosen = choose_in(&machine.environment, path.to_str()).unwrap();
    assert_eq!(chosen.kind, Some(Kind::Chrome));
}
