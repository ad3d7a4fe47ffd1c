//! The command line: one file per command, with its options and what it does.

mod browsers;
mod cdp_url;
mod completions;
mod doctor;
mod exec;
mod install_extension;
mod launch;
mod logs;
mod man;
mod mcp;
mod open_port;
mod pair;
mod pipe;
mod relay_query;
mod screenshot;
pub mod serve;
mod service;
mod session;
mod setup;
mod snapshot;
mod status;
mod stop;
mod table;
mod tabs;
mod unpair;
mod up;
mod wrap;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use clap::{CommandFactory as _, Parser, Subcommand};
use tabwire_home::check_name;

use crate::browser::watchdog;
use crate::error::Error;
use crate::log::Log;

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
    /// Launch a browser that connects to the relay; starts a relay if none is running
    Launch(launch::LaunchCommand),
    /// Stop a browser that was launched, or the relay
    Stop(stop::StopOptions),
    /// Stop a browser that was launched and launch it again
    Restart(stop::RestartOptions),
    /// Run a program with the relay's address in its arguments
    Wrap(wrap::WrapOptions),
    /// Stand in for a browser's program, for clients that launch one and use it over a pipe
    Pipe(pipe::PipeOptions),
    /// Clean up after a relay that was killed
    #[command(hide = true)]
    Watchdog,
    /// Write the bundled extension to a folder, ready to load unpacked
    InstallExtension(install_extension::InstallOptions),
    /// Show relay status and connections
    Status(status::StatusOptions),
    /// Print what the relay has logged: its events, and which commands clients sent
    Logs(logs::LogsOptions),
    /// Find out what keeps Tabwire from working
    Doctor(doctor::DoctorOptions),
    /// Print the CDP URL of the running relay
    ///
    /// Keep the URL secret. It contains the token, which gives full control of your browser.
    CdpUrl(cdp_url::CdpUrlOptions),
    /// Open a port that needs no token, for clients that take only a host and a port
    ///
    /// Until it closes, every program that you run can see and control everything in your browser.
    OpenPort(open_port::OpenPortCommand),
    /// Close the port that needs no token, and disconnect whoever uses it
    ClosePort(open_port::ClosePortCommand),
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
    /// Add Tabwire to an agent's configuration, or remove it
    ///
    /// Shows what changes in the agent's file, and asks before it writes.
    Setup(setup::SetupOptions),
    /// Start the relay at login
    Service(service::ServiceOptions),
    /// Print a script that completes commands and options in a shell
    Completions(completions::CompletionsOptions),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::ManOptions),
}

impl Command {
    pub fn logs_to_stderr(&self) -> bool {
        match self {
            Self::Serve(options) => !options.logging.quiet,
            Self::Up(options) => !options.serve.logging.quiet,
            _ => true,
        }
    }

    /// Whether Tabwire itself started this process, and it outlives the command that did.
    pub fn is_in_background(&self) -> bool {
        match self {
            Self::Watchdog => true,
            Self::Serve(_) => std::env::var_os(tabwire_mcp::IN_BACKGROUND).is_some(),
            _ => false,
        }
    }

    pub async fn run(self, log: &Log) -> Result<ExitCode, Error> {
        match self {
            Self::Serve(options) => serve::run(&options, log).await,
            Self::Up(options) => up::run(&options, log).await,
            Self::Launch(options) => launch::run(&options).await,
            Self::Stop(options) => stop::stop(&options).await,
            Self::Restart(options) => stop::restart(&options).await,
            Self::Wrap(options) => wrap::run(&options).await,
            Self::Pipe(options) => pipe::run(&options).await,
            Self::Watchdog => {
                watchdog::run().await;
                Ok(ExitCode::SUCCESS)
            }
            Self::InstallExtension(options) => install_extension::run(&options),
            Self::Status(options) => status::run(&options).await,
            Self::Logs(options) => logs::run(&options).await,
            Self::Doctor(options) => doctor::run(&options).await,
            Self::CdpUrl(options) => cdp_url::run(&options),
            Self::OpenPort(options) => open_port::open(&options).await,
            Self::ClosePort(options) => open_port::close(&options).await,
            Self::Browsers(options) => browsers::run(&options).await,
            Self::Pair(options) => pair::run(&options),
            Self::Unpair(options) => unpair::run(&options),
            Self::Mcp(options) => mcp::run(&options).await,
            Self::Exec(options) => exec::run(&options).await,
            Self::Snapshot(options) => snapshot::run(&options).await,
            Self::Screenshot(options) => screenshot::run(&options).await,
            Self::Tabs(options) => tabs::run(&options).await,
            Self::Setup(options) => setup::run(&options),
            Self::Service(options) => service::run(&options).await,
            Self::Completions(options) => Ok(completions::run(&options)),
            Self::Man(options) => man::run(&options),
        }
    }
}

/// The command line as completions and manual pages show it.
fn documented() -> clap::Command {
    without_hidden(&CommandLine::command())
}

/// Removes hidden commands, which only Tabwire itself runs, and `help`. The generator of completions
/// would list them. Only commands of the first level are hidden.
fn without_hidden(full: &clap::Command) -> clap::Command {
    let about = full.get_about().cloned().unwrap_or_default();
    let shown = full.get_subcommands().filter(|it| !it.is_hide_set());
    clap::Command::new("tabwire")
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .disable_help_subcommand(true)
        .args(full.get_arguments().cloned())
        .subcommands(shown.cloned())
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|reason| Error::InvalidPath {
        path: path.to_owned(),
        reason,
    })
}

/// A browser as the relay understands it, which may run in another folder.
fn absolute_program(browser: String) -> Result<String, Error> {
    let path = PathBuf::from(&browser);
    let absolute = tabwire_home::control::absolute_program(browser);
    absolute.map_err(|reason| Error::InvalidPath { path, reason })
}

/// The exit code of a program that this command ran. One that was ended by a signal gets 128 and the
/// signal's number, as in a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Parses a browser's name.
fn browser_name(text: &str) -> Result<String, String> {
    check_name(text).map_err(|fault| fault.to_string())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn hidden_commands_are_not_documented() {
        let hidden = clap::Command::new("watch-process").hide(true);
        let full = CommandLine::command().subcommand(hidden);
        let documented = without_hidden(&full);
        let names: Vec<&str> = documented
            .get_subcommands()
            .map(|it| it.get_name())
            .collect();
        assert!(!names.contains(&"watch-process"), "{names:?}");
        assert!(
            names.contains(&"serve") && names.contains(&"man"),
            "{names:?}"
        );
        let nested = full.get_subcommands().flat_map(|it| it.get_subcommands());
        assert_eq!(nested.filter(|it| it.is_hide_set()).count(), 0);
    }
}
