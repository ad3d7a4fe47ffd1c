//! The extension: the folders that it was written to, and the profiles that have loaded it.

use std::fmt;
use std::path::Path;

use super::Situation;
use super::finding::{Finding, install_command, note, problem};
use super::repair::Repair;
use crate::browser::bundle;
use crate::browser::detect::{Installation, LoadedExtension, Off, Profile};
use crate::browser::profile_pairing::ProfilePairing;
use crate::commands::table;
use crate::shell::quoted;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
const RELOAD: &str = "reload the extension at chrome://extensions";

pub fn check(situation: &Situation) -> Vec<Finding> {
    let home = situation.home.path();
    // The relay writes its own folders again whenever it launches a browser.
    let folders = situation.pairings.folders();
    let folders = folders.filter(|folder| !folder.starts_with(home));
    let mut findings: Vec<Finding> = folders
        .filter_map(|folder| check_folder(situation, folder))
        .collect();
    for browser in &situation.installed {
        for profile in &browser.profiles {
            if let Some(extension) = &profile.extension {
                let place = Place { browser, profile };
                findings.extend(check_profile(situation, place, extension));
            }
        }
    }
    findings
}

fn check_folder(situation: &Situation, folder: &Path) -> Option<Finding> {
    let version = bundle::version_in(folder)?;
    let copy = bundle::present_copy(folder)?;
    let shown = folder.display();
    if is_older(&version, OWN_VERSION) {
        let command = install(situation, folder, copy.port);
        let finding = note(
            format!(
                "{shown} has version {version} of the extension. This is version {OWN_VERSION} of Tabwire."
            ),
            format!("Run `{command}`, then {RELOAD}."),
        );
        return Some(finding.with_repair(Repair::RewriteExtension(folder.to_owned())));
    }
    if version != OWN_VERSION {
        return Some(note(
            format!(
                "{shown} has version {version} of the extension, which is newer than this `tabwire` ({OWN_VERSION})."
            ),
            "Update `tabwire`, or run the newer one.",
        ));
    }
    let port = situation.running?.port;
    // The port can also be changed in the popup, so a browser that is connected has the right one.
    (copy.port != port && !situation.has_connected()).then(|| {
        let command = install(situation, folder, port);
        problem(
            format!(
                "The extension in {shown} connects to port {}, but the relay is on port {port}.",
                copy.port
            ),
            format!("Run `{command}`, then {RELOAD}."),
        )
    })
}

fn install(situation: &Situation, folder: &Path, port: u16) -> String {
    let default = situation.home.visible_extension_folder();
    install_command(folder, default, Some(port))
}

/// A profile of an installed browser.
#[derive(Clone, Copy)]
struct Place<'a> {
    browser: &'a Installation,
    profile: &'a Profile,
}

impl Place<'_> {
    /// Opens a window of the profile.
    fn command(self) -> String {
        format!(
            "{} --profile-directory={}",
            quoted(&self.browser.path),
            quoted(&self.profile.folder)
        )
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = table::printable(&self.profile.name);
        write!(f, "{}, profile {name}", self.browser.name)
    }
}

fn check_profile(
    situation: &Situation,
    place: Place<'_>,
    extension: &LoadedExtension,
) -> Option<Finding> {
    let is_note = situation.has_connected();
    let folder = &extension.folder;
    let loaded = format!("The extension is loaded in {place}, but");
    if let Some(off) = extension.off {
        let (reason, fix) = switched_off(off);
        return Some(problem(format!("{loaded} {reason}."), fix).note_if(is_note));
    }
    let default = situation.home.visible_extension_folder();
    let command = install_command(folder, default, situation.running.map(|own| own.port));
    if extension.version.is_none() {
        let text = format!("{loaded} its folder {} is gone.", folder.display());
        let fix = format!("Run `{command}`, then {RELOAD}.");
        return Some(problem(text, fix).note_if(is_note));
    }
    let pairing = ProfilePairing::of(extension, &situation.pairings);
    if pairing.paired == Some(false) {
        let text = format!("{loaded} it is not paired with this home's relay.");
        let fix = format!("Run `{command}`, then {RELOAD}.");
        return Some(problem(text, fix).note_if(is_note));
    }
    let is_connected = |name: &String| situation.connected().any(|own| own.name == *name);
    if is_note || pairing.paired_as.iter().any(is_connected) {
        return None;
    }
    match (place.browser.running, situation.running) {
        (Some(false), _) => Some(note(
            format!("{loaded} that browser is not running."),
            format!("Run `{}`.", place.command()),
        )),
        (Some(true), Some(_)) => Some(note(
            format!("{loaded} that browser is not connected."),
            "Open a window of that profile and look at the extension's popup, which says what is wrong.",
        )),
        _ => None,
    }
}

/// Why an extension is switched off, and how to switch it on.
fn switched_off(off: Off) -> (&'static str, &'static str) {
    match off {
        Off::User => ("it is switched off", "Turn it on at chrome://extensions."),
        Off::DeveloperMode => (
            "it is switched off, because Developer mode is off there",
            "Turn on Developer mode at chrome://extensions.",
        ),
        Off::Policy => (
            "a policy has switched it off",
            "Look for the policy at chrome://policy, or use a separate browser with `tabwire up`.",
        ),
        Off::Other => (
            "the browser has switched it off",
            "Open chrome://extensions, which says why.",
        ),
    }
}

/// Whether one version number comes before another.
fn is_older(version: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        let parts = version.split('.').map(|part| part.parse().ok());
        parts.collect()
    };
    match (numbers(version), numbers(other)) {
        (Some(version), Some(other)) => version < other,
        _ => false,
    }
}
