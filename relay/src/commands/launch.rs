//! `tabwire launch`: asks the relay to launch a browser, and starts a relay if none is running.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::Home;
use tabwire_home::control::{LaunchOptions, LaunchReport, LoadBy, Ownership, ProfileChoice};

use crate::commands::session::RelayOptions;
use crate::commands::{absolute, absolute_program, browser_name, relay_query, table};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct LaunchCommand {
    /// Browser to launch: a name from `tabwire browsers`, or the path of a program [default: the
    /// first one found]
    pub browser: Option<String>,
    #[command(flatten)]
    pub options: BrowserOptions,
    #[command(flatten)]
    pub relay: RelayOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How to launch a browser.
#[derive(Debug, Clone, Args)]
pub struct BrowserOptions {
    /// What to call the browser [default: its name in `tabwire browsers`, such as chrome-beta]
    #[arg(long, value_parser = browser_name)]
    pub name: Option<String>,
    /// Folder of the browser's profile [default: one of its own in Tabwire's home]
    #[arg(long, value_name = "DIR", conflicts_with = "temp")]
    pub profile: Option<PathBuf>,
    /// Use a new profile, and remove it when the browser is stopped
    #[arg(long)]
    pub temp: bool,
    /// Run headless (the default when there is no display)
    #[arg(long)]
    pub headless: bool,
    /// Use the browser's own debugging port instead of the extension: all of CDP, but every program on
    /// this machine can connect to that port
    #[arg(long, conflicts_with = "load_by")]
    pub direct: bool,
    /// How to load the extension into the browser
    #[arg(long, value_enum, default_value_t = LoadBy::Auto)]
    pub load_by: LoadBy,
    /// More arguments for the browser, after `--`
    #[arg(last = true, value_name = "BROWSER ARGUMENTS")]
    pub browser_arguments: Vec<String>,
}

impl BrowserOptions {
    pub fn launch(&self, browser: Option<String>) -> Result<LaunchOptions, Error> {
        Ok(LaunchOptions {
            browser: browser.map(absolute_program).transpose()?,
            name: self.name.clone(),
            headless: self.headless,
            profile: match (&self.profile, self.temp) {
                (Some(folder), _) => ProfileChoice::Folder(absolute(folder)?),
                (None, true) => ProfileChoice::Temporary,
                (None, false) => ProfileChoice::Kept,
            },
            direct: self.direct,
            load_by: self.load_by,
            arguments: self.browser_arguments.clone(),
        })
    }
}

pub async fn run(options: &LaunchCommand) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let launch = options.options.launch(options.browser.clone())?;
    let state = options.relay.ensure_running(&home).await?;
    let report = relay_query::launch(&home, state, &launch).await?;
    print_report(&report, options.json);
    Ok(ExitCode::SUCCESS)
}

pub fn print_report(report: &LaunchReport, as_json: bool) {
    if as_json {
        print_line!("{}", serde_json::json!(report));
        return;
    }
    let tabs = table::count(report.tabs, "tab");
    let how = match report.ownership {
        Ownership::Launched if report.headless => "running, headless",
        Ownership::Launched => "running",
        Ownership::Attached => "was running already, and is left open by `tabwire stop`",
    };
    let port = report.debug_port;
    let port = port.map_or_else(String::new, |port| format!(", debugging port {port}"));
    print_line!("{}: {how}, {tabs}{port}.", report.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_gets_absolute_paths() {
        let options = BrowserOptions {
            name: None,
            profile: Some("p".into()),
            temp: false,
            headless: false,
            direct: false,
            load_by: LoadBy::Auto,
            browser_arguments: Vec::new(),
        };
        let launch = options.launch(Some("./chrome".to_owned())).unwrap();
        let folder = std::env::current_dir().unwrap();
        let program = folder.join("chrome").display().to_string();
        assert_eq!(launch.browser, Some(program));
        assert_eq!(launch.profile, ProfileChoice::Folder(folder.join("p")));
    }
}
