//! The `tabwire` program: parses the command line, runs one command, and prints its error.
//!
//! `anyhow` is used here only; everything else returns `Error`.

/// Prints a line to stdout. A reader that closes the pipe early must not end the command. What comes from
/// a page cannot control the terminal.
macro_rules! print_line {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        let (mut stdout, text) = (std::io::stdout(), format!($($arguments)*));
        let text = tabwire_home::on_terminal(&stdout, &text);
        let _ = writeln!(stdout, "{text}");
    }};
}

mod app;
mod browser;
mod commands;
mod config;
mod descriptors;
mod direct;
mod error;
mod file_limit;
mod home_files;
mod http;
mod hub;
mod link;
mod log;
mod memory;
mod open_port;
mod pipe;
mod registry;
mod relay;
mod secrets;
mod service;
mod setup;
mod shared_work;
mod shell;
mod signals;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser as _;
use commands::CommandLine;
use log::Log;

/// The exit code that clap uses too.
const INVALID_COMMAND_LINE: u8 = 2;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => return reject(&error),
    };
    if command_line.command.is_in_background() {
        descriptors::close_inherited();
    }
    let log = Log::start(command_line.command.logs_to_stderr());
    let code = run(command_line, &log).unwrap_or_else(|error| {
        // Each error's text is complete, with its cause. There is nowhere left to report that stderr is
        // closed.
        let (mut stderr, text) = (std::io::stderr(), format!("tabwire: {error}"));
        let text = tabwire_home::on_terminal(&stderr, &text);
        let _ = writeln!(stderr, "{text}");
        ExitCode::FAILURE
    });
    log.close();
    code
}

fn run(command_line: CommandLine, log: &Log) -> anyhow::Result<ExitCode> {
    // One thread: a message takes a few microseconds of work between two system calls. Handing it
    // from thread to thread would cost more than the work.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow!("Cannot start: {error}."))?;
    let outcome = runtime.block_on(command_line.command.run(log));
    // Do not wait: a thread that reads stdin ends only with the next line.
    runtime.shutdown_background();
    Ok(outcome?)
}

/// Reports an invalid command line, as JSON if the caller asked for JSON.
fn reject(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr() || !wants_json {
        error.exit();
    }
    let message = error.to_string();
    print_line!(
        "{}",
        serde_json::json!({
            "ok": false,
            "error": {
                "kind": "command-line",
                "message": message.trim_end(),
                "next": "Run the command with --help to see its options.",
            },
        })
    );
    ExitCode::from(INVALID_COMMAND_LINE)
}
