//! `tabwire browsers`: lists the browsers that are paired, those that the relay uses through their own
//! debugging port, those that are installed and those that Tabwire cannot use, and renames paired
//! ones.
//!
//! Paired and installed browsers are separate lists, because an extension does not know which program
//! or profile it runs in. What can be known is which profiles have loaded a folder that is paired.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tabwire_home::{BrowserReport, Home, NameFault, PairedBrowser, Pairings, now};

use crate::browser::detect::{
    self, Environment, Installation, Package, Profile, Unsupported, version,
};
use crate::browser::profile_pairing::ProfilePairing;
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
        return rename(&home, from, to).await;
    }
    let connected = relay_query::browsers(&home).await.unwrap_or_default();
    let pairings = home.pairings()?;
    let mut paired: Vec<PairedBrowser> = pairings.browsers().cloned().collect();
    paired.sort_by(|a, b| a.name.cmp(&b.name));
    let list = List {
        installed: installed().await,
        unsupported: detect::unsupported(&Environment::current()),
        paired,
        connected,
        pairings,
    };
    if options.json {
        print_line!("{}", list.json());
    } else {
        list.print_paired();
        list.print_direct();
        list.print_installed();
        list.print_unsupported();
    }
    Ok(ExitCode::SUCCESS)
}

struct List {
    paired: Vec<PairedBrowser>,
    /// What the running relay reports.
    connected: Vec<BrowserReport>,
    pairings: Pairings,
    installed: Vec<(Installation, Option<String>)>,
    unsupported: Vec<Unsupported>,
}

async fn rename(home: &Home, from: &str, to: &str) -> Result<ExitCode, Error> {
    let browsers = relay_query::browsers(home).await.unwrap_or_default();
    let mut unpaired = browsers.iter().filter(|browser| browser.url.is_some());
    if unpaired.any(|browser| browser.name.eq_ignore_ascii_case(to)) {
        return Err(NameFault::Taken(to.to_owned()).into());
    }
    home.update_pairings(|pairings| pairings.rename(from, to))??;
    print_line!("{from} is now called {to}.");
    Ok(ExitCode::SUCCESS)
}

/// The installed browsers, with their versions. All programs are asked at the same time.
pub async fn installed() -> Vec<(Installation, Option<String>)> {
    let environment = Environment::current();
    let system = environment.system;
    let ask = |browser: Installation| {
        tokio::spawn(async move {
            let version = version::version(system, &browser.path, version::TIMEOUT).await;
            (browser, version)
        })
    };
    let installed = detect::installed(&environment).into_iter();
    let asked: Vec<_> = installed.map(ask).collect();
    let mut browsers = Vec::new();
    for browser in asked {
        browsers.extend(browser.await);
    }
    browsers
}

/// Several profiles can have loaded the same folder, so it may be one of several browsers.
fn describe_names(names: &[String]) -> String {
    match names.len() {
        0 => "paired, has not connected yet".to_owned(),
        1..=3 => format!("paired as {}", names.join(" or ")),
        number => format!("paired, as one of {number} browsers"),
    }
}

fn merge(mut into: Value, from: Value) -> Value {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
    into
}

impl List {
    fn json(&self) -> Value {
        let paired = self.paired.iter().map(|browser| {
            let is_connected = self.report(&browser.name).is_some();
            merge(json!(browser), json!({ "connected": is_connected }))
        });
        let direct = self.direct().map(|browser| {
            json!({
                "name": browser.name,
                "product": browser.product,
                "url": browser.url,
                "connected": browser.connected,
            })
        });
        let installed = self.installed.iter().map(|(browser, version)| {
            let profiles: Vec<Value> = browser
                .profiles
                .iter()
                .map(|own| self.profile(own))
                .collect();
            let more = json!({ "version": version, "profiles": profiles });
            merge(json!(browser), more)
        });
        json!({
            "paired": paired.collect::<Vec<_>>(),
            "direct": direct.collect::<Vec<_>>(),
            "installed": installed.collect::<Vec<_>>(),
            "unsupported": self.unsupported,
        })
    }

    fn profile(&self, profile: &Profile) -> Value {
        let extension = profile.extension.as_ref().map(|extension| {
            let pairing = ProfilePairing::of(extension, &self.pairings);
            merge(json!(extension), json!(pairing))
        });
        merge(json!(profile), json!({ "extension": extension }))
    }

    /// The relay's report on a browser, if it is connected.
    fn report(&self, name: &str) -> Option<&BrowserReport> {
        let mut connected = self.connected.iter().filter(|report| report.connected);
        connected.find(|report| report.name == name)
    }

    /// The browsers that are used through their own debugging port.
    fn direct(&self) -> impl Iterator<Item = &BrowserReport> {
        self.connected.iter().filter(|report| report.url.is_some())
    }

    fn print_paired(&self) {
        if self.paired.is_empty() {
            print_line!("No browser is paired. Run `tabwire install-extension` to add one.");
            return;
        }
        print_line!("Paired:");
        let rows = self.paired.iter().map(|browser| {
            let state = match self.report(&browser.name) {
                Some(report) => format!("connected, {}", table::count(report.tabs, "tab")),
                None => format!("last seen {} ago", table::age(now(), browser.last_seen)),
            };
            [browser.name.clone(), browser.product.clone(), state]
        });
        table::print(rows);
    }

    fn print_direct(&self) {
        if self.direct().next().is_none() {
            return;
        }
        print_line!("With a debugging port of their own:");
        let rows = self.direct().map(|browser| {
            let state = if browser.connected {
                format!("connected, {}", table::count(browser.tabs, "tab"))
            } else {
                "does not respond".to_owned()
            };
            let url = browser.url.clone().unwrap_or_default();
            // Unknown while it does not respond.
            let product = match browser.product.as_str() {
                "" => "-".to_owned(),
                product => product.to_owned(),
            };
            [browser.name.clone(), product, url, state]
        });
        table::print(rows);
    }

    fn print_installed(&self) {
        if self.installed.is_empty() {
            print_line!("{}", detect::none_installed());
            return;
        }
        print_line!("Installed (start one with `tabwire up --browser NAME`):");
        let rows = self.installed.iter().map(|(browser, version)| {
            let version = version.clone().unwrap_or_default();
            let path = browser.path.display().to_string();
            let state = self.describe(browser);
            [browser.name.to_owned(), version, path, state]
        });
        table::print(rows);
    }

    /// Whether it is running, and its profiles.
    fn describe(&self, browser: &Installation) -> String {
        let running = match browser.running {
            Some(true) => Some("running".to_owned()),
            // Its processes have other ids in its sandbox.
            None if browser.package == Package::Flatpak => Some("may be running".to_owned()),
            _ => None,
        };
        let profiles = browser
            .profiles
            .iter()
            .map(|own| self.describe_profile(own));
        let profiles: Vec<String> = profiles.collect();
        let profiles = (!profiles.is_empty()).then(|| format!("profiles: {}", profiles.join(", ")));
        let parts: Vec<String> = [running, profiles].into_iter().flatten().collect();
        parts.join("; ")
    }

    /// Its name, and what is known about the extension in it.
    fn describe_profile(&self, profile: &Profile) -> String {
        let name = table::printable(&format!("{} ({})", profile.name, profile.folder));
        let Some(extension) = &profile.extension else {
            return name;
        };
        let pairing = ProfilePairing::of(extension, &self.pairings);
        let state = match (extension.off, pairing.paired) {
            (Some(_), _) => "extension switched off".to_owned(),
            (None, Some(false)) => "extension not paired".to_owned(),
            (None, None) => "has the extension".to_owned(),
            (None, Some(true)) => describe_names(&pairing.paired_as),
        };
        format!("{name}: {state}")
    }

    fn print_unsupported(&self) {
        if self.unsupported.is_empty() {
            return;
        }
        print_line!("Other browsers:");
        let rows = self.unsupported.iter().map(|browser| {
            let path = browser.path.display().to_string();
            [browser.name.to_owned(), path, browser.reason.to_owned()]
        });
        table::print(rows);
    }
}
