//! `tabwire open-port` and `tabwire close-port`: a port of the relay that needs no token, for clients
//! that can be given nothing but a host and a port.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::now;
use tabwire_home::open_port::{
    ClosedPort, MAX_OPEN_SECONDS, OpenPortOptions, OpenPortReport, OpenedPort,
};

use crate::commands::{browser_name, relay_query, stop, table};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct OpenPortCommand {
    /// When to close it again, such as 30s, 10m or 2h; at most 8h
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = seconds)]
    pub seconds: u32,
    /// Port on 127.0.0.1 to open; 0 picks a free one [default: 9222]
    #[arg(long)]
    pub port: Option<u16>,
    /// The browser, by its name in `tabwire browsers` [default: the only one that is connected]
    #[arg(long, env = "TABWIRE_BROWSER", value_name = "NAME", value_parser = browser_name)]
    pub browser: Option<String>,
    /// Open it even where Tabwire cannot check which user connects, which is everywhere but on Linux.
    /// Other users of this machine can then use it, too
    #[arg(long)]
    pub without_user_check: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ClosePortCommand {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn open(options: &OpenPortCommand) -> Result<ExitCode, Error> {
    let (home, state) = stop::running_relay().await?;
    let request = OpenPortOptions {
        seconds: options.seconds,
        port: options.port,
        browser: options.browser.clone(),
        without_user_check: options.without_user_check,
    };
    let opened = relay_query::open_port(&home, state, &request).await?;
    if options.json {
        print_line!("{}", serde_json::json!(opened));
    } else {
        print_opened(&opened);
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn close(options: &ClosePortCommand) -> Result<ExitCode, Error> {
    let (home, state) = stop::running_relay().await?;
    let closed = relay_query::close_port(&home, state).await?;
    match closed {
        _ if options.json => print_line!("{}", serde_json::json!(closed)),
        ClosedPort { port: Some(port) } => print_line!("Closed port {port}."),
        ClosedPort { port: None } => print_line!("No port is open."),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_opened(opened: &OpenedPort) {
    let OpenPortReport { port, browser, .. } = &opened.report;
    let verb = if opened.extended {
        "stays open"
    } else {
        "is open"
    };
    let browser = browser.as_deref().unwrap_or("your browser");
    print_line!(
        "127.0.0.1:{port} {verb} for {} and needs no token.\nUntil then, every program that you run can see and control everything in {browser}, and use your logins there.\nClose it earlier with `tabwire close-port`.",
        remaining(&opened.report)
    );
}

/// How long a port stays open.
pub fn remaining(report: &OpenPortReport) -> String {
    // Half a second more, because a moment has passed since it was opened.
    table::age(report.until + 500, now())
}

/// Parses `30s`, `10m` or `2h`.
fn seconds(text: &str) -> Result<u32, String> {
    let wrong = || "must be a time such as 30s, 10m or 2h".to_owned();
    let (number, unit) = text
        .char_indices()
        .next_back()
        .and_then(|(last, _)| text.split_at_checked(last))
        .ok_or_else(wrong)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(factor) {
        Some(0) => Err(wrong()),
        Some(seconds) if is_number && seconds <= MAX_OPEN_SECONDS => Ok(seconds),
        _ => Err(format!("must be at most {}h", MAX_OPEN_SECONDS / 3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_a_maximum() {
        for (text, expected) in [("30s", 30), ("10m", 600), ("2h", 7200), ("8h", 28800)] {
            assert_eq!(seconds(text), Ok(expected));
        }
        for text in [
            "",
            "m",
            "10",
            "0s",
            "-1m",
            "+1m",
            "1.5h",
            "1 h",
            "9h",
            "481m",
            "99999999h",
            "1é",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn help_names_the_default_port_and_the_longest_time() {
        // They are written out in the texts of the options.
        let port = tabwire_home::open_port::DEFAULT_OPEN_PORT;
        assert_eq!((port, MAX_OPEN_SECONDS), (9222, 8 * 3600));
    }
}
