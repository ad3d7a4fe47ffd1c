//! `tabwire up`: a relay and a browser with the extension, in one go.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::browser::{detect, launch};
use crate::bundle;
use crate::cli::UpOptions;
use crate::serve::{Relay, StopSignals};

const BROWSER_WITHIN: Duration = Duration::from_secs(30);

pub async fn run(options: &UpOptions) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::new()?;
    let browser = detect::choose(options.browser.as_deref())?;
    let relay = Relay::start(&options.serve).await?;
    let headless = options.headless || !launch::has_display();
    let profile = match &options.profile {
        Some(profile) => std::path::absolute(profile)?,
        None => relay.home.file("profile"),
    };
    let extension = bundle::write(&relay.home.file("extension"), relay.port())?;
    println!("Starting {}{} …", browser.path.display(), if headless { ", without a window" } else { "" });
    let launch =
        launch::Launch { browser: &browser, profile: &profile, extension: &extension, headless, arguments: &options.browser_arguments };
    let mut child = launch.start()?;

    let ready = async {
        while !relay.app.registry.extension_ready.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let outcome = tokio::select! {
        () = ready => Ok(true),
        () = stop.recv() => Ok(false),
        ended = child.wait() => Err(anyhow::anyhow!("the browser ended before its extension connected ({}). Is it running already with the profile {}?", ended?, profile.display())),
        () = tokio::time::sleep(BROWSER_WITHIN) => Err(anyhow::anyhow!(
            "the extension did not connect within {} seconds. This browser may not take extensions from the command line: load {} by hand at chrome://extensions",
            BROWSER_WITHIN.as_secs(), extension.display())),
    };
    if matches!(outcome, Ok(true)) {
        print_ready(&relay);
        tokio::select! {
            () = stop.recv() => println!("Stopping."),
            _ = child.wait() => println!("The browser was closed. Stopping."),
        }
    }
    launch::stop(&mut child).await;
    relay.stop().await;
    outcome.map(|_| ExitCode::SUCCESS)
}

fn print_ready(relay: &Relay) {
    println!("Ready: relay on 127.0.0.1:{}, {} tab(s).", relay.port(), relay.app.registry.pages.load(Ordering::Relaxed));
    let Some(file) = &relay.cdp_url_file else { return };
    println!("CDP URL: in {} (whoever reads it drives this browser).", file.display());
    println!();
    println!("Try it: `npm install playwright-core`, then save these lines as try.mjs and run `node try.mjs`:");
    println!();
    println!("import {{ chromium }} from 'playwright-core'; import {{ readFileSync }} from 'node:fs';");
    println!("const browser = await chromium.connectOverCDP(readFileSync({:?}, 'utf8').trim());", file.display().to_string());
    println!("console.log(await Promise.all(browser.contexts()[0].pages().map(page => page.title()))); await browser.close();");
    println!();
    println!("Ctrl-C stops both.");
}
