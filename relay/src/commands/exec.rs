//! `tabwire exec`: runs Playwright JavaScript from the command line, a file or stdin.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tabwire_mcp::Error as McpError;
use tabwire_mcp::exec::{self, Images, Run, Text};

use crate::commands::session::{SessionOptions, seconds};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct ExecOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The code to run
    #[arg(short, long, value_name = "CODE", conflicts_with = "file")]
    pub eval: Option<String>,
    /// File with the code; `-` or nothing reads stdin
    pub file: Option<PathBuf>,
    /// Tab to use as `page`: its number in `tabwire tabs`, its target id, or a part of its address
    /// or title [default: a new tab, closed at the end]
    #[arg(long)]
    pub tab: Option<String>,
    /// Stop the code after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub timeout: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Folder to write images to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub images: PathBuf,
}

pub async fn run(options: &ExecOptions) -> Result<ExitCode, Error> {
    let code = match read_code(options) {
        Ok(code) => code,
        Err(error) => return Ok(exec::fail(error, options.json).exit_code().into()),
    };
    let run = Run {
        code,
        timeout: Duration::from_secs_f64(options.timeout),
        tab: options.tab.clone(),
        json: options.json,
        images: Images::Folder(options.images.clone()),
        text: Text::Result,
    };
    options.session.run("tabwire exec", run).await
}

fn read_code(options: &ExecOptions) -> Result<String, McpError> {
    if let Some(code) = &options.eval {
        return Ok(code.clone());
    }
    let file = options
        .file
        .as_deref()
        .filter(|file| file.as_os_str() != "-");
    let code = file.map_or_else(
        || std::io::read_to_string(std::io::stdin()),
        std::fs::read_to_string,
    );
    code.map_err(|reason| McpError::Unreadable {
        what: file.map_or("stdin".into(), |file| file.display().to_string()),
        reason,
    })
}
