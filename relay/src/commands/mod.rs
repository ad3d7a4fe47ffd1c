//! The command line: one file per command, with its options and what it does.

mod browsers;
mod cdp_url;
mod exec;
mod install_extension;
mod mcp;
mod pair;
mod relay_query;
mod screenshot;
pub mod serve;
mod session;
mod snapshot;
mod status;
mod table;
mod tabs;
mod unpair;
mod up;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tabwire_home::check_name;

use crate::error::Error;

/// Turns the browser you already use into a CDP endpoint for Playwright, Puppeteer and agents
#[derive(Debug, Parser)]
#[command(name = "tabwire", version)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the relay in the foreground
    Serve(serve::ServeOptions),
    /// Run the relay and a browser with the extension
    Up(up::UpOptions),
    /// Write the bundled extension to a folder, ready to load unpacked
    InstallExtension(install_extension::InstallOptions),
    /// Show relay status and connections
    Status(status::StatusOptions),
    /// Print the CDP URL of the running relay
    ///
    /// Keep the URL secret. It contains the token, which gives full control of your browser.
    CdpUrl(cdp_url::CdpUrlOptions),
    /// List paired and installed browsers, or rename a paired one
    Browsers(browsers::BrowsersOptions),
    /// Print a code that pairs an extension from elsewhere with this home's relay
    Pair(pair::PairOptions),
    /// Remove a paired browser; a running relay disconnects it at once
    Unpair(unpair::UnpairOptions),
    /// Run an MCP server for an agent, on stdin and stdout
    Mcp(mcp::McpOptions),
    /// Run Playwright JavaScript in the browser and print the result
    Exec(exec::ExecOptions),
    /// Print the accessibility tree of a tab
    Snapshot(snapshot::SnapshotOptions),
    /// Take a screenshot of a tab
    Screenshot(screenshot::ScreenshotOptions),
    /// List the browser's tabs
    Tabs(tabs::TabsOptions),
}

impl Command {
    pub async fn run(self) -> Result<ExitCode, Error> {
        match self {
            Self::Serve(options) => serve::run(&options).await,
            Self::Up(options) => up::run(&options).await,
            Self::InstallExtension(options) => install_extension::run(&options),
            Self::Status(options) => status::run(&options).await,
            Self::CdpUrl(options) => cdp_url::run(&options),
            Self::Browsers(options) => browsers::run(&options).await,
            Self::Pair(options) => pair::run(&options),
            Self::Unpair(options) => unpair::run(&options),
            Self::Mcp(options) => mcp::run(&options).await,
            Self::Exec(options) => exec::run(&options).await,
            Self::Snapshot(options) => snapshot::run(&options).await,
            Self::Screenshot(options) => screenshot::run(&options).await,
            Self::Tabs(options) => tabs::run(&options).await,
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|reason| Error::InvalidPath {
        path: path.to_owned(),
        reason,
    })
}

/// Parses a browser's name.
fn browser_name(text: &str) -> Result<String, String> {
    check_name(text).map_err(|fault| fault.to_string())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
