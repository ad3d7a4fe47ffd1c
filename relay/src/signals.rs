//! The signals that stop a command: Ctrl-C, `kill`, and a terminal that closes.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl StopSignals {
    pub fn new() -> Result<Self, Error> {
        let signal = |kind| signal(kind).map_err(Error::Signals);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup()?,
        })
    }

    pub async fn recv(&mut self) {
        self.next().await;
    }

    /// Which signal is received next.
    pub async fn next(&mut self) -> SignalKind {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            () = hangup => SignalKind::hangup(),
        }
    }
}

/// `None` if it is ignored: `nohup` starts programs with SIGHUP ignored, and handling it would defeat
/// that. Only Linux lets us check.
fn hangup() -> Result<Option<Signal>, Error> {
    let hangup = hangup_is_not_ignored().then(|| signal(SignalKind::hangup()));
    hangup.transpose().map_err(Error::Signals)
}

fn hangup_is_not_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 0)
}
