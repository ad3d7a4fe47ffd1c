//! `tabwire up`: a relay and a browser with the extension, in one go.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::bail;

use crate::browser::detect::Browser;
use crate::browser::{detect, launch};
use crate::bundle;
use crate::cli::UpOptions;
use crate::serve::{Relay, StopSignals};
use crate::status;

const BROWSER_WITHIN: Duration = Duration::from_secs(30);

pub async fn run(options: &UpOptions) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::new()?;
    let browser = detect::choose(options.browser.as_deref())?;
    status::ensure_none_runs()?;
    let relay = Relay::start(&options.serve).await?;
    // However the browser's part ends, the relay leaves no files behind.
    let outcome = run_browser(options, &browser, &relay, &mut stop).await;
    relay.stop().await;
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn run_browser(
    options: &UpOptions,
    browser: &Browser,
    relay: &Relay,
    stop: &mut StopSignals,
) -> anyhow::Result<()> {
    let headless = options.headless || !launch::has_display();
    let profile = match &options.profile {
        Some(profile) => std::path::absolute(profile)?,
        None => relay.home.file("profile"),
    };
    let extension = bundle::write(&relay.home.file("extension"), relay.port())?;
    say!(
        "Starting {}{} …",
        browser.path.display(),
        if headless { ", without a window" } else { "" }
    );
    let launch = launch::Launch {
        browser,
        profile: &profile,
        extension: &extension,
        headless,
        load_by: options.load_by,
        arguments: &options.browser_arguments,
    };
    let mut running = launch.start().await?;

    let ready = async {
        while !relay.app.registry.extension_ready.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = ready => print_ready(relay),
        () = stop.recv() => {
            running.stop().await;
            return Ok(());
        }
        ended = running.child.wait() => {
            bail!("the browser ended before its extension connected ({}). Is it running already with the profile {}?", ended?, profile.display());
        }
        () = tokio::time::sleep(BROWSER_WITHIN) => {
            running.stop().await;
            bail!(
                "the extension did not connect within {} seconds. Try --load-by pipe or --load-by flag; else load {} by hand at chrome://extensions and use `tabwire serve`",
                BROWSER_WITHIN.as_secs(),
                extension.display()
            );
        }
    }
    tokio::select! {
        () = stop.recv() => say!("Stopping."),
        _ = running.child.wait() => say!("The browser was closed. Stopping."),
    }
    running.stop().await;
    Ok(())
}

fn print_ready(relay: &Relay) {
    say!(
        "Ready: relay on 127.0.0.1:{}, {} tab(s).",
        relay.port(),
        relay.app.registry.pages.load(Ordering::Relaxed)
    );
    let Some(file) = &relay.cdp_url_file else {
        return;
    };
    say!(
        "CDP URL: in {} (whoever reads it drives this browser).",
        file.display()
    );
    say!("");
    say!(
        "Try it: `npm install playwright-core`, then save these lines as try.mjs and run `node try.mjs`:"
    );
    say!("");
    say!("import {{ chromium }} from 'playwright-core'; import {{ readFileSync }} from 'node:fs';");
    say!(
        "const browser = await chromium.connectOverCDP(readFileSync({:?}, 'utf8').trim());",
        file.display().to_string()
    );
    say!(
        "console.log(await Promise.all(browser.contexts()[0].pages().map(page => page.title()))); await browser.close();"
    );
    say!("");
    say!("Ctrl-C stops both.");
}
