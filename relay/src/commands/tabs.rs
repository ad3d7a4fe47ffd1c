//! `tabwire tabs`: lists the browser's tabs.

use std::process::ExitCode;

use clap::Args;
use tabwire_mcp::exec;

use crate::commands::session::SessionOptions;
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct TabsOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn run(options: &TabsOptions) -> Result<ExitCode, Error> {
    let outcome = match options.session.settings("tabwire tabs") {
        Ok(settings) => exec::tabs(settings, options.json).await,
        Err(error) => exec::fail(error, options.json),
    };
    Ok(outcome.exit_code().into())
}
