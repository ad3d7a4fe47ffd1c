//! `tabwire up`: runs a relay and a browser with the extension. The relay outlives its browser, and
//! launches it again when a client needs it.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::control::{LaunchOptions, LaunchReport};
use tabwire_home::{Home, State};

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
    let mut stop = StopSignals::new()?;
    let home = Home::open()?;
    let launch = options.options.launch(options.browser.clone())?;
    if let Some(state) = home.running_relay() {
        join(&home, state, &launch, &mut stop).await?;
    } else {
        let mut relay = options.serve.start(Some(launch.clone()), log).await?;
        let outcome = supervise(&mut relay, &launch, &mut stop).await;
        // Also if the browser could not be launched, so that the files are removed.
        relay.stop().await;
        outcome?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Launches the browser, then waits until the user stops the command.
async fn supervise(
    relay: &mut Relay,
    launch: &LaunchOptions,
    stop: &mut StopSignals,
) -> Result<(), Error> {
    print_line!("Launching a browser …");
    let app = relay.app.clone();
    let report = tokio::select! {
        launched = app.launcher.launch(launch) => launched?,
        () = stop.recv() => return Ok(()),
    };
    print_ready(relay.port(), &report);
    if let Some(file) = &relay.cdp_url_file {
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
    print_line!("Using {state}, which is already running.");
    let report = relay_query::launch(home, state, launch).await?;
    print_ready(state.port, &report);
    print_line!("Press Ctrl-C to stop the browser. The relay keeps running.");
    stop.recv().await;
    relay_query::stop_browser(home, state, Some(&report.name)).await?;
    Ok(())
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
