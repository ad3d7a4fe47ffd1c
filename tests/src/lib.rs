//! Support code for the tests that run the relay as a real process: the process itself, and a
//! scripted peer for each of its two sides. It makes no assumptions about what the relay should do;
//! that is up to the tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod browser;
mod client;
mod extension;
mod handshake;
pub mod http;
pub mod link;
mod process;
mod relay;
mod tab;

use std::time::Duration;

pub use browser::{BrowserLink, ScriptedBrowser};
pub use client::{Client, Reply};
pub use extension::{Call, EXTENSION_ID, Refused, ScriptedExtension, origin};
pub use handshake::{Hello, INSTALL_ID, Installation, introduction};
pub use process::{Exit, binary, run};
pub use relay::{Relay, StartOptions, Stopped};
pub use tab::{tab, target_of};

/// Generous, because the machine may be busy. A passing test never waits this long.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Awaits something that must happen, and panics with `what` if it does not.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future)
        .await
        .unwrap_or_else(|elapsed| panic!("{what}: {elapsed}"))
}

/// Polls until `check` returns a value. Only for the state of another process or of a file, which
/// sends no event.
pub async fn until<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let polling = async {
        loop {
            if let Some(value) = check().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(what, polling).await
}
