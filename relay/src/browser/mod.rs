//! Chromium-family browsers on this machine: finding them, and starting one with the extension.

pub mod detect;
pub mod launch;

use std::process::ExitCode;

use crate::cli::BrowsersOptions;

pub fn run(options: &BrowsersOptions) -> anyhow::Result<ExitCode> {
    let found = detect::installed();
    if options.json {
        say!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        say!("{}", detect::how_to_install());
        return Ok(ExitCode::FAILURE);
    }
    for browser in found {
        say!("{:<10} {}", browser.name, browser.path.display());
    }
    Ok(ExitCode::SUCCESS)
}
