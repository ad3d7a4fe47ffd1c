//! The relay's processor time per round trip, event and megabyte, with an extension and with a
//! browser's own port, compared with that of a bare pipe.
//!
//! Relays and pipe are separate processes; both ends of both are in this one. What counts is the
//! processor time of the process under test, as counted by the scheduler. All of them share one
//! processor: what it costs to wake another one depends on the machine and its load more than on
//! either program. Relays and pipe take turns.

use std::path::Path;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::client::Client;
use crate::extension::{Event, Extension};
use crate::port::DebuggingPort;
use crate::process::{Process, start_relay};
use crate::report::{Row, median, mib};

const ROUNDS: usize = 9;
const ROUND_TRIPS: u32 = 3_000;
const EVENTS: u32 = 15_000;
const SCREENSHOTS: u32 = 5;

/// What a round measures: name, unit, and the highest acceptable ratio to the pipe.
const FIGURES: [(&str, &str, Option<f64>); 5] = [
    ("processor time per round trip", "us", Some(1.0)),
    ("duration of a round trip", "us", None),
    ("processor time per event", "us", Some(1.0)),
    (
        "processor time per event that names a context",
        "us",
        Some(1.0),
    ),
    ("processor time per MB of screenshot", "us", Some(1.1)),
];

/// The same for a browser with its own port.
const DIRECT_FIGURES: [(&str, &str, Option<f64>); 5] = [
    ("direct: processor time per round trip", "us", Some(1.5)),
    ("direct: duration of a round trip", "us", None),
    ("direct: processor time per event", "us", Some(1.5)),
    (
        "direct: processor time per event that names a context",
        "us",
        Some(1.5),
    ),
    (
        "direct: processor time per MB of screenshot",
        "us",
        Some(1.5),
    ),
];

/// A figure is the median of its rounds, and a ratio is the median of the ratios of the rounds.
pub async fn measure(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    let processors = Processors::new()?;
    processors.use_last()?;
    let mut relay = Subject::relay(tabwire).await?;
    let mut direct = Subject::direct(tabwire).await?;
    let mut pipe = Subject::pipe().await?;
    let (mut relay_rounds, mut direct_rounds) = (Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        let (relay, direct) = (relay.round().await?, direct.round().await?);
        let pipe = pipe.round().await?;
        relay_rounds.push((relay, pipe));
        direct_rounds.push((direct, pipe));
    }
    processors.use_all()?;
    let mut rows = rows(FIGURES, &relay_rounds);
    rows.extend(self::rows(DIRECT_FIGURES, &direct_rounds));
    Ok(rows)
}

/// `rounds` has the figures of the relay and of the pipe.
fn rows(
    figures: [(&'static str, &'static str, Option<f64>); 5],
    rounds: &[([f64; 5], [f64; 5])],
) -> Vec<Row> {
    // The first round is a warm-up.
    let rounds = rounds.get(1..).unwrap_or_default();
    let rows = figures
        .into_iter()
        .enumerate()
        .map(|(at, (name, unit, target))| {
            let pairs: Vec<(f64, f64)> = rounds
                .iter()
                .filter_map(|(relay, pipe)| Some((*relay.get(at)?, *pipe.get(at)?)))
                .collect();
            Row::ratio(name, unit, &pairs, target)
        });
    rows.collect()
}

/// Which processors this process uses, and those that it starts from then on.
pub struct Processors {
    all: CpuSet,
    last: CpuSet,
    /// If there is only one, the same one.
    all_but_last: CpuSet,
}

impl Processors {
    pub fn new() -> anyhow::Result<Self> {
        let all = sched_getaffinity(None)?;
        let mut last = CpuSet::new();
        let mut all_but_last = all;
        if let Some(number) = (0..CpuSet::MAX_CPU).rev().find(|cpu| all.is_set(*cpu)) {
            last.set(number);
            if all.count() > 1 {
                all_but_last.unset(number);
            }
        }
        Ok(Self {
            all,
            last,
            all_but_last,
        })
    }

    pub fn use_all(&self) -> anyhow::Result<()> {
        Ok(sched_setaffinity(None, &self.all)?)
    }

    pub fn use_last(&self) -> anyhow::Result<()> {
        Ok(sched_setaffinity(None, &self.last)?)
    }

    pub fn use_all_but_last(&self) -> anyhow::Result<()> {
        Ok(sched_setaffinity(None, &self.all_but_last)?)
    }
}

/// A process with both its ends.
struct Subject {
    process: Process,
    extension: Extension,
    client: Client,
}

impl Subject {
    async fn relay(tabwire: &Path) -> anyhow::Result<Self> {
        let (mut process, port) = start_relay(tabwire).await?;
        let extension = Extension::connect_to_relay(port, &process.installation(), 1).await?;
        let client = Client::connect_to_relay(process.file("cdp-url").await?.trim()).await?;
        Ok(Self {
            process,
            extension,
            client,
        })
    }

    async fn direct(tabwire: &Path) -> anyhow::Result<Self> {
        let port = DebuggingPort::open().await?;
        let args = ["serve", "--port", "0", "--browser-url", &port.url()];
        let mut process = Process::start(tabwire, &args)?;
        let url = process.file("cdp-url").await?;
        let (client, extension) = tokio::join!(Client::connect_to_direct(url.trim()), async {
            anyhow::Ok(Extension::behind_port(port.socket().await?))
        },);
        Ok(Self {
            process,
            extension: extension?,
            client: client?,
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

    /// In the order of `FIGURES`.
    async fn round(&mut self) -> anyhow::Result<[f64; 5]> {
        let (processor_time, duration) = self.round_trips().await?;
        Ok([
            processor_time,
            duration,
            self.events(Event::Plain).await?,
            self.events(Event::NamingContext).await?,
            self.screenshots().await?,
        ])
    }

    /// Processor time per round trip, and the median duration of one.
    async fn round_trips(&mut self) -> anyhow::Result<(f64, f64)> {
        let before = self.process.cpu()?;
        let mut durations = Vec::new();
        for _ in 0..ROUND_TRIPS {
            durations.push(micros(self.client.round_trip().await?));
        }
        let processor_time = self.micros_since(before)? / f64::from(ROUND_TRIPS);
        Ok((processor_time, median(durations)))
    }

    async fn events(&mut self, event: Event) -> anyhow::Result<f64> {
        let before = self.process.cpu()?;
        self.extension.flood(event, EVENTS as usize);
        self.client.receive_events(EVENTS as usize).await?;
        Ok(self.micros_since(before)? / f64::from(EVENTS))
    }

    /// Processor time per megabyte.
    async fn screenshots(&mut self) -> anyhow::Result<f64> {
        let before = self.process.cpu()?;
        let mut bytes = 0;
        for _ in 0..SCREENSHOTS {
            bytes += self.client.screenshot().await? as u64;
        }
        Ok(self.micros_since(before)? / mib(bytes))
    }

    fn micros_since(&self, before: Duration) -> anyhow::Result<f64> {
        Ok(micros(self.process.cpu()?.saturating_sub(before)))
    }
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
