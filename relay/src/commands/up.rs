//! `tabwire up`: runs a relay and a browser with the extension. The relay outlives its browser, and
//! launches it again when a client needs it.

use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::control::{LaunchOptions, LaunchReport};
use tabwire_home::{Home, State};

use crate::app::on_its_own;
use crate::commands::launch::BrowserOptions;
use crate::commands::serve::ServeOptions;
use crate::commands::{relay_query, table};
use crate::error::Error;
use crate::log::Log;
use crate::relay::Relay;
use crate::signals::StopSignals;

#[derive(Debug, Clone, Args)]
pub struct UpOptions {
    #[command(flatten)]
    pub serve: ServeOptions,
    /// Browser to launch: a name from `tabwire browsers`, or the path of a program
    #[arg(long)]
    pub browser: Option<String>,
    #[command(flatten)]
    pub options: BrowserOptions,
}

pub async fn run(options: &UpOptions, log: &Log) -> Result<ExitCode, Error> {
    if options.serve.browser_url.is_some() {
        return Err(Error::UpWithBrowserUrl);
    }
    if options.serve.on_demand.launch.is_some() {
        return Err(Error::UpWithLaunch);
    }
    let mut stop = StopSignals::new()?;
    let home = Home::open()?;
    let launch = options.options.launch(options.browser.clone())?;
    if let Some(state) = home.running_relay() {
        print_line!("Using {state}, which is already running.");
        print_ignored(&options.serve.set_options(state.port));
        join(&home, state, &launch, &mut stop).await?;
    } else {
        let mut relay = options.serve.start(Some(launch), log).await?;
        let outcome = supervise(&mut relay, &mut stop).await;
        // Also if the browser could not be launched, so that the files are removed.
        relay.stop().await;
        outcome?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Launches the browser, then waits until the user stops the command.
async fn supervise(relay: &mut Relay, stop: &mut StopSignals) -> Result<(), Error> {
    print_line!("Launching a browser …");
    let app = relay.app.clone();
    let launcher = app.launcher.clone();
    let report = tokio::select! {
        // The relay interrupts the launch when it stops, and removes what is left of it.
        outcome = on_its_own(async move { launcher.ensure().await }) => outcome?,
        () = stop.recv() => None,
        () = app.stop_requested.notified() => None,
    };
    let Some(report) = report else {
        return Ok(());
    };
    print_ready(relay.port(), &report);
    if let Some(file) = &relay.files.cdp_url_file() {
        print_example(file);
    }
    print_line!("Press Ctrl-C to stop both.");
    let mut was_running = true;
    loop {
        tokio::select! {
            () = stop.recv() => break,
            () = app.stop_requested.notified() => break,
            error = relay.failed() => return Err(error),
            // Launching it again would pair it again, which the user does not want.
            () = app.registry.preferred_unpaired.notified() => {
                print_line!("The browser was unpaired. To pair it again, run `tabwire up`.");
                break;
            }
            () = app.launcher.changed(&report.name, was_running) => {
                was_running = !was_running;
                print_line!("{}", if was_running {
                    "The browser is running again."
                } else {
                    "The browser was closed. It starts again when a client needs it."
                });
            }
        }
    }
    print_line!("Stopping.");
    Ok(())
}

/// Uses a relay that is running already, and stops only the browser at the end.
async fn join(
    home: &Home,
    state: State,
    launch: &LaunchOptions,
    stop: &mut StopSignals,
) -> Result<(), Error> {
    let mut launching = pin!(relay_query::launch(home, state, launch));
    let report = tokio::select! {
        launched = &mut launching => Some(launched?),
        () = stop.recv() => None,
    };
    let Some(report) = report else {
        // It may wait for another launch, or be over at this moment.
        let _ = relay_query::interrupt(home, state, launch).await;
        return match launching.await {
            Ok(report) => stop_own(home, state, &report).await,
            Err(_) => Ok(()),
        };
    };
    print_ready(state.port, &report);
    print_line!(
        "{}",
        if report.joined {
            "Press Ctrl-C to leave. The browser was running before, and keeps running with the relay."
        } else {
            "Press Ctrl-C to stop the browser. The relay keeps running."
        }
    );
    tokio::select! {
        () = stop.recv() => stop_own(home, state, &report).await,
        () = relay_query::exited(state) => {
            print_line!("The relay has exited. It stops the browsers that it launched.");
            Ok(())
        }
    }
}

/// Stops the browser, unless it was running before this command, or was stopped in the meantime.
async fn stop_own(home: &Home, state: State, report: &LaunchReport) -> Result<(), Error> {
    if report.joined || !state.is_alive() {
        return Ok(());
    }
    relay_query::stop_launched(home, state, report).await
}

/// Options that only a relay that is being started could follow.
fn print_ignored(options: &[&str]) {
    if !options.is_empty() {
        print_line!(
            "It keeps the options that it was started with. Ignored: {}. To use them, run `tabwire stop --relay` first.",
            options.join(", ")
        );
    }
}

fn print_ready(port: u16, report: &LaunchReport) {
    let tabs = table::count(report.tabs, "tab");
    let headless = if report.headless { ", headless" } else { "" };
    print_line!(
        "Ready: relay on 127.0.0.1:{port}, browser {}{headless}, {tabs}.",
        report.name
    );
}

fn print_example(cdp_url_file: &Path) {
    print_line!(
        "CDP URL: in {} (keep it secret: it controls this browser).",
        cdp_url_file.display()
    );
    print_line!(
        "\nTo try it, run `npm install playwright-core`, save these lines as try.mjs and run `node try.mjs`:\n"
    );
    print_line!(
        "import {{ chromium }} from 'playwright-core'; import {{ readFileSync }} from 'node:fs';"
    );
    print_line!(
        "const browser = await chromium.connectOverCDP(readFileSync({:?}, 'utf8').trim());",
        cdp_url_file.display().to_string()
    );
    print_line!(
        "console.log(await Promise.all(browser.contexts()[0].pages().map(page => page.title()))); await browser.close();\n"
    );
}
