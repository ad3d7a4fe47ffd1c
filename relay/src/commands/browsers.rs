//! `tabwire browsers`: lists the browsers that `tabwire up` can start.

use std::process::ExitCode;

use clap::Args;

use crate::browser::detect;

#[derive(Debug, Clone, Args)]
pub struct BrowsersOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(options: &BrowsersOptions) -> ExitCode {
    let installed = detect::installed();
    if options.json {
        print_line!("{}", serde_json::json!(installed));
        return ExitCode::SUCCESS;
    }
    if installed.is_empty() {
        print_line!("{}", detect::none_installed());
        return ExitCode::FAILURE;
    }
    for browser in installed {
        print_line!("{:<10} {}", browser.name, browser.path.display());
    }
    ExitCode::SUCCESS
}
