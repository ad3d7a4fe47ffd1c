//! A browser with a debugging port of its own (`--browser-url`), which a scripted browser plays.

mod passing;
mod recovery;
mod restoring;
mod serving;

use tabwire_tests::{BrowserLink, Client, Relay, ScriptedBrowser};

/// A scripted browser, and a relay that uses it.
async fn start(arguments: &[&str]) -> (Relay, ScriptedBrowser) {
    let browser = ScriptedBrowser::start().await;
    let url = browser.url();
    let relay = Relay::start(&[&["--browser-url", &url], arguments].concat()).await;
    (relay, browser)
}

/// Also a client, with its WebSocket to the browser.
async fn start_with_client(arguments: &[&str]) -> (Relay, ScriptedBrowser, Client, BrowserLink) {
    let (relay, mut browser) = start(arguments).await;
    let client = Client::connect(&relay).await;
    let link = browser.link().await;
    (relay, browser, client, link)
}
