//! `tabwire service`: makes the relay start at login, and undoes that. It writes one file and asks the
//! service manager to use it. It never stops a relay that the service did not start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use tabwire_home::Home;

use crate::browser::detect;
use crate::commands::absolute_program;
use crate::commands::serve::ServeOptions;
use crate::error::Error;
use crate::service::{Manager, Service, Step, is_ours};

/// How long the relay may take to start before the user is pointed to its output.
const START_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Args)]
pub struct ServiceOptions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Start the relay now and at every login
    Install {
        /// Options of `tabwire serve`, after `--`
        #[arg(last = true, value_name = "SERVE OPTIONS")]
        serve: Vec<String>,
    },
    /// Stop the service and remove it
    Uninstall,
    /// Show whether the service is installed and running
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(options: &ServiceOptions) -> Result<ExitCode, Error> {
    let manager = Manager::current();
    let file = definition_file(manager)?;
    match &options.action {
        Action::Install { serve } => {
            match parse_options(serve) {
                Ok(options) => check_options(&options)?,
                Err(error) => {
                    let _ = error.print();
                    return Ok(ExitCode::from(2));
                }
            }
            install(manager, &file, serve).await?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Uninstall => {
            uninstall(manager, &file)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Status { json } => Ok(status(manager, &file, *json)),
    }
}

fn definition_file(manager: Manager) -> Result<PathBuf, Error> {
    let home = user_home()?;
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|path| path.is_absolute());
    Ok(manager.file(&home, config.as_deref()))
}

fn user_home() -> Result<PathBuf, Error> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    Ok(home.ok_or(tabwire_home::Error::NoHomeFolder)?)
}

/// What clap makes of the options after `--`.
fn parse_options(serve: &[String]) -> Result<ServeOptions, clap::Error> {
    #[derive(Parser)]
    #[command(name = "tabwire serve")]
    struct Serve {
        #[command(flatten)]
        options: ServeOptions,
    }
    let command = std::iter::once("tabwire serve".to_owned());
    Serve::try_parse_from(command.chain(serve.iter().cloned())).map(|serve| serve.options)
}

/// A service with a wrong option would fail at every login, where nobody sees why.
fn check_options(options: &ServeOptions) -> Result<(), Error> {
    if options.logging.record.is_some() {
        return Err(Error::ServiceRecords);
    }
    let Some(browser) = options.on_demand.launch.clone() else {
        return Ok(());
    };
    let program = absolute_program(browser.clone())?;
    if program != browser {
        return Err(Error::ServiceRelativePath(program.into()));
    }
    detect::choose(Some(&browser))?;
    Ok(())
}

async fn install(manager: Manager, file: &Path, serve: &[String]) -> Result<(), Error> {
    ensure_is_ours(file)?;
    let home = Home::open()?;
    // A folder above it may be a link, which the home's own path does not contain.
    let default = fs::canonicalize(user_home()?.join(".tabwire"));
    let is_default = default.is_ok_and(|default| default == home.path());
    let service = Service::new(
        &std::env::current_exe()?,
        serve,
        (!is_default).then(|| home.path()),
        &home.relay_output_file(),
    )?;
    write(file, &manager.definition(&service)).map_err(failed_to_write(file))?;
    print_line!("Wrote {}.", file.display());
    if succeeds(&manager.probe()) {
        return enable(manager, file, &home).await;
    }
    let program = manager.probe().program;
    print_line!("{program} cannot be used here. To start the relay now and at every login, run:");
    print_steps(&manager.enable(file, true));
    Ok(())
}

/// Starts the service, unless that would disturb a relay that is running.
async fn enable(manager: Manager, file: &Path, home: &Home) -> Result<(), Error> {
    let is_running = succeeds(&manager.is_running());
    let other = home.running_relay().filter(|_| !is_running);
    let starts_now = !is_running && other.is_none();
    for step in manager.enable(file, starts_now) {
        run_step(&step)?;
    }
    if is_running {
        print_line!("The service keeps running with its old options. To use the new ones, run:");
        print_steps(&manager.restart(file));
    } else if let Some(relay) = other {
        print_line!("The service starts at your next login, because {relay} is running.");
        print_line!("To start it earlier, stop that relay and run:");
        print_steps(&[manager.start(file)]);
    } else {
        print_start(manager, home).await;
    }
    Ok(())
}

/// The manager has started the program. Reports whether it became a relay.
async fn print_start(manager: Manager, home: &Home) {
    let started = async {
        loop {
            if let Some(relay) = home.running_relay() {
                return relay;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if let Ok(relay) = tokio::time::timeout(START_TIMEOUT, started).await {
        print_line!("Started {relay}. It also starts at every login.");
    } else {
        print_line!(
            "The relay starts at every login, but has not started yet. To see why, run `{}`.",
            manager.output_hint(&home.relay_output_file())
        );
    }
}

fn uninstall(manager: Manager, file: &Path) -> Result<(), Error> {
    if !file.exists() {
        print_line!("The service is not installed.");
        return Ok(());
    }
    ensure_is_ours(file)?;
    let has_manager = succeeds(&manager.probe());
    if has_manager && needs_disabling(manager) {
        run_step(&manager.disable())?;
    }
    fs::remove_file(file).map_err(failed_to_write(file))?;
    match manager.forget() {
        Some(step) if has_manager => run_step(&step)?,
        // What the manager would have removed.
        _ => remove_link(manager.login_link(file)),
    }
    print_line!("Removed {}.", file.display());
    if !has_manager {
        let program = manager.probe().program;
        print_line!(
            "{program} cannot be used here. If the service is running, it ends when you log out."
        );
    }
    Ok(())
}

/// launchd rejects a command for a service that it has not loaded.
fn needs_disabling(manager: Manager) -> bool {
    match manager {
        Manager::Systemd => true,
        Manager::Launchd { .. } => succeeds(&manager.is_running()),
    }
}

fn remove_link(link: Option<PathBuf>) {
    if let Some(link) = link.filter(|link| link.is_symlink()) {
        let _ = fs::remove_file(link);
    }
}

fn status(manager: Manager, file: &Path, json: bool) -> ExitCode {
    let installed = file.exists();
    let running = succeeds(&manager.probe()).then(|| installed && succeeds(&manager.is_running()));
    if json {
        print_line!(
            "{}",
            json!({ "installed": installed, "running": running, "file": file })
        );
    } else if installed {
        print_line!("Installed in {}.", file.display());
        match running {
            Some(true) => print_line!("Running."),
            Some(false) => print_line!("Not running. Start it with `{}`.", manager.start(file)),
            None => print_line!(
                "{} cannot be used here, so it is not known whether it is running.",
                manager.probe().program
            ),
        }
    } else {
        print_line!("The service is not installed. Run `tabwire service install`.");
    }
    if running == Some(true) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A file with the same name that the user wrote is left alone.
fn ensure_is_ours(file: &Path) -> Result<(), Error> {
    match fs::read_to_string(file) {
        Ok(definition) if is_ours(&definition) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(Error::OtherService(file.to_owned())),
    }
}

fn write(file: &Path, definition: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, definition)
}

fn failed_to_write(file: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = file.to_owned();
    move |reason| Error::WriteFile { path, reason }
}

fn print_steps(steps: &[Step]) {
    for step in steps {
        print_line!("  {step}");
    }
}

fn succeeds(step: &Step) -> bool {
    output(step).is_ok_and(|output| output.status.success())
}

fn run_step(step: &Step) -> Result<(), Error> {
    let failed = |reason| Error::ServiceManager {
        command: step.to_string(),
        reason,
    };
    let output = output(step).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.trim().trim_end_matches('.');
    Err(failed(if message.is_empty() {
        output.status.to_string()
    } else {
        message.to_owned()
    }))
}

fn output(step: &Step) -> io::Result<Output> {
    let mut command = Command::new(step.program);
    command.args(&step.arguments).stdin(Stdio::null()).output()
}
