//! Where browsers are, as data: one row per system, browser, channel and kind of package. Rows are in
//! the order in which Tabwire prefers to start them.
//!
//! Sources: Chromium's docs/user_data_dir.md for Chrome and Chromium, Playwright's registry for the
//! channels of Chrome and Edge, the vendors' packages and the Homebrew casks for Brave and Vivaldi,
//! Flathub and the Snap Store for theirs.

use std::path::Path;

use serde::Serialize;

use self::Kind::{Brave, Chrome, Chromium, Edge, Vivaldi};
use self::Package::{Flatpak, Native, Snap};
use crate::browser::detect::environment::System;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Chromium,
    Brave,
    Edge,
    Vivaldi,
    Chrome,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Brave => "brave",
            Self::Edge => "edge",
            Self::Vivaldi => "vivaldi",
            Self::Chrome => "chrome",
        }
    }
}

/// How a browser was installed. It decides where its program and its data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Package {
    Native,
    Snap,
    Flatpak,
}

/// One installation to look for.
pub struct Entry {
    /// What the user calls it on the command line.
    pub name: &'static str,
    pub kind: Kind,
    pub package: Package,
    /// Relative to `Environment::program_folders`; the first that exists is used.
    pub programs: &'static [&'static str],
    /// Relative to `Environment::data_folder`.
    pub user_data: &'static str,
}

impl Entry {
    /// A snap also has the plain name, as it has on PATH: on Ubuntu, there is no other Chromium.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || (self.package == Snap && self.kind.name() == name)
    }
}

/// A browser that Tabwire cannot use.
pub struct UnsupportedEntry {
    pub name: &'static str,
    pub package: Package,
    pub programs: &'static [&'static str],
    pub reason: &'static str,
}

/// The browsers of a system, in order of preference. Those that load an unpacked extension from the
/// command line come first; branded Chrome no longer does. Releases come before previews, and
/// Flatpaks last.
pub fn browsers(system: System) -> &'static [Entry] {
    match system {
        System::Linux => LINUX,
        System::MacOs => MACOS,
        System::Windows => WINDOWS,
    }
}

/// What a program is called wherever it is installed.
pub fn kind_of(system: System, program: &Path) -> Option<Kind> {
    let own = browsers(system).iter();
    let own = own.flat_map(|entry| entry.programs.iter().map(|name| (*name, entry.kind)));
    let started = STARTED.iter().copied().filter(|_| system == System::Linux);
    let mut names = own.chain(started);
    names.find_map(|(name, kind)| program.ends_with(name).then_some(kind))
}

pub fn unsupported(system: System) -> &'static [UnsupportedEntry] {
    match system {
        System::Linux => UNSUPPORTED_LINUX,
        System::MacOs => UNSUPPORTED_MACOS,
        System::Windows => UNSUPPORTED_WINDOWS,
    }
}

const fn row(
    name: &'static str,
    kind: Kind,
    package: Package,
    programs: &'static [&'static str],
    user_data: &'static str,
) -> Entry {
    Entry {
        name,
        kind,
        package,
        programs,
        user_data,
    }
}

// A table is read by its columns: one row per line, whatever its length.
#[rustfmt::skip]
const LINUX: &[Entry] = &[
    row("chromium", Chromium, Native, &["chromium", "chromium-browser"], "chromium"),
    row("chromium-snap", Chromium, Snap, &["chromium"], "chromium/common/chromium"),
    row("brave", Brave, Native, &["brave-browser", "brave-browser-stable", "brave"], "BraveSoftware/Brave-Browser"),
    row("edge", Edge, Native, &["microsoft-edge", "microsoft-edge-stable"], "microsoft-edge"),
    row("vivaldi", Vivaldi, Native, &["vivaldi", "vivaldi-stable"], "vivaldi"),
    row("chrome", Chrome, Native, &["google-chrome", "google-chrome-stable"], "google-chrome"),
    row("brave-beta", Brave, Native, &["brave-browser-beta"], "BraveSoftware/Brave-Browser-Beta"),
    row("brave-nightly", Brave, Native, &["brave-browser-nightly"], "BraveSoftware/Brave-Browser-Nightly"),
    row("brave-snap", Brave, Snap, &["brave"], "brave/current/.config/BraveSoftware/Brave-Browser"),
    row("edge-beta", Edge, Native, &["microsoft-edge-beta"], "microsoft-edge-beta"),
    row("edge-dev", Edge, Native, &["microsoft-edge-dev"], "microsoft-edge-dev"),
    row("vivaldi-snapshot", Vivaldi, Native, &["vivaldi-snapshot"], "vivaldi-snapshot"),
    row("vivaldi-snap", Vivaldi, Snap, &["vivaldi.vivaldi-stable", "vivaldi"], "vivaldi/current/.config/vivaldi"),
    row("chrome-beta", Chrome, Native, &["google-chrome-beta"], "google-chrome-beta"),
    row("chrome-dev", Chrome, Native, &["google-chrome-unstable"], "google-chrome-unstable"),
    row("chrome-canary", Chrome, Native, &["google-chrome-canary"], "google-chrome-canary"),
    row("chromium-flatpak", Chromium, Flatpak, &["org.chromium.Chromium"], "org.chromium.Chromium/config/chromium"),
    row("brave-flatpak", Brave, Flatpak, &["com.brave.Browser"], "com.brave.Browser/config/BraveSoftware/Brave-Browser"),
    row("edge-flatpak", Edge, Flatpak, &["com.microsoft.Edge"], "com.microsoft.Edge/config/microsoft-edge"),
    row("edge-dev-flatpak", Edge, Flatpak, &["com.microsoft.EdgeDev"], "com.microsoft.EdgeDev/config/microsoft-edge-dev"),
    row("vivaldi-flatpak", Vivaldi, Flatpak, &["com.vivaldi.Vivaldi"], "com.vivaldi.Vivaldi/config/vivaldi"),
    row("chrome-flatpak", Chrome, Flatpak, &["com.google.Chrome"], "com.google.Chrome/config/google-chrome"),
    row("chrome-dev-flatpak", Chrome, Flatpak, &["com.google.ChromeDev"], "com.google.ChromeDev/config/google-chrome-unstable"),
];

/// What the scripts of the branded browsers start on Linux. Chromium and Chrome for Testing are called
/// `chrome`, too.
const STARTED: &[(&str, Kind)] = &[
    ("google/chrome/chrome", Chrome),
    ("google/chrome-beta/chrome", Chrome),
    ("google/chrome-unstable/chrome", Chrome),
    ("google/chrome-canary/chrome", Chrome),
    ("msedge", Edge),
];

#[rustfmt::skip]
const MACOS: &[Entry] = &[
    row("chromium", Chromium, Native, &["Chromium.app/Contents/MacOS/Chromium"], "Chromium"),
    row("brave", Brave, Native, &["Brave Browser.app/Contents/MacOS/Brave Browser"], "BraveSoftware/Brave-Browser"),
    row("edge", Edge, Native, &["Microsoft Edge.app/Contents/MacOS/Microsoft Edge"], "Microsoft Edge"),
    row("vivaldi", Vivaldi, Native, &["Vivaldi.app/Contents/MacOS/Vivaldi"], "Vivaldi"),
    row("chrome", Chrome, Native, &["Google Chrome.app/Contents/MacOS/Google Chrome"], "Google/Chrome"),
    row("brave-beta", Brave, Native, &["Brave Browser Beta.app/Contents/MacOS/Brave Browser Beta"], "BraveSoftware/Brave-Browser-Beta"),
    row("brave-nightly", Brave, Native, &["Brave Browser Nightly.app/Contents/MacOS/Brave Browser Nightly"], "BraveSoftware/Brave-Browser-Nightly"),
    row("edge-beta", Edge, Native, &["Microsoft Edge Beta.app/Contents/MacOS/Microsoft Edge Beta"], "Microsoft Edge Beta"),
    row("edge-dev", Edge, Native, &["Microsoft Edge Dev.app/Contents/MacOS/Microsoft Edge Dev"], "Microsoft Edge Dev"),
    row("edge-canary", Edge, Native, &["Microsoft Edge Canary.app/Contents/MacOS/Microsoft Edge Canary"], "Microsoft Edge Canary"),
    row("vivaldi-snapshot", Vivaldi, Native, &["Vivaldi Snapshot.app/Contents/MacOS/Vivaldi Snapshot"], "Vivaldi Snapshot"),
    row("chrome-beta", Chrome, Native, &["Google Chrome Beta.app/Contents/MacOS/Google Chrome Beta"], "Google/Chrome Beta"),
    row("chrome-dev", Chrome, Native, &["Google Chrome Dev.app/Contents/MacOS/Google Chrome Dev"], "Google/Chrome Dev"),
    row("chrome-canary", Chrome, Native, &["Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary"], "Google/Chrome Canary"),
];

#[rustfmt::skip]
const WINDOWS: &[Entry] = &[
    row("chromium", Chromium, Native, &["Chromium/Application/chrome.exe"], "Chromium/User Data"),
    row("brave", Brave, Native, &["BraveSoftware/Brave-Browser/Application/brave.exe"], "BraveSoftware/Brave-Browser/User Data"),
    row("edge", Edge, Native, &["Microsoft/Edge/Application/msedge.exe"], "Microsoft/Edge/User Data"),
    row("vivaldi", Vivaldi, Native, &["Vivaldi/Application/vivaldi.exe"], "Vivaldi/User Data"),
    row("chrome", Chrome, Native, &["Google/Chrome/Application/chrome.exe"], "Google/Chrome/User Data"),
    row("brave-beta", Brave, Native, &["BraveSoftware/Brave-Browser-Beta/Application/brave.exe"], "BraveSoftware/Brave-Browser-Beta/User Data"),
    row("brave-nightly", Brave, Native, &["BraveSoftware/Brave-Browser-Nightly/Application/brave.exe"], "BraveSoftware/Brave-Browser-Nightly/User Data"),
    row("edge-beta", Edge, Native, &["Microsoft/Edge Beta/Application/msedge.exe"], "Microsoft/Edge Beta/User Data"),
    row("edge-dev", Edge, Native, &["Microsoft/Edge Dev/Application/msedge.exe"], "Microsoft/Edge Dev/User Data"),
    row("edge-canary", Edge, Native, &["Microsoft/Edge SxS/Application/msedge.exe"], "Microsoft/Edge SxS/User Data"),
    row("chrome-beta", Chrome, Native, &["Google/Chrome Beta/Application/chrome.exe"], "Google/Chrome Beta/User Data"),
    row("chrome-dev", Chrome, Native, &["Google/Chrome Dev/Application/chrome.exe"], "Google/Chrome Dev/User Data"),
    row("chrome-canary", Chrome, Native, &["Google/Chrome SxS/Application/chrome.exe"], "Google/Chrome SxS/User Data"),
];

const NO_DEBUGGER: &str = "not supported: no debugger API for extensions";

const fn no_debugger(
    name: &'static str,
    package: Package,
    programs: &'static [&'static str],
) -> UnsupportedEntry {
    UnsupportedEntry {
        name,
        package,
        programs,
        reason: NO_DEBUGGER,
    }
}

const UNSUPPORTED_LINUX: &[UnsupportedEntry] = &[
    no_debugger("firefox", Native, &["firefox", "firefox-esr"]),
    no_debugger("firefox-snap", Snap, &["firefox"]),
    no_debugger("firefox-flatpak", Flatpak, &["org.mozilla.firefox"]),
];

const UNSUPPORTED_MACOS: &[UnsupportedEntry] = &[
    no_debugger("firefox", Native, &["Firefox.app/Contents/MacOS/firefox"]),
    no_debugger("safari", Native, &["Safari.app/Contents/MacOS/Safari"]),
];

const UNSUPPORTED_WINDOWS: &[UnsupportedEntry] = &[no_debugger(
    "firefox",
    Native,
    &["Mozilla Firefox/firefox.exe"],
)];
