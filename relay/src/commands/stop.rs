//! `tabwire stop` and `tabwire restart`: browsers that the relay launched, or the relay itself.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::control::Stopped;
use tabwire_home::{Home, State};

use crate::commands::launch::print_report;
use crate::commands::{browser_name, relay_query};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct StopOptions {
    /// The browser [default: the only one that was launched]
    #[arg(value_parser = browser_name, conflicts_with = "relay")]
    pub name: Option<String>,
    /// Stop the relay, and every browser that it launched
    #[arg(long)]
    pub relay: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RestartOptions {
    /// The browser [default: the only one that was launched]
    #[arg(value_parser = browser_name)]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn stop(options: &StopOptions) -> Result<ExitCode, Error> {
    let (home, state) = running_relay().await?;
    if options.relay {
        relay_query::stop_relay(&home, state).await?;
        print_line!("Stopped {state}.");
    } else {
        let stopped = relay_query::stop_browser(&home, state, options.name.as_deref()).await?;
        print_stopped(&stopped);
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn restart(options: &RestartOptions) -> Result<ExitCode, Error> {
    let (home, state) = running_relay().await?;
    let report = relay_query::restart(&home, state, options.name.as_deref()).await?;
    print_report(&report, options.json);
    Ok(ExitCode::SUCCESS)
}

pub fn print_stopped(stopped: &Stopped) {
    let name = stopped.name.as_deref().unwrap_or_default();
    if stopped.stays_open() {
        print_line!("Released {name}; it was running before Tabwire, so it stays open.");
    } else {
        print_line!("Stopped {name}.");
    }
}

pub async fn running_relay() -> Result<(Home, State), Error> {
    let home = Home::open()?;
    let state = home.running_relay().ok_or_else(|| Error::NoRelay {
        home: home.path().to_owned(),
    })?;
    // Stopping takes a while, so find out first whether the relay does anything at all.
    relay_query::check_responds(state).await?;
    Ok((home, state))
}
