//! The relay's resident memory: idle, with many tabs, during and after large messages.

use std::path::Path;
use std::time::Duration;

use crate::client::Client;
use crate::extension::{Event, Extension};
use crate::process::start_relay;
use crate::report::{Row, mib};

const TABS: usize = 200;
const EVENTS: usize = 100_000;
const SCREENSHOTS: usize = 20;

pub async fn measure(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    let (mut process, port) = start_relay(tabwire).await?;
    let extension = Extension::connect_to_relay(port, &process.installation(), TABS).await?;
    settle().await;
    let idle = process.resident_kib()?;
    let mut client = Client::connect_to_relay(process.file("cdp-url").await?.trim()).await?;
    settle().await;
    let with_tabs = process.resident_kib()?;
    extension.flood(Event::Plain, EVENTS);
    client.receive_events(EVENTS).await?;
    let after_events = process.resident_kib()?;
    process.reset_peak()?;
    for _ in 0..SCREENSHOTS {
        client.screenshot().await?;
    }
    let peak = process.peak_kib()?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let afterwards = process.resident_kib()?;
    // The relay still works, so the last figure is not that of a broken one.
    client.round_trip().await?;
    let twice_idle = 2.0 * megabytes(idle);
    Ok(vec![
        row("memory: idle, extension connected", idle, Some(12.0)),
        row(
            "memory: 200 tabs announced to a client",
            with_tabs,
            Some(20.0),
        ),
        row("memory: after 100,000 events", after_events, None),
        row("memory: peak during 20 screenshots of 4 MB", peak, None),
        row(
            "memory: 5 s later, client still connected",
            afterwards,
            Some(twice_idle),
        ),
    ])
}

fn row(what: &'static str, kib: u64, target: Option<f64>) -> Row {
    Row::figure(what, "MB", megabytes(kib), target)
}

fn megabytes(kib: u64) -> f64 {
    mib(kib * 1024)
}

/// Gives the relay time to process what it has received.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}
