//! `tabwire unpair`: removes a browser. A running relay disconnects it at once.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::Home;

use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct UnpairOptions {
    /// The browser's name in `tabwire browsers`
    pub name: String,
}

pub fn run(options: &UnpairOptions) -> Result<ExitCode, Error> {
    let removed = Home::open()?.update_pairings(|pairings| pairings.unpair(&options.name))??;
    print_line!(
        "{} ({}) is no longer paired. To pair it again, run `tabwire install-extension` or `tabwire pair`.",
        removed.name,
        removed.product
    );
    Ok(ExitCode::SUCCESS)
}
