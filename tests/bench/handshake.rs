//! How long it takes from opening the extension's socket to the relay's first call, `listTabs`: alone,
//! and while other connections are open that prove nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tabwire_tests::Installation;

use crate::extension::{next_text, open_proven, open_unproven};
use crate::process::start_relay;
use crate::report::{Row, median};

const ROUNDS: usize = 50;
const SILENT: usize = 50;
/// Time for the relay to notice that the last extension is gone.
const SETTLE: Duration = Duration::from_millis(20);

pub async fn measure(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    let (process, port) = start_relay(tabwire).await?;
    let installation = process.installation();
    let (mut alone, mut among_silent) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(time_to_first_call(port, &installation).await?);
        let silent = try_join_all((0..SILENT).map(|_| open_unproven(port))).await?;
        among_silent.push(time_to_first_call(port, &installation).await?);
        drop(silent);
    }
    let slowest = among_silent.into_iter().fold(0.0, f64::max);
    Ok(vec![
        Row::figure(
            "extension's socket to `listTabs`",
            "ms",
            median(alone),
            Some(5.0),
        ),
        Row::figure(
            "slowest of 50 while 50 connections prove nothing",
            "ms",
            slowest,
            Some(1000.0),
        ),
    ])
}

/// In milliseconds.
async fn time_to_first_call(port: u16, installation: &Installation) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut socket = open_proven(port, installation).await?;
    while !next_text(&mut socket).await?.contains("\"listTabs\"") {}
    let elapsed = started.elapsed();
    drop(socket);
    tokio::time::sleep(SETTLE).await;
    Ok(elapsed.as_secs_f64() * 1e3)
}
