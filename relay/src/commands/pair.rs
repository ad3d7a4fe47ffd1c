//! `tabwire pair`: prints a code for an extension that was not written by `install-extension`.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::{DEFAULT_PORT, Home, now};

use crate::commands::browser_name;
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct PairOptions {
    /// What to call the browser [default: its product, such as chrome]
    #[arg(long, value_parser = browser_name)]
    pub name: Option<String>,
    /// Port of the relay [default: this home's relay, or 19222]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(options: &PairOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let running = || home.running_relay().map(|state| state.port);
    let port = options.port.or_else(running).unwrap_or(DEFAULT_PORT);
    let secret =
        home.update_pairings(|pairings| pairings.pair_by_code(options.name.as_deref(), now()))?;
    let code = format!("tabwire:{port}:{}", secret.reveal());
    if options.json {
        print_line!("{}", serde_json::json!({ "code": code }));
        return Ok(ExitCode::SUCCESS);
    }
    print_line!("{code}");
    // The code alone is on stdout, so that it can be piped.
    eprintln!(
        "Open the Tabwire popup in your browser and paste this code under \"Pair\".\nIt is valid for one browser and one hour. Keep it secret: whoever has it can pose as your browser."
    );
    Ok(ExitCode::SUCCESS)
}
