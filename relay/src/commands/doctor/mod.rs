//! `tabwire doctor`: looks for what keeps Tabwire from working, and names the command that fixes it.
//! Without `--fix` it changes nothing but what opening the home does. With it, only what is safe is repaired: no running browser, no
//! profile and no file of anybody else is ever touched.

mod browsers;
mod extension;
mod files;
mod finding;
mod policy;
mod relay;
mod repair;
mod wsl;

use std::io;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::{BrowserReport, Home, Pairings, RelayStatus, State, get_json};

use self::finding::{Finding, Severity, problem};
use crate::browser::detect::{self, Environment, Installation};
use crate::commands::relay_query;
use crate::error::Error;
use crate::shell::quoted;

#[derive(Debug, Clone, Args)]
pub struct DoctorOptions {
    /// Repair what can be repaired safely
    #[arg(long)]
    pub fix: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What the checks look at, gathered once.
struct Situation {
    home: Home,
    environment: Environment,
    /// The relay that owns the home.
    running: Option<State>,
    /// What it says about itself. `None` if it does not respond.
    status: Option<RelayStatus>,
    /// Its browsers, or why it does not list them.
    browsers: io::Result<Vec<BrowserReport>>,
    pairings: Pairings,
    installed: Vec<Installation>,
}

impl Situation {
    async fn gather(home: Home, pairings: Pairings) -> Self {
        let running = home.running_relay();
        let mut status = None;
        let mut browsers = Ok(Vec::new());
        if let Some(state) = running {
            status = get_json(state.port, "/").await.ok();
            browsers = relay_query::list_browsers(&home, state).await;
        }
        let environment = Environment::current();
        Self {
            installed: detect::installed(&environment),
            environment,
            running,
            status,
            browsers,
            pairings,
            home,
        }
    }

    fn connected(&self) -> impl Iterator<Item = &BrowserReport> {
        let browsers = self.browsers.iter().flatten();
        browsers.filter(|browser| browser.connected)
    }

    fn has_connected(&self) -> bool {
        match (&self.browsers, &self.status) {
            // Without a list, what anyone may see has to do.
            (Err(_), Some(status)) => status.extension,
            _ => self.connected().next().is_some(),
        }
    }
}

/// Exits with 1 if there is a problem.
pub async fn run(options: &DoctorOptions) -> Result<ExitCode, Error> {
    let mut findings = match Home::open() {
        Ok(home) => examine(home, options.fix).await,
        Err(error) => {
            let fix = "Set TABWIRE_HOME to a folder of your own.";
            vec![problem(error.to_string(), fix)]
        }
    };
    findings.extend(wsl::check().await);
    print(&findings, options.json);
    let is_problem = |finding: &Finding| finding.severity == Severity::Problem;
    Ok(if findings.iter().any(is_problem) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn examine(home: Home, fix: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pairings = home.pairings().unwrap_or_else(|error| {
        let fix = format!(
            "Run `rm {}`, then pair your browsers again.",
            quoted(home.paired_file())
        );
        findings.push(problem(error.to_string(), fix));
        Pairings::default()
    });
    let situation = Situation::gather(home, pairings).await;
    findings.extend(files::check(&situation));
    findings.extend(relay::check(&situation).await);
    findings.extend(browsers::check(&situation).await);
    findings.extend(extension::check(&situation));
    findings.extend(policy::check(&situation));
    if fix {
        for finding in &mut findings {
            repair::apply(&situation.home, finding);
        }
    }
    findings
}

fn print(findings: &[Finding], as_json: bool) {
    if as_json {
        print_line!("{}", serde_json::json!({ "findings": findings }));
        return;
    }
    for finding in findings {
        print_line!("{}{}", finding.severity.label(), finding.text);
        if let Some(fix) = &finding.fix {
            print_line!("        {fix}");
        }
    }
    if findings.iter().any(|finding| finding.repair.is_some()) {
        print_line!("Run `tabwire doctor --fix` to repair what can be repaired safely.");
    }
}
