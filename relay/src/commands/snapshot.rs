//! `tabwire snapshot`: prints the accessibility tree of a tab.

use std::process::ExitCode;

use clap::Args;
use tabwire_mcp::exec::{Images, Run, Text};

use crate::commands::session::{SHORT_TIMEOUT, SessionOptions};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct SnapshotOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The tab: its number in `tabwire tabs`, its target id, or a part of its address or title. Not
    /// needed if there is only one
    #[arg(default_value = "", hide_default_value = true)]
    pub tab: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn run(options: &SnapshotOptions) -> Result<ExitCode, Error> {
    let run = Run {
        code: "snapshot()".into(),
        timeout: SHORT_TIMEOUT,
        tab: Some(options.tab.clone()),
        json: options.json,
        images: Images::Folder(".".into()),
        text: Text::Result,
    };
    options.session.run("tabwire snapshot", run).await
}
