//! `tabwire doctor`: looks for what keeps Tabwire from working, and names the command that fixes it.
//! It changes nothing.

use std::net::Ipv4Addr;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use tabwire_home::{BrowserReport, DEFAULT_PORT, Home, State, Token};
use tokio::net::TcpStream;

use crate::commands::relay_query;
use crate::error::Error;
use crate::http::peer;

#[derive(Debug, Clone, Args)]
pub struct DoctorOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Ok,
    /// Worth knowing.
    Note,
    Problem,
}

#[derive(Debug, Serialize)]
struct Finding {
    severity: Severity,
    text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// Exits with 1 if there is a problem.
pub async fn run(options: &DoctorOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let mut findings = vec![check_token(&home)];
    let running = home.running_relay();
    findings.extend(check_relay(&home, running).await);
    let browsers = relay_query::browsers(&home).await;
    findings.extend(check_browsers(&home, browsers.as_deref()));
    findings.extend(check_wsl());
    print(&findings, options.json);
    let has_problem = findings
        .iter()
        .any(|finding| finding.severity == Severity::Problem);
    Ok(if has_problem {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn ok(text: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Ok,
        text: text.into(),
        fix: None,
    }
}

fn note(text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Note,
        text: text.into(),
        fix: Some(fix.into()),
    }
}

fn problem(text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Problem,
        ..note(text, fix)
    }
}

fn check_token(home: &Home) -> Finding {
    if !home.auth_token_file().exists() {
        return ok("There is no token yet. The first relay creates it.");
    }
    match Token::load(home) {
        Ok(_) => ok("The token is usable."),
        Err(error) => {
            let file = home.auth_token_file();
            problem(error.to_string(), format!("Run `rm '{}'`.", file.display()))
        }
    }
}

async fn check_relay(home: &Home, running: Option<State>) -> Vec<Finding> {
    let Some(state) = running else {
        let mut findings = vec![note(
            "No relay is running.",
            "Run `tabwire serve`, or use an agent, which starts one.",
        )];
        let port = home.last_relay().map_or(DEFAULT_PORT, |state| state.port);
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .is_ok()
        {
            let holder = peer::holder_of(port).unwrap_or_else(|| "another program".to_owned());
            findings.push(problem(
                format!("Port {port} is in use by {holder}, which is not this home's relay."),
                "Stop that program, or use another port: `tabwire serve --port PORT` and `tabwire install-extension --port PORT`.",
            ));
        }
        if let Some(state) = home.last_relay() {
            let text = format!("Files of {state} are left, which was killed.");
            findings.push(note(text, "The next relay removes them."));
        }
        return findings;
    };
    if relay_query::browsers(home).await.is_some() {
        return vec![ok(format!("{state} is running."))];
    }
    let fix = format!(
        "Run `kill -CONT {pid}` if it is suspended, or `kill -KILL {pid}` if it hangs.",
        pid = state.pid
    );
    vec![problem(format!("{state} does not respond."), fix)]
}

fn check_browsers(home: &Home, connected: Option<&[BrowserReport]>) -> Vec<Finding> {
    let pairings = match home.pairings() {
        Ok(pairings) => pairings,
        Err(error) => {
            let fix = format!(
                "Run `rm '{}'`, then pair your browsers again.",
                home.paired_file().display()
            );
            return vec![problem(error.to_string(), fix)];
        }
    };
    let names: Vec<&str> = pairings
        .browsers()
        .map(|browser| browser.name.as_str())
        .collect();
    if names.is_empty() {
        return vec![problem(
            "No browser has ever connected.",
            "Run `tabwire install-extension` and load the folder that it names, or run `tabwire up` for a separate browser.",
        )];
    }
    let Some(connected) = connected else {
        return vec![ok(format!("Paired: {}.", names.join(", ")))];
    };
    let connected: Vec<&BrowserReport> =
        connected.iter().filter(|report| report.connected).collect();
    if connected.is_empty() {
        return vec![problem(
            format!("No browser is connected. Paired: {}.", names.join(", ")),
            "Open the browser and look at the extension's popup, which says what is wrong. If the extension is of another profile or version, run `tabwire install-extension` and reload it at chrome://extensions.",
        )];
    }
    let own = env!("CARGO_PKG_VERSION");
    let describe = |report: &&BrowserReport| match report.extension.as_str() {
        version if version == own || version.is_empty() => {
            ok(format!("{} is connected.", report.name))
        }
        version => note(
            format!(
                "{} is connected, with version {version} of the extension. This is version {own}.",
                report.name
            ),
            "Run `tabwire install-extension`, then reload the extension at chrome://extensions.",
        ),
    };
    connected.iter().map(describe).collect()
}

/// With mirrored networking, Windows programs reach a relay in WSL without an owner.
fn check_wsl() -> Option<Finding> {
    peer::in_wsl().then(|| note(
        "This is WSL. With mirrored networking, Linux cannot tell which user a Windows program belongs to, so the relay serves such programs nothing but the extension, which proves who it is.",
        "Run clients inside WSL. The browser with the extension may run on Windows.",
    ))
}

fn print(findings: &[Finding], as_json: bool) {
    if as_json {
        print_line!("{}", serde_json::json!({ "findings": findings }));
        return;
    }
    for Finding {
        severity,
        text,
        fix,
    } in findings
    {
        let label = match severity {
            Severity::Ok => "ok      ",
            Severity::Note => "note    ",
            Severity::Problem => "problem ",
        };
        print_line!("{label}{text}");
        if let Some(fix) = fix {
            print_line!("        {fix}");
        }
    }
}
