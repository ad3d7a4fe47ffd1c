//! The `tabwire` program: reads the command line and hands over to the command.

/// A line on stdout for whoever reads it. One who has read enough closes the pipe, and that ends no command.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

mod browser;
mod bundle;
mod cli;
mod client_link;
mod config;
mod discovery;
mod extension_link;
mod guard;
mod home;
mod hub;
mod mcp;
mod memory;
mod outbox;
mod peer;
mod registry;
mod serve;
mod server;
mod socket;
mod status;
mod token;
mod up;
mod upgrade;
mod websocket;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::Parser;

/// As clap has it.
const COMMAND_LINE_WRONG: u8 = 2;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command_line = match cli::CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error)
            if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") =>
        {
            say!(
                "{}",
                serde_json::json!({ "ok": false, "error": { "kind": "command-line", "message": error.to_string().trim_end(), "next": "`--help` says what can be said." } })
            );
            return ExitCode::from(COMMAND_LINE_WRONG);
        }
        Err(error) => error.exit(),
    };
    start_logging();
    // One thread: a message's way through the relay is a few microseconds of work between two system calls, and handing
    // it from thread to thread would cost more than the work.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into()),
    };
    let outcome = runtime.block_on(run(command_line.command));
    // Not waited for: a thread that reads stdin ends only with its next line.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| fail(&error))
}

async fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Serve(options) => serve::run(&options).await,
        cli::Command::Up(options) => up::run(&options).await,
        cli::Command::InstallExtension(options) => bundle::run(&options),
        cli::Command::Status(options) => status::run(&options).await,
        cli::Command::CdpUrl => status::print_cdp_url(),
        cli::Command::Browsers(options) => browser::run(&options),
        cli::Command::Mcp(options) => mcp::serve(&options).await,
        cli::Command::Exec(options) => mcp::exec(&options).await,
        cli::Command::Snapshot(options) => mcp::snapshot(&options).await,
        cli::Command::Screenshot(options) => mcp::screenshot(&options).await,
        cli::Command::Tabs(options) => mcp::tabs(&options).await,
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    // Where nobody hears it there is nothing more to say.
    let _ = writeln!(std::io::stderr(), "tabwire: {error:#}");
    ExitCode::FAILURE
}

/// Logs go to stderr. `TABWIRE_LOG` chooses what; the token is in none of it.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TABWIRE_LOG")
        .unwrap_or_else(|_| "info,rmcp=warn".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
