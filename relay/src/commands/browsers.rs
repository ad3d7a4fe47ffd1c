//! `tabwire browsers`: lists the browsers that are paired, those that are installed and those that
//! Tabwire cannot use, and renames paired ones.
//!
//! Paired and installed browsers are separate lists: an extension does not know which program or
//! profile it runs in, so one cannot be matched with the other.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use tabwire_home::{BrowserReport, Home, PairedBrowser, now};

use crate::browser::detect::{self, Environment, Installation, Package, Unsupported, version};
use crate::commands::{relay_query, table};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct BrowsersOptions {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Give a paired browser another name
    Rename { from: String, to: String },
}

pub async fn run(options: &BrowsersOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    if let Some(Action::Rename { from, to }) = &options.action {
        home.update_pairings(|pairings| pairings.rename(from, to))??;
        print_line!("{from} is now called {to}.");
        return Ok(ExitCode::SUCCESS);
    }
    let connected = relay_query::browsers(&home).await.unwrap_or_default();
    let mut paired: Vec<PairedBrowser> = home.pairings()?.browsers().cloned().collect();
    paired.sort_by(|a, b| a.name.cmp(&b.name));
    let environment = Environment::current();
    let installed = with_versions(&environment, detect::installed(&environment)).await;
    let unsupported = detect::unsupported(&environment);
    if options.json {
        print_json(&paired, &connected, &installed, &unsupported);
    } else {
        print_paired(&paired, &connected);
        print_installed(&installed);
        print_unsupported(&unsupported);
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds the version of each. All programs are asked at the same time.
async fn with_versions(
    environment: &Environment,
    installed: Vec<Installation>,
) -> Vec<(Installation, Option<String>)> {
    let system = environment.system;
    let ask = |browser: Installation| {
        tokio::spawn(async move {
            let version = version::version(system, &browser.path, version::TIMEOUT).await;
            (browser, version)
        })
    };
    let asked: Vec<_> = installed.into_iter().map(ask).collect();
    let mut browsers = Vec::new();
    for browser in asked {
        browsers.extend(browser.await);
    }
    browsers
}

fn print_json(
    paired: &[PairedBrowser],
    connected: &[BrowserReport],
    installed: &[(Installation, Option<String>)],
    unsupported: &[Unsupported],
) {
    let paired = paired.iter().map(|browser| {
        let is_connected = find(connected, browser).is_some();
        merge(json!(browser), json!({ "connected": is_connected }))
    });
    let installed = installed
        .iter()
        .map(|(browser, version)| merge(json!(browser), json!({ "version": version })));
    let report = json!({
        "paired": paired.collect::<Vec<_>>(),
        "installed": installed.collect::<Vec<_>>(),
        "unsupported": unsupported,
    });
    print_line!("{report}");
}

/// The relay's report on a paired browser, if it is connected.
fn find<'a>(connected: &'a [BrowserReport], browser: &PairedBrowser) -> Option<&'a BrowserReport> {
    connected
        .iter()
        .find(|report| report.connected && report.name == browser.name)
}

fn merge(mut into: serde_json::Value, from: serde_json::Value) -> serde_json::Value {
    if let (Some(into), serde_json::Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
    into
}

fn print_paired(paired: &[PairedBrowser], connected: &[BrowserReport]) {
    if paired.is_empty() {
        print_line!("No browser is paired. Run `tabwire install-extension` to add one.");
        return;
    }
    print_line!("Paired:");
    let rows = paired.iter().map(|browser| {
        let state = match find(connected, browser) {
            Some(report) => format!("connected, {}", table::count(report.tabs, "tab")),
            None => format!("last seen {} ago", table::age(now(), browser.last_seen)),
        };
        [browser.name.clone(), browser.product.clone(), state]
    });
    table::print(rows);
}

fn print_installed(installed: &[(Installation, Option<String>)]) {
    if installed.is_empty() {
        print_line!("{}", detect::none_installed());
        return;
    }
    print_line!("Installed (start one with `tabwire up --browser NAME`):");
    let rows = installed.iter().map(|(browser, version)| {
        let version = version.clone().unwrap_or_default();
        let path = browser.path.display().to_string();
        [browser.name.to_owned(), version, path, describe(browser)]
    });
    table::print(rows);
}

/// Whether it is running, and its profiles.
fn describe(browser: &Installation) -> String {
    let running = match browser.running {
        Some(true) => Some("running".to_owned()),
        // Its processes have other ids in its sandbox.
        None if browser.package == Package::Flatpak => Some("may be running".to_owned()),
        _ => None,
    };
    let profile = |profile: &detect::Profile| {
        let (name, folder) = (&profile.name, &profile.folder);
        table::printable(&format!("{name} ({folder})"))
    };
    let profiles: Vec<String> = browser.profiles.iter().map(profile).collect();
    let profiles = (!profiles.is_empty()).then(|| format!("profiles: {}", profiles.join(", ")));
    let parts: Vec<String> = [running, profiles].into_iter().flatten().collect();
    parts.join("; ")
}

fn print_unsupported(unsupported: &[Unsupported]) {
    if unsupported.is_empty() {
        return;
    }
    print_line!("Other browsers:");
    let rows = unsupported.iter().map(|browser| {
        let path = browser.path.display().to_string();
        [browser.name.to_owned(), path, browser.reason.to_owned()]
    });
    table::print(rows);
}
