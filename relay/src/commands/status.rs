//! `tabwire status`: shows what the running relay reports about itself.

use std::io;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tabwire_home::control::Ownership;
use tabwire_home::open_port::OpenPortReport;
use tabwire_home::{
    BrowserReport, ClientReport, Home, RelayStatus, SlotReport, State, Token, get_json,
    get_json_with_token, now,
};

use crate::commands::open_port::remaining;
use crate::commands::table::{self, printable};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

struct Report {
    state: State,
    relay: RelayStatus,
    slot: Option<SlotReport>,
    browsers: Vec<BrowserReport>,
}

pub async fn run(options: &StatusOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let Some(state) = home.running_relay() else {
        let killed = home.last_relay();
        let killed = killed.map(|state| format!(" ({state} has exited)"));
        let text = format!(
            "No relay is running{}. Start one with `tabwire serve` or `tabwire up`.",
            killed.unwrap_or_default()
        );
        return Ok(print_failure(options, &text));
    };
    match query(&home, state).await {
        Ok(report) if options.json => {
            print_json(&report);
            Ok(ExitCode::SUCCESS)
        }
        Ok(report) => {
            print_status(&report);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let State { port, pid } = state;
            let text = format!(
                "The relay on port {port} (process {pid}) does not respond as it should: {}.",
                error.to_string().trim_end_matches('.')
            );
            Ok(print_failure(options, &text))
        }
    }
}

async fn query(home: &Home, state: State) -> io::Result<Report> {
    let token = Token::load(home).map_err(io::Error::other)?;
    let browsers: Vec<BrowserReport> = get_json_with_token(state.port, "/browsers", &token).await?;
    Ok(Report {
        state,
        relay: get_json(state.port, "/").await?,
        // With several browsers, or none, there is no single slot.
        slot: get_json(state.port, "/client-slot").await.ok(),
        browsers,
    })
}

fn print_json(report: &Report) {
    let State { port, pid } = report.state;
    let status: Value = json!({
        "running": true,
        "port": port,
        "pid": pid,
        "relay": report.relay,
        "clientSlot": report.slot,
        "browsers": report.browsers,
    });
    print_line!("{status}");
}

fn print_status(report: &Report) {
    let State { port, pid } = report.state;
    let mode = &report.relay.mode;
    print_line!("relay    127.0.0.1:{port} (process {pid}, {mode})");
    if let Some(open) = &report.relay.open_port {
        print_line!("port     {}", describe_open_port(open));
    }
    // A browser with a debugging port of its own is also shown while it does not respond.
    let is_shown = |browser: &&BrowserReport| browser.connected || browser.url.is_some();
    let mut shown = report.browsers.iter().filter(is_shown).peekable();
    if shown.peek().is_none() {
        print_line!("browser  {}", describe_missing(&report.relay));
    }
    for browser in shown {
        print_line!("browser  {}", describe_browser(browser));
        if browser.paused {
            print_line!("  paused: all clients are stopped until you choose Resume in its popup");
        }
        print_clients(&browser.clients);
    }
}

fn describe_open_port(open: &OpenPortReport) -> String {
    let OpenPortReport { port, browser, .. } = open;
    let browser = browser.as_ref().map(|name| format!(" to {name}"));
    format!(
        "127.0.0.1:{port} is open{} without a token for another {}; close it with `tabwire close-port`",
        browser.unwrap_or_default(),
        remaining(open)
    )
}

fn describe_missing(relay: &RelayStatus) -> &'static str {
    if relay.launches {
        "not connected; the relay launches one when a client needs it"
    } else {
        "not connected; open the browser that has the extension, or run `tabwire doctor`"
    }
}

fn describe_browser(browser: &BrowserReport) -> String {
    let name = &browser.name;
    let at = browser.url.as_ref().map(|url| format!(" at {url}"));
    let at = at.unwrap_or_default();
    if !browser.connected {
        return format!("{name}{at} does not respond; run `tabwire doctor`");
    }
    let tabs = table::count(browser.tabs, "tab");
    let ownership = match browser.ownership {
        Some(Ownership::Launched) => ", launched by Tabwire",
        Some(Ownership::Attached) => ", already running when Tabwire connected",
        None => "",
    };
    let product = printable(&browser.product);
    format!("{name} ({product}){at}, {tabs}{ownership}")
}

fn print_clients(clients: &[ClientReport]) {
    if clients.is_empty() {
        print_line!("  no client is connected");
    }
    for client in clients {
        let age = table::age(now(), client.connected_at);
        let used = match client.tabs_in_use {
            // Its messages are passed on unread.
            None => String::new(),
            Some(0) => ", uses no tab".to_owned(),
            Some(number) => format!(", uses {}", table::count(number, "tab")),
        };
        print_line!("  client {client}, connected for {age}{used}");
        for tab in client.tabs.as_deref().unwrap_or_default() {
            print_line!("    {}  {}", printable(&tab.url), printable(&tab.title));
        }
    }
}

fn print_failure(options: &StatusOptions, text: &str) -> ExitCode {
    if options.json {
        print_line!("{}", json!({ "running": false, "error": text }));
    } else {
        print_line!("{text}");
    }
    ExitCode::FAILURE
}
