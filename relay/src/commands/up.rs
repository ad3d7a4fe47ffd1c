//! `tabwire up`: runs a relay and a browser with the extension. When one of them ends, both do.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tabwire_home::{Home, PairingId, Secret};

use crate::browser::bundle::{self, Copy};
use crate::browser::detect::{self, Browser};
use crate::browser::launch::{self, Launch, LoadBy, RunningBrowser};
use crate::commands::serve::ServeOptions;
use crate::commands::{absolute, table};
use crate::error::Error;
use crate::relay::Relay;
use crate::signals::StopSignals;

const EXTENSION_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Args)]
pub struct UpOptions {
    #[command(flatten)]
    pub serve: ServeOptions,
    /// Browser to start: a name from `tabwire browsers`, or the path of a program
    #[arg(long)]
    pub browser: Option<String>,
    /// Folder of the browser's profile [default: `profile` in Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub profile: Option<PathBuf>,
    /// How to load the extension into the browser
    #[arg(long, value_enum, default_value_t = LoadBy::Auto)]
    pub load_by: LoadBy,
    /// Run headless (the default when there is no display)
    #[arg(long)]
    pub headless: bool,
    /// More arguments for the browser, after `--`
    #[arg(last = true, value_name = "BROWSER ARGUMENTS")]
    pub browser_arguments: Vec<String>,
}

pub async fn run(options: &UpOptions) -> Result<ExitCode, Error> {
    let mut stop = StopSignals::new()?;
    let browser = detect::choose(options.browser.as_deref())?;
    let home = Home::open()?;
    ensure_is_free(&home)?;
    let (pairing, secret) = bundle::pair(&home, &home.extension_folder(), None)?;
    let relay = options.serve.start(home, Some(pairing.clone())).await?;
    let own = OwnBrowser {
        browser,
        pairing,
        secret,
    };
    let outcome = run_browser(options, &own, &relay, &mut stop).await;
    // Stop the relay however the browser ended, so that its files are removed.
    relay.stop().await;
    outcome.map(|()| ExitCode::SUCCESS)
}

/// The browser to start. Its extension has a secret of its own, so that the relay cannot mistake
/// another browser for it.
struct OwnBrowser {
    browser: Browser,
    pairing: PairingId,
    secret: Secret,
}

/// A second browser in the same home would use the first one's profile, extension and files.
fn ensure_is_free(home: &Home) -> Result<(), Error> {
    if home.claim()?.is_none() {
        let owner = home.owner();
        return Err(Error::HomeInUse { owner });
    }
    Ok(())
}

async fn run_browser(
    options: &UpOptions,
    own: &OwnBrowser,
    relay: &Relay,
    stop: &mut StopSignals,
) -> Result<(), Error> {
    let browser = &own.browser;
    let headless = options.headless || !launch::has_display();
    let profile = match &options.profile {
        Some(profile) => absolute(profile)?,
        None => relay.home.profile_folder(),
    };
    let extension = relay.home.extension_folder();
    let copy = Copy {
        folder: &extension,
        port: relay.port(),
        secret: &own.secret,
        shows_welcome: false,
    };
    copy.write()?;
    print_line!(
        "Starting {}{} …",
        browser.path.display(),
        if headless { " (headless)" } else { "" }
    );
    let launch = Launch {
        browser,
        profile: &profile,
        extension: &extension,
        headless,
        load_by: options.load_by,
        arguments: &options.browser_arguments,
    };
    let mut browser = launch.start().await?;
    let ready = relay.browser_ready(&own.pairing);
    let outcome = supervise(&mut browser, &launch, (relay, ready), stop).await;
    browser.stop().await;
    outcome
}

/// Waits for the extension, then until the user stops the command or closes the browser.
async fn supervise(
    browser: &mut RunningBrowser,
    launch: &Launch<'_>,
    (relay, ready): (&Relay, impl Future<Output = usize>),
    stop: &mut StopSignals,
) -> Result<(), Error> {
    tokio::select! {
        tabs = ready => print_ready(relay, tabs),
        () = stop.recv() => return Ok(()),
        status = browser.child.wait() => {
            return Err(Error::BrowserExited {
                status: status?,
                profile: launch.profile.to_owned(),
            });
        }
        () = tokio::time::sleep(EXTENSION_TIMEOUT) => {
            return Err(Error::ExtensionTimeout {
                seconds: EXTENSION_TIMEOUT.as_secs(),
                extension: launch.extension.to_owned(),
            });
        }
    }
    tokio::select! {
        () = stop.recv() => print_line!("Stopping."),
        _ = browser.child.wait() => print_line!("The browser was closed. Stopping."),
    }
    Ok(())
}

fn print_ready(relay: &Relay, tabs: usize) {
    let (port, tabs) = (relay.port(), table::count(tabs, "tab"));
    print_line!("Ready: relay on 127.0.0.1:{port}, {tabs}.");
    if let Some(file) = &relay.cdp_url_file {
        print_example(file);
        print_line!("Press Ctrl-C to stop both.");
    }
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
