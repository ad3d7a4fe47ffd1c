//! The browsers: whether one is paired, and whether it is connected.

use std::net::Ipv4Addr;
use std::time::Duration;

use tabwire_home::BrowserReport;
use tabwire_home::control::Ownership;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Situation;
use super::finding::{Finding, note, ok, problem};
use crate::browser::detect;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The kernel accepts a connection at once, unless too many are waiting for a program that hangs.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

pub async fn check(situation: &Situation) -> Vec<Finding> {
    let mut findings: Vec<Finding> = situation.connected().map(connected).collect();
    for browser in situation.browsers.iter().flatten() {
        findings.extend(silent_port(browser).await);
    }
    // Why a relay does not list its browsers is reported with the relay.
    if findings.is_empty() && situation.browsers.is_ok() {
        findings.push(not_connected(situation));
    }
    findings
}

fn connected(browser: &BrowserReport) -> Finding {
    let name = &browser.name;
    if let Some(url) = &browser.url {
        return ok(format!("{name} is connected, at {url}."));
    }
    if browser.paused {
        return note(
            format!("{name} is connected, and you have stopped all clients there."),
            "To let them go on, choose Resume in the extension's popup.",
        );
    }
    match browser.extension.as_str() {
        version if version == OWN_VERSION || version.is_empty() => {
            ok(format!("{name} is connected."))
        }
        version => note(
            format!(
                "{name} is connected, but has version {version} of the extension. This is version {OWN_VERSION} of Tabwire."
            ),
            "Run `tabwire install-extension`, then reload the extension at chrome://extensions.",
        ),
    }
}

/// A browser that is used through its own debugging port, and does not respond there.
async fn silent_port(browser: &BrowserReport) -> Option<Finding> {
    let url = browser.url.as_ref().filter(|_| !browser.connected)?;
    let port = url.rsplit(':').next()?.parse().ok()?;
    let is_launched = browser.ownership == Some(Ownership::Launched);
    Some(describe_silent(
        &browser.name,
        url,
        port,
        is_launched,
        is_listening(port).await,
    ))
}

async fn is_listening(port: u16) -> bool {
    let connecting = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    match timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => connected.is_ok(),
        Err(_) => true,
    }
}

fn describe_silent(
    name: &str,
    url: &str,
    port: u16,
    is_launched: bool,
    is_listening: bool,
) -> Finding {
    let hangs = format!("{name} hangs: its debugging port at {url} does not respond.");
    let is_gone = format!("{name} has exited: nothing listens at {url}.");
    match (is_listening, is_launched) {
        (true, true) => problem(hangs, format!("Run `tabwire restart {name}`.")),
        (true, false) => problem(hangs, "Restart that browser."),
        (false, true) => note(
            is_gone,
            "The relay launches it again when a client needs it.",
        ),
        (false, false) => problem(
            is_gone,
            format!("Start that browser with --remote-debugging-port={port}."),
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    fn report(ownership: Ownership, port: u16) -> BrowserReport {
        BrowserReport {
            name: "work".to_owned(),
            product: String::new(),
            url: Some(format!("http://127.0.0.1:{port}")),
            extension: String::new(),
            connected: false,
            paused: false,
            launches: false,
            ownership: Some(ownership),
            tabs: 0,
            clients: Vec::new(),
        }
    }

    #[test]
    fn extension_of_another_version_should_be_updated() {
        let version = |version: &str| {
            connected(&BrowserReport {
                url: None,
                connected: true,
                ownership: None,
                extension: version.to_owned(),
                ..report(Ownership::Attached, 1)
            })
        };
        assert_eq!(version(OWN_VERSION).severity, Severity::Ok);
        let other = version("0.0.9");
        assert_eq!(other.severity, Severity::Note);
        assert!(other.text.contains("version 0.0.9 of the extension"));
        assert!(other.fix.unwrap().contains("`tabwire install-extension`"));
    }

    #[test]
    fn browser_in_which_clients_are_stopped_says_how_they_go_on() {
        let paused = connected(&BrowserReport {
            url: None,
            connected: true,
            paused: true,
            ..report(Ownership::Attached, 1)
        });
        assert_eq!(paused.severity, Severity::Note);
        assert!(paused.fix.unwrap().contains("Resume"));
    }

    #[tokio::test]
    async fn advice_for_a_silent_port_depends_on_who_started_the_browser() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let find = async |ownership| silent_port(&report(ownership, port)).await.unwrap();
        let advice = |finding: Finding| (finding.severity, finding.fix.unwrap());
        let restart = "Run `tabwire restart work`.".to_owned();
        let hung = advice(find(Ownership::Launched).await);
        assert_eq!(hung, (Severity::Problem, restart));
        let hung = advice(find(Ownership::Attached).await);
        assert_eq!(
            hung,
            (Severity::Problem, "Restart that browser.".to_owned())
        );
        drop(listener);
        let (severity, fix) = advice(find(Ownership::Launched).await);
        assert_eq!(severity, Severity::Note);
        assert!(fix.contains("launches it again"), "{fix}");
        let (severity, fix) = advice(find(Ownership::Attached).await);
        assert_eq!(severity, Severity::Problem);
        assert!(
            fix.contains(&format!("--remote-debugging-port={port}")),
            "{fix}"
        );
    }
}
