//! What the tests and benchmarks of the relay share: the relay as a real process, and a scripted peer for each of its
//! sides. Nothing here knows what the relay ought to do; that is for the tests to say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod client;
mod extension;
pub mod http;
mod link;
mod process;
mod relay;

use std::time::Duration;

pub use client::{Client, Reply};
pub use extension::{Call, EXTENSION_ID, ScriptedExtension, tab, target_of};
pub use process::{Ended, program, run};
pub use relay::{Relay, Start};

/// How long anything that should happen may take on a busy machine. Nothing waits this long in a run that succeeds.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for something that has to happen.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|late| panic!("{what}: {late}"))
}

/// Asks again and again, for what a process or a file has no event to tell.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(value) = ask().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(what, asking).await
}
