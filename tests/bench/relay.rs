//! The relay alone: what it costs between a scripted extension and a bare client, against a bare WebSocket pipe.
//!
//! `cargo run --release -p tabwire-tests --bin bench-relay [-- --json]`
//!
//! Relay and pipe are processes of their own; both ends of both are in this one. What counts is the processor time of
//! the process under test, by the scheduler's count. All of them share one processor meanwhile: what it costs to wake
//! another one depends on the machine and on its other work more than on either program. Relay and pipe take turns; a
//! figure is the median of its rounds, and a ratio is the median of the ratios of the rounds.

mod ends;
mod pipe;
mod process;
mod report;

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ends::{Client, Event, Extension};
use process::Process;
use report::{Row, median};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const ROUNDS: usize = 9;
const ROUND_TRIPS: u32 = 3_000;
const EVENTS: u32 = 15_000;
const SCREENSHOTS: u32 = 5;
const TABS: usize = 200;
const MIB: f64 = 1_048_576.0;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if args.iter().any(|arg| arg == "pipe") {
        return runtime.block_on(pipe::run());
    }
    build_relay()?;
    let rows = runtime.block_on(measure())?;
    if args.iter().any(|arg| arg == "--json") {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", report::table(&rows));
    }
    Ok(())
}

/// An old binary must not be measured by mistake.
fn build_relay() -> anyhow::Result<()> {
    let given = std::env::var_os("TABWIRE_BIN").is_some();
    if let Some(cargo) = std::env::var_os("CARGO").filter(|_| !given) {
        let status = std::process::Command::new(cargo)
            .args(["build", "--release", "--quiet", "--package", "tabwire"])
            .status()?;
        ensure!(status.success(), "the relay could not be built");
    }
    Ok(())
}

async fn measure() -> anyhow::Result<Vec<Row>> {
    let tabwire = process::tabwire()?;
    let mut rows = processor_time(&tabwire).await?;
    rows.extend(memory(&tabwire).await?);
    let size = std::fs::metadata(&tabwire)?.len();
    rows.push(Row::figure("release binary", "MB", mib(size), Some(15.0)));
    rows.push(Row::figure(
        "`tabwire serve` until it has answered a request",
        "ms",
        start_time(&tabwire).await?,
        Some(50.0),
    ));
    Ok(rows)
}

// ---- processor time ----

/// One process with both its ends.
struct Subject {
    process: Process,
    extension: Extension,
    client: Client,
}

impl Subject {
    async fn relay(tabwire: &Path) -> anyhow::Result<Self> {
        let (mut process, port) = start_relay(tabwire).await?;
        let extension = Extension::connect_to_relay(port, 1).await?;
        let client = Client::connect_to_relay(process.file("cdp-url").await?.trim()).await?;
        Ok(Self {
            process,
            extension,
            client,
        })
    }

    async fn pipe() -> anyhow::Result<Self> {
        let mut process = Process::start(&std::env::current_exe()?, &["pipe"])?;
        let port = process.file("port").await?.parse()?;
        let extension = Extension::connect_to_pipe(port).await?;
        let client = Client::connect_to_pipe(port).await?;
        Ok(Self {
            process,
            extension,
            client,
        })
    }

    /// Microseconds of processor time a round trip, and of the clock's (the middle one).
    async fn round_trips(&mut self) -> anyhow::Result<(f64, f64)> {
        let before = self.process.cpu()?;
        let mut latencies = Vec::new();
        for _ in 0..ROUND_TRIPS {
            latencies.push(micros(self.client.round_trip().await?));
        }
        Ok((
            micros(self.process.cpu()?.saturating_sub(before)) / f64::from(ROUND_TRIPS),
            median(latencies),
        ))
    }

    async fn events(&mut self, event: Event) -> anyhow::Result<f64> {
        let before = self.process.cpu()?;
        self.extension.flood(event, EVENTS as usize);
        self.client.receive_events(EVENTS as usize).await?;
        Ok(micros(self.process.cpu()?.saturating_sub(before)) / f64::from(EVENTS))
    }

    /// Microseconds of processor time a megabyte.
    async fn screenshots(&mut self) -> anyhow::Result<f64> {
        let before = self.process.cpu()?;
        let mut bytes = 0;
        for _ in 0..SCREENSHOTS {
            bytes += self.client.screenshot().await? as u64;
        }
        Ok(micros(self.process.cpu()?.saturating_sub(before)) / mib(bytes))
    }

    async fn round(&mut self) -> anyhow::Result<[f64; 5]> {
        let (round_trip, latency) = self.round_trips().await?;
        let (plain, naming) = (
            self.events(Event::Plain).await?,
            self.events(Event::NamingContext).await?,
        );
        Ok([
            round_trip,
            latency,
            plain,
            naming,
            self.screenshots().await?,
        ])
    }
}

async fn start_relay(tabwire: &Path) -> anyhow::Result<(Process, u16)> {
    let mut process = Process::start(
        tabwire,
        &["serve", "--port", "0", "--extension-id", ends::EXTENSION_ID],
    )?;
    let state: serde_json::Value = serde_json::from_str(&process.file("state.json").await?)?;
    let port = state
        .get("port")
        .and_then(serde_json::Value::as_u64)
        .context("no port")?;
    Ok((process, u16::try_from(port)?))
}

async fn processor_time(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    const NAMES: [(&str, &str, Option<f64>); 5] = [
        ("round trip, processor time", "us", Some(2.0)),
        ("round trip, by the clock", "us", None),
        ("event, processor time", "us", Some(2.0)),
        (
            "event that names a context, processor time",
            "us",
            Some(2.0),
        ),
        ("MB of screenshot, processor time", "us", Some(1.5)),
    ];
    let everywhere = sched_getaffinity(None)?;
    sched_setaffinity(None, &last_processor(&everywhere))?;
    let (mut relay, mut pipe) = (Subject::relay(tabwire).await?, Subject::pipe().await?);
    // The first round only warms up.
    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        rounds.push((relay.round().await?, pipe.round().await?));
    }
    sched_setaffinity(None, &everywhere)?;
    let rounds = rounds.get(1..).unwrap_or_default();
    let mut rows = Vec::new();
    for (place, (what, unit, target)) in NAMES.into_iter().enumerate() {
        let pairs = rounds
            .iter()
            .filter_map(|(relay, pipe)| Some((*relay.get(place)?, *pipe.get(place)?)));
        rows.push(Row::ratio(what, unit, &pairs.collect::<Vec<_>>(), target));
    }
    Ok(rows)
}

fn last_processor(of: &CpuSet) -> CpuSet {
    let mut one = CpuSet::new();
    if let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|cpu| of.is_set(*cpu)) {
        one.set(last);
    }
    one
}

// ---- memory ----

async fn memory(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    const EVENTS: usize = 100_000;
    const SCREENSHOTS: usize = 20;
    let (mut process, port) = start_relay(tabwire).await?;
    let extension = Extension::connect_to_relay(port, TABS).await?;
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
    // It still works, and is still what was measured.
    client.round_trip().await?;
    let megabytes = |kib: u64| mib(kib * 1024);
    Ok(vec![
        Row::figure(
            "memory: idle, extension connected",
            "MB",
            megabytes(idle),
            Some(12.0),
        ),
        Row::figure(
            "memory: 200 tabs announced to a client",
            "MB",
            megabytes(with_tabs),
            Some(20.0),
        ),
        Row::figure(
            "memory: after 100,000 events",
            "MB",
            megabytes(after_events),
            None,
        ),
        Row::figure(
            "memory: peak while 20 screenshots of 4 MB pass",
            "MB",
            megabytes(peak),
            None,
        ),
        Row::figure(
            "memory: 5 s later, client still connected",
            "MB",
            megabytes(afterwards),
            Some(2.0 * megabytes(idle)),
        ),
    ])
}

/// Lets the process under test finish what it has been given.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

// ---- start ----

/// From starting the program to the first byte of the answer to a request, in milliseconds.
async fn start_time(tabwire: &Path) -> anyhow::Result<f64> {
    const STARTS: usize = 20;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let port = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let started = Instant::now();
        let process = Process::start(tabwire, &["serve", "--port", &port.to_string()])?;
        let mut stream = loop {
            match tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_micros(200)).await,
            }
            ensure!(
                started.elapsed() < Duration::from_secs(10),
                "the relay does not start"
            );
        };
        stream
            .write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())
            .await?;
        stream.read_u8().await?;
        times.push(micros(started.elapsed()) / 1000.0);
        drop(process);
    }
    Ok(median(times))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
