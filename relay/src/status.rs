//! `tabwire status` and `tabwire cdp-url`: what the running relay says of itself.

use std::process::ExitCode;

use anyhow::bail;
use tabwire_mcp::relay::ask;
use tabwire_mcp::state::State;

use crate::cli::StatusOptions;
use crate::discovery::RelayStatus;
use crate::home::Home;
use crate::registry::SlotReport;

pub async fn run(options: &StatusOptions) -> anyhow::Result<ExitCode> {
    let Some(state) = Home::open()?.read_state() else {
        return Ok(report_none(options, "no relay is running; start one with `tabwire serve` or `tabwire up`"));
    };
    let asked = async { anyhow::Ok((ask::<RelayStatus>(state.port, "/").await?, ask::<SlotReport>(state.port, "/client-slot").await?)) };
    let (relay, slot) = match asked.await {
        Ok(answer) => answer,
        Err(error) => {
            let text = format!("the relay on port {} (process {}) does not answer: {error:#}", state.port, state.pid);
            return Ok(report_none(options, &text));
        }
    };
    if options.json {
        say!("{}", serde_json::json!({ "running": true, "port": state.port, "pid": state.pid, "relay": relay, "clientSlot": slot }));
        return Ok(ExitCode::SUCCESS);
    }
    say!("relay      127.0.0.1:{} (process {}, {})", state.port, state.pid, slot.mode);
    let extension = if relay.extension { "connected" } else { "not connected: open the browser that has it, and look at its popup" };
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
        bail!("{} runs in this home already; stop it, or set TABWIRE_HOME to another folder", home.holder());
    }
    Ok(())
}

async fn is_answered(state: State) -> bool {
    ask::<RelayStatus>(state.port, "/").await.is_ok()
}

/// Prints the URL with the token: the one place that does, because it was asked for. Not when nobody answers there: the
/// token would be handed to whoever takes the port next.
pub async fn print_cdp_url() -> anyhow::Result<ExitCode> {
    let home = Home::open()?;
    if let Some(state) = home.read_state()
        && !is_answered(state).await
    {
        bail!("the relay that wrote {} is gone; start one with `tabwire serve` or `tabwire up`", home.cdp_url_file().display());
    }
    match std::fs::read_to_string(home.cdp_url_file()) {
        Ok(url) => say!("{}", url.trim()),
        Err(_) => bail!(
            "no relay is running here (there is no {}); start one with `tabwire serve` or `tabwire up`",
            home.cdp_url_file().display()
        ),
    }
    Ok(ExitCode::SUCCESS)
}
