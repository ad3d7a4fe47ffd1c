//! `tabwire browsers`: lists the browsers that are paired and those that `tabwire up` can start, and
//! renames paired ones.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use tabwire_home::{BrowserReport, Home, PairedBrowser, now};

use crate::browser::detect::{self, Browser};
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
    let installed = detect::installed();
    if options.json {
        let is_connected =
            |browser: &PairedBrowser| json!({ "connected": find(&connected, browser).is_some() });
        let paired: Vec<_> = paired
            .iter()
            .map(|browser| merge(json!(browser), is_connected(browser)))
            .collect();
        print_line!("{}", json!({ "paired": paired, "installed": installed }));
    } else {
        print_paired(&paired, &connected);
        print_installed(&installed);
    }
    Ok(ExitCode::SUCCESS)
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

fn print_installed(installed: &[Browser]) {
    if installed.is_empty() {
        print_line!("{}", detect::none_installed());
        return;
    }
    print_line!("Installed (`tabwire up` can start these):");
    let rows = installed.iter().map(|browser| {
        let path = browser.path.display().to_string();
        [browser.name.to_owned(), path, String::new()]
    });
    table::print(rows);
}
