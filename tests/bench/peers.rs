//! How much connections that the relay refuses slow down a client that is already connected: its
//! median round trip, compared with the same without them.
//!
//! Relay, extension and client share one processor, and whoever connects has the others. What
//! counts is the work for the relay, not how the system shares a processor.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::MissedTickBehavior;

use crate::client::Client;
use crate::extension::Extension;
use crate::page::Page;
use crate::process::start_relay;
use crate::processor_time::{Processors, micros};
use crate::report::{Row, median};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
/// From one round trip to the next.
const PERIOD: Duration = Duration::from_millis(3);
/// From starting or stopping the connections to measuring.
const SETTLE: Duration = Duration::from_millis(500);
/// The highest acceptable ratio.
const TARGET: Option<f64> = Some(2.0);

const NOBODY: u32 = 65534;
const CONNECTIONS_PER_SECOND: f64 = 100.0;

pub async fn measure(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    let processors = Processors::new()?;
    processors.use_last()?;
    let (mut process, port) = start_relay(tabwire).await?;
    let _extension = Extension::connect_to_relay(port, &process.installation(), 1).await?;
    let mut client = Client::connect_to_relay(process.file("cdp-url").await?.trim()).await?;
    let mut rows = Vec::new();
    match with_other_user(&mut client, &processors, port).await {
        Ok(measured) => rows.extend(measured),
        Err(error) => eprintln!("Not measured: connections of another user. {error:#}"),
    }
    match with_page(&mut client, &processors, port).await {
        Ok(measured) => rows.extend(measured),
        Err(error) => eprintln!("Not measured: connections of a web page. {error:#}"),
    }
    processors.use_all()?;
    Ok(rows)
}

async fn with_other_user(
    client: &mut Client,
    processors: &Processors,
    port: u16,
) -> anyhow::Result<[Row; 1]> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let quiet = median_round_trip(client).await?;
        processors.use_all_but_last()?;
        let other_user = OtherUser::start(port);
        processors.use_last()?;
        let mut other_user = other_user?;
        rounds.push((median_round_trip(client).await?, quiet));
        other_user.ensure_running()?;
    }
    Ok([Row::ratio(
        "round trip during 100 refused connections/s of a user",
        "us",
        &rounds,
        TARGET,
    )])
}

async fn with_page(
    client: &mut Client,
    processors: &Processors,
    port: u16,
) -> anyhow::Result<[Row; 2]> {
    processors.use_all_but_last()?;
    let page = Page::start(port).await;
    processors.use_last()?;
    let page = page?;
    page.ready().await?;
    let (mut rounds, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        page.connect(false);
        let quiet = median_round_trip(client).await?;
        page.connect(true);
        let (before, since) = (page.connections(), Instant::now());
        rounds.push((median_round_trip(client).await?, quiet));
        let connections = page.connections().saturating_sub(before);
        rates.push(f64::from(connections) / since.elapsed().as_secs_f64());
    }
    let what = "round trip while a page connects as fast as it can";
    Ok([
        Row::ratio(what, "us", &rounds, TARGET),
        Row::figure("connections of that page", "/s", median(rates), None),
    ])
}

/// In microseconds. The round trips start at regular times: without pauses, most of them would
/// happen to fall between two connections.
async fn median_round_trip(client: &mut Client) -> anyhow::Result<f64> {
    tokio::time::sleep(SETTLE).await;
    let started = Instant::now();
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut durations = Vec::new();
    while started.elapsed() < ROUND {
        ticks.tick().await;
        durations.push(micros(client.round_trip().await?));
    }
    Ok(median(durations))
}

/// A process of another user that connects again and again. Ended when it is dropped.
struct OtherUser(Child);

impl OtherUser {
    fn start(port: u16) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        ensure!(
            rustix::process::geteuid().is_root(),
            "Only root can start a process of another user."
        );
        let child = Command::new(std::env::current_exe()?)
            .args(["connect", &port.to_string()])
            .uid(NOBODY)
            .stdin(Stdio::null())
            .spawn();
        Ok(Self(
            child.context("Cannot start a process of another user")?,
        ))
    }

    fn ensure_running(&mut self) -> anyhow::Result<()> {
        let exited = self.0.try_wait()?;
        ensure!(exited.is_none(), "The other user's process failed.");
        Ok(())
    }
}

impl Drop for OtherUser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What that process runs.
pub async fn connect(port: u16) -> anyhow::Result<()> {
    let period = Duration::from_secs_f64(1.0 / CONNECTIONS_PER_SECOND);
    let mut ticks = tokio::time::interval(period);
    loop {
        ticks.tick().await;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        tokio::spawn(async move {
            let received = stream.read(&mut [0]).await;
            assert!(!matches!(received, Ok(1)), "the relay responded");
        });
    }
}
