//! Runs code in the user's browser, for an agent (MCP) or a shell.
//!
//! ```text
//! agent ─► stdin ─► server (execute, reset) ─┐
//!                     │                      ├─► session ─► relay (find or start it, wait for the slot)
//! shell ─► exec ──────┼──────────────────────┘           └► worker ─► runner (Node, Playwright) ─► /cdp
//!                     └ browser tools ─► browsers ─► relay (launch, stop, …)
//! ```
//!
//! A session belongs to one agent: its worker, its current page, its claim on the browser. Only the
//! worker connects to `/cdp`. `current_browser` is all that session and browser tools share.

mod browser_report;
mod browser_tools;
mod browsers;
mod current_browser;
mod error;
pub mod exec;
mod http_sessions;
mod opening;
mod progress;
mod relay;
mod response;
mod runner;
mod secrets;
mod server;
mod session;
mod stdin;
mod tabs;
mod tools;
mod worker;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use browser_report::InstalledBrowser;
pub use error::{Audience, Error};
pub use relay::IN_BACKGROUND;
pub use secrets::Secrets;
pub use server::{Server, serve_stdio};
use tabwire_home::Home;
use tokio::time::Instant;

#[derive(Clone)]
pub struct Settings {
    pub home: Home,
    /// The `tabwire` program, which starts a relay.
    pub program: PathBuf,
    /// The relay's port if the user chose one. Otherwise it is looked up in the home before each
    /// call.
    pub port: Option<u16>,
    /// The browser's name. `None`: the only one that is connected.
    pub browser: Option<String>,
    /// What the relay calls this client, unless an agent has introduced itself.
    pub client_name: String,
    /// How long to wait for another client to release the browser.
    pub standby: Duration,
    /// How long without calls until the browser is released.
    pub idle: Duration,
    /// How long an action such as a click may take, unless the code says otherwise.
    pub action_timeout: Duration,
    /// The same for loading a page.
    pub navigation_timeout: Duration,
    /// The longest text of a response, in characters.
    pub output_limit: usize,
    /// The largest image of a response, in bytes. `None`: images are never scaled down.
    pub image_limit: Option<usize>,
    /// The most memory that the worker may use, in MiB.
    pub memory_mib: u64,
    /// Called with the size of each call and its response, so that the memory of large ones can be
    /// returned to the system.
    pub after_call: Arc<dyn Fn(usize) + Send + Sync>,
    /// What the agent may type but never sees.
    pub secrets: Secrets,
    /// The folder for downloads and other files that the code gets from the browser.
    pub files: PathBuf,
    /// Offers the tools that manage browsers, and lists the installed ones for them.
    pub browser_tools: Option<InstalledBrowsers>,
}

/// Finds the browsers on this machine.
pub type InstalledBrowsers =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Vec<InstalledBrowser>> + Send>> + Send + Sync>;

/// Starts a relay if none is running in this home, with progress on stderr.
pub async fn ensure_relay(settings: &Settings) -> Result<(), Error> {
    relay::ensure_started(settings, &progress::Progress::stderr()).await
}

/// Ensures that a relay is running and a browser is connected to it, and waits until no other client
/// is using the browser. Returns the relay's port.
pub async fn ensure_browser(settings: &Settings) -> Result<u16, Error> {
    let progress = progress::Progress::stderr();
    let port = relay::port(settings, None);
    relay::ensure(settings, port, &progress).await?;
    relay::wait_for_slot(settings, port, Instant::now(), &progress).await?;
    Ok(port)
}

/// Installs the runner and its packages into the home, with progress on stderr.
pub async fn install(settings: &Settings) -> Result<PathBuf, Error> {
    let runner = runner::ensure(&settings.home, &progress::Progress::stderr()).await?;
    Ok(runner.folder)
}
