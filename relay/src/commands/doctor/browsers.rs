//! The browsers: whether one is paired, and whether it is connected.

use tabwire_home::BrowserReport;

use super::Situation;
use super::finding::{Finding, note, ok, problem};
use crate::browser::detect;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn check(situation: &Situation) -> Vec<Finding> {
    let mut findings: Vec<Finding> = situation.connected().map(connected).collect();
    let browsers = situation.browsers.iter().flatten();
    findings.extend(browsers.filter_map(missing_port));
    if findings.is_empty() {
        findings.push(not_connected(situation));
    }
    findings
}

fn connected(browser: &BrowserReport) -> Finding {
    let name = &browser.name;
    if let Some(url) = &browser.url {
        return ok(format!("{name} is connected, at {url}."));
    }
    match browser.extension.as_str() {
        version if version == OWN_VERSION || version.is_empty() => {
            ok(format!("{name} is connected."))
        }
        version => note(
            format!(
                "{name} is connected, with version {version} of the extension. This is version {OWN_VERSION}."
            ),
            "Run `tabwire install-extension`, then reload the extension at chrome://extensions.",
        ),
    }
}

/// A browser that is used through its own debugging port, and does not respond there.
fn missing_port(browser: &BrowserReport) -> Option<Finding> {
    let url = browser.url.as_ref().filter(|_| !browser.connected)?;
    let port = url.rsplit(':').next().unwrap_or_default();
    Some(problem(
        format!("{} does not respond at {url}.", browser.name),
        format!("Start that browser with --remote-debugging-port={port}."),
    ))
}

fn not_connected(situation: &Situation) -> Finding {
    let names = situation.pairings.browsers().map(|own| own.name.as_str());
    let names: Vec<&str> = names.collect();
    let paired = format!("Paired: {}.", names.join(", "));
    let launches = situation.status.as_ref().is_some_and(|own| own.launches);
    if launches {
        return ok("No browser is connected. The relay launches one when a client needs it.");
    }
    if names.is_empty() && situation.installed.is_empty() {
        return problem(
            "No browser has ever connected, and none is installed here.",
            detect::none_installed().to_string(),
        );
    }
    if names.is_empty() {
        return problem(
            "No browser has ever connected.",
            "Run `tabwire install-extension` and load the folder that it names, or run `tabwire up` for a separate browser.",
        );
    }
    match situation.running {
        None => ok(paired),
        Some(_) => problem(
            format!("No browser is connected. {paired}{}", missing(situation)),
            "Open the browser and look at the extension's popup, which says what is wrong. If the extension was removed, run `tabwire install-extension` and load it at chrome://extensions.",
        ),
    }
}

/// A browser that was launched has a folder of profiles of its own, so this proves nothing.
fn missing(situation: &Situation) -> &'static str {
    let mut profiles = situation.installed.iter().flat_map(|own| &own.profiles);
    if profiles.any(|profile| profile.extension.is_some()) {
        ""
    } else {
        " The extension is in no profile of the installed browsers."
    }
}
