//! `tabwire status` and `tabwire cdp-url`: what the running relay says of itself.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use tabwire_mcp::relay::ask;

use crate::cli::StatusOptions;
use crate::discovery::RelayStatus;
use crate::home::Home;
use crate::registry::SlotReport;

pub async fn run(options: &StatusOptions) -> anyhow::Result<ExitCode> {
    let home = Home::open()?;
    let Some(state) = home.running() else {
        let killed = home.last().map(|state| {
            format!(
                ": the one on port {} (process {}) is gone",
                state.port, state.pid
            )
        });
        let text = format!(
            "no relay is running{}; start one with `tabwire serve` or `tabwire up`",
            killed.unwrap_or_default()
        );
        return Ok(report_none(options, &text));
    };
    let asked = async {
        anyhow::Ok((
            ask::<RelayStatus>(state.port, "/").await?,
            ask::<SlotReport>(state.port, "/client-slot").await?,
        ))
    };
    let (relay, slot) = match asked.await {
        Ok(answer) => answer,
        Err(error) => {
            let text = format!(
                "the relay on port {} (process {}) does not answer: {error:#}",
                state.port, state.pid
            );
            return Ok(report_none(options, &text));
        }
    };
    if options.json {
        say!(
            "{}",
            serde_json::json!({ "running": true, "port": state.port, "pid": state.pid, "relay": relay, "clientSlot": slot })
        );
        return Ok(ExitCode::SUCCESS);
    }
    say!(
        "relay      127.0.0.1:{} (process {}, {})",
        state.port,
        state.pid,
        slot.mode
    );
    let extension = if relay.extension {
        "connected"
    } else {
        "not connected: open the browser that has it, and look at its popup"
    };
    say!("extension  {extension}");
    say!("tabs       {}", relay.targets);
    say!("clients    {}", relay.clients);
    Ok(ExitCode::SUCCESS)
}

fn report_none(options: &StatusOptions, text: &str) -> ExitCode {
    if options.json {
        say!("{}", serde_json::json!({ "running": false, "error": text }));
    } else {
        say!("{text}");
    }
    ExitCode::FAILURE
}

/// A second browser in one home would take the first one's profile, extension and files.
pub fn ensure_none_runs() -> anyhow::Result<()> {
    let home = Home::open()?;
    if home.claim()?.is_none() {
        bail!(
            "{} runs in this home already; stop it, or set TABWIRE_HOME to another folder",
            home.holder()
        );
    }
    Ok(())
}

/// Prints the URL with the token: the one place that does, because it was asked for. Not when no relay runs: the token would
/// be handed to whoever takes the port next.
pub fn print_cdp_url() -> anyhow::Result<ExitCode> {
    let home = Home::open()?;
    if home.running().is_none() {
        bail!(
            "no relay is running in {}; start one with `tabwire serve` or `tabwire up`",
            home.path().display()
        );
    }
    let file = home.cdp_url_file();
    let url = std::fs::read_to_string(&file).with_context(|| {
        format!(
            "cannot read {}; a relay with --no-cdp-url-file writes none",
            file.display()
        )
    })?;
    say!("{}", url.trim());
    Ok(ExitCode::SUCCESS)
}
