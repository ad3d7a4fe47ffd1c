//! `tabwire unpair`: removes a browser. A running relay disconnects it at once.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::Home;

use crate::commands::table::printable;
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct UnpairOptions {
    /// The browser's name in `tabwire browsers`
    pub name: String,
}

pub fn run(options: &UnpairOptions) -> Result<ExitCode, Error> {
    let (removed, sharing) =
        Home::open()?.update_pairings(|pairings| pairings.unpair(&options.name))??;
    print_line!(
        "{} ({}) is no longer paired. To pair it again, run `tabwire pair` and paste the code into its popup.",
        removed.name,
        printable(&removed.product)
    );
    if !sharing.is_empty() {
        print_line!(
            "Its folder's secret stays valid, because it is also used by {}. Whoever has a copy of that folder can still connect as a new browser.",
            sharing.join(" and ")
        );
    }
    Ok(ExitCode::SUCCESS)
}
