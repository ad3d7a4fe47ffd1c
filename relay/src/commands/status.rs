//! `tabwire status`: shows what the running relay reports about itself.

use std::io;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tabwire_home::{Home, RelayStatus, SlotReport, State, get_json};

use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn run(options: &StatusOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let Some(state) = home.running_relay() else {
        let killed = home.last_relay();
        let killed = killed.map(|state| format!(" ({state} has exited)"));
        let text = format!(
            "No relay is running{}. Start one with `tabwire serve` or `tabwire up`.",
            killed.unwrap_or_default()
        );
        return Ok(print_failure(options, &text));
    };
    match query(state).await {
        Ok((relay, slot)) => {
            print_status(options, state, &relay, &slot);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let State { port, pid } = state;
            let text =
                format!("The relay on port {port} (process {pid}) does not respond: {error}.");
            Ok(print_failure(options, &text))
        }
    }
}

async fn query(state: State) -> io::Result<(RelayStatus, SlotReport)> {
    let relay = get_json(state.port, "/").await?;
    let slot = get_json(state.port, "/client-slot").await?;
    Ok((relay, slot))
}

fn print_status(options: &StatusOptions, state: State, relay: &RelayStatus, slot: &SlotReport) {
    let State { port, pid } = state;
    if options.json {
        let status: Value = json!({ "running": true, "port": port, "pid": pid, "relay": relay, "clientSlot": slot });
        print_line!("{status}");
        return;
    }
    let extension = if relay.extension {
        "connected"
    } else {
        "not connected; open the browser that has it and check its popup"
    };
    print_line!("relay      127.0.0.1:{port} (process {pid}, {})", slot.mode);
    print_line!("extension  {extension}");
    print_line!("tabs       {}", relay.targets);
    print_line!("clients    {}", relay.clients);
}

fn print_failure(options: &StatusOptions, text: &str) -> ExitCode {
    if options.json {
        print_line!("{}", json!({ "running": false, "error": text }));
    } else {
        print_line!("{text}");
    }
    ExitCode::FAILURE
}
