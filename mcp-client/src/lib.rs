//! The MCP server of Tabwire, and the same from a shell: an agent's code runs in the person's browser.
//!
//! ```text
//! agent ─► server (execute, reset) ─┐
//!                                   ├─► session ─► relay (is it there, whose is the slot)
//! shell ─► exec ────────────────────┘           └► worker ─► runner (Node, Playwright) ─► /cdp
//! ```
//!
//! A session is one agent's: its worker, its page in use, its turn at the browser. Only the worker connects to `/cdp`.

mod answer;
mod errors;
pub mod exec;
mod progress;
pub mod relay;
mod runner;
mod server;
mod session;
pub mod state;
mod stdin;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use errors::Error;
pub use server::{http_routes, serve_stdio};

/// What a server or a run is told at its start.
#[derive(Clone)]
pub struct Settings {
    /// Tabwire's home, which is closed to others already.
    pub home: PathBuf,
    /// The `tabwire` program, to start a relay with.
    pub program: PathBuf,
    /// The relay's port, where one was asked for; else it is where the home's relay is, whenever that is needed.
    pub port: Option<u16>,
    /// Reads the token, as it is then: a person who makes a new one wants the one before to open nothing.
    pub token: Arc<dyn Fn() -> Result<Token, Error> + Send + Sync>,
    /// How long to wait for another client to give the slot back.
    pub standby: Duration,
    /// How long without calls until the slot is given back.
    pub idle: Duration,
    /// The longest text of an answer, in characters.
    pub output_limit: usize,
    /// The largest picture of an answer, in bytes; none for one who takes it as it is, however large.
    pub image_limit: Option<usize>,
    /// The most memory that the worker may take, in MiB.
    pub memory_mib: u64,
    /// Is told how large each call was with its answer, so that the memory of large ones can be given back.
    pub after_call: Arc<dyn Fn(usize) + Send + Sync>,
}

/// What lets clients in at the relay. It has no `Debug` and no `Display`: it cannot be logged by mistake.
#[derive(Clone)]
pub struct Token(pub String);

/// Puts the runner and its packages into the home, saying on stderr what is done.
pub async fn install(settings: &Settings) -> Result<PathBuf, Error> {
    Ok(
        runner::ensure(&settings.home, &progress::Progress::stderr())
            .await?
            .folder,
    )
}
