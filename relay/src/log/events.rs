//! Where `tracing` events go: to stderr and into the log file. The token is never logged.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use super::{Log, line};

/// `TABWIRE_LOG` sets the filter. The file never contains `trace`, because that has payloads.
pub fn subscribe(log: &Log, to_stderr: bool) {
    let filter = EnvFilter::try_from_env("TABWIRE_LOG").unwrap_or_else(|_| "info,rmcp=warn".into());
    let stderr = to_stderr.then(|| {
        fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal())
            .with_target(false)
    });
    let file = fmt::layer()
        .with_writer(log.clone())
        .with_ansi(false)
        .with_target(false)
        .with_timer(Time)
        .with_filter(LevelFilter::DEBUG);
    tracing_subscriber::registry()
        .with(filter)
        .with(filter_fn(|event| !has_secrets(event.target())))
        .with(stderr)
        .with(file)
        .init();
}

/// Whether a library logs whole requests, which contain the token in their address or headers. No value
/// of `TABWIRE_LOG` can ask for these.
fn has_secrets(target: &str) -> bool {
    let library = target.split("::").next().unwrap_or_default();
    matches!(library, "tungstenite" | "tokio_tungstenite")
}

/// Formats times as the other lines of the log have them.
struct Time;

impl FormatTime for Time {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        let mut text = String::new();
        line::put_time(&mut text, std::time::SystemTime::now());
        writer.write_str(&text)
    }
}

pub struct EventWriter<'a>(&'a Log);

impl<'a> MakeWriter<'a> for Log {
    type Writer = EventWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        EventWriter(self)
    }
}

impl io::Write for EventWriter<'_> {
    /// Is called with one whole event.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.event(&String::from_utf8_lossy(event));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
