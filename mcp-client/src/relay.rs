//! The relay as its clients find it: asked over HTTP, started where none runs, and its slot waited for.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::Settings;
use crate::errors::Error;
use crate::progress::Progress;
use crate::state::State;

pub const DEFAULT_PORT: u16 = 19222;

const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const START_WITHIN: Duration = Duration::from_secs(10);
/// An extension that lost its relay tries again with growing patience; one that has just been told of it is soon there.
const EXTENSION_WITHIN: Duration = Duration::from_secs(4);
const EXTENSION_WITHIN_OF_A_NEW_RELAY: Duration = Duration::from_secs(12);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The part of `GET /` that matters here.
#[derive(Deserialize)]
struct Status {
    extension: bool,
}

/// The part of `GET /client-slot` that matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Slot {
    busy: bool,
    active_client_id: Option<String>,
    connected_at: Option<u64>,
}

/// The address of a relay's `/cdp`, which holds the token.
pub fn cdp_url(port: u16, token: &str) -> String {
    format!("ws://127.0.0.1:{port}/cdp?token={token}")
}

/// Where the relay is to be: as asked; else where the home's is, or was, because its extension waits for the next one there.
pub(crate) fn port(settings: &Settings, last: Option<u16>) -> u16 {
    let of_the_home = || State::read(&settings.home).map(|state| state.port);
    settings
        .port
        .or_else(of_the_home)
        .or(last)
        .unwrap_or(DEFAULT_PORT)
}

/// Makes sure that a relay runs and a browser is connected to it.
pub(crate) async fn ensure(
    settings: &Settings,
    port: u16,
    progress: &Progress,
) -> Result<(), Error> {
    let patience = match find(settings, port).await? {
        Some(Status { extension: true }) => return Ok(()),
        Some(_) => EXTENSION_WITHIN,
        None => {
            start(settings, port, progress).await?;
            EXTENSION_WITHIN_OF_A_NEW_RELAY
        }
    };
    progress.notify("waiting for the browser's extension").await;
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if find(settings, port)
            .await?
            .is_some_and(|status| status.extension)
        {
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
    }
    Err(Error::NoExtension)
}

/// Starts a relay if none runs, without waiting for a browser.
pub(crate) async fn ensure_started(settings: &Settings, progress: &Progress) -> Result<(), Error> {
    let port = port(settings, None);
    match find(settings, port).await? {
        Some(_) => Ok(()),
        None => start(settings, port, progress).await,
    }
}

/// Anyone can answer as a relay does. The one that runs in this home, by its own word, has the port.
async fn find(settings: &Settings, port: u16) -> Result<Option<Status>, Error> {
    let answer = ask::<Status>(port, "/").await;
    let (own, elsewhere) = match State::of_running(&settings.home) {
        Some(state) if state.port == port => (Some(state), None),
        other => (None, other),
    };
    match (answer, own) {
        (Ok(status), Some(_)) => Ok(Some(status)),
        // It would be told the token next.
        (Ok(_), None) => Err(Error::ForeignRelay(port)),
        // One that has just gone resets; then nobody listens.
        (Err(error), _)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
            ) =>
        {
            match elsewhere {
                Some(state) => Err(Error::RelayElsewhere {
                    asked: port,
                    port: state.port,
                    pid: state.pid,
                }),
                None => Ok(None),
            }
        }
        (Err(_), Some(State { port, pid })) => Err(Error::SilentRelay { port, pid }),
        (Err(error), None) => {
            tracing::debug!(%error, port, "no relay's answer");
            Err(Error::NotARelay(port))
        }
    }
}

/// Starts a relay that outlives this process: a process group of its own, and its words in the home.
async fn start(settings: &Settings, port: u16, progress: &Progress) -> Result<(), Error> {
    progress
        .step(&format!("starting the relay on 127.0.0.1:{port}"))
        .await;
    let log = settings.home.join("relay.log");
    let failed = |reason: String| Error::RelayStart {
        port,
        reason,
        log: log.clone(),
    };
    let words = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log)?;
    let mut relay = Command::new(&settings.program)
        .args(["serve", "--port", &port.to_string()])
        .env("TABWIRE_HOME", &settings.home)
        .current_dir(&settings.home)
        .stdin(Stdio::null())
        .stdout(words.try_clone()?)
        .stderr(words)
        .process_group(0)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let until = Instant::now() + START_WITHIN;
    let started = loop {
        match find(settings, port).await {
            Ok(None) | Err(Error::SilentRelay { .. }) => {}
            // Another server may have been faster; its relay does as well.
            found => break found.map(drop),
        }
        if let Ok(Some(status)) = relay.try_wait() {
            break Err(failed(format!(
                "it ended with {status}: {}",
                last_line(&log)
            )));
        }
        if Instant::now() > until {
            break Err(failed(format!(
                "it does not answer after {} s",
                START_WITHIN.as_secs()
            )));
        }
        sleep(LOOK_EVERY).await;
    };
    if started.is_err() {
        // Nobody would know of it.
        let _ = relay.kill().await;
    }
    started
}

fn last_line(log: &std::path::Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.trim_end()
        .lines()
        .next_back()
        .unwrap_or_default()
        .to_owned()
}

/// Standby: waits until nobody has the slot, and says who has it if that takes too long.
pub(crate) async fn wait_for_slot(
    settings: &Settings,
    port: u16,
    since: Instant,
    progress: &Progress,
) -> Result<(), Error> {
    let mut is_told = false;
    loop {
        let Ok(slot) = ask::<Slot>(port, "/client-slot").await else {
            return Ok(());
        };
        if !slot.busy {
            return Ok(());
        }
        if since.elapsed() >= settings.standby {
            return Err(Error::SlotBusy {
                holder: slot.holder(),
                waited: settings.standby,
            });
        }
        if !is_told {
            progress
                .notify(&format!(
                    "waiting for the browser: {} has it",
                    slot.holder()
                ))
                .await;
            is_told = true;
        }
        // Servers that wait for the same slot shall not all ask at the same time.
        let pause = Duration::from_millis(rand::random_range(200..=400));
        sleep(pause.min(settings.standby.saturating_sub(since.elapsed()))).await;
    }
}

impl Slot {
    fn holder(&self) -> String {
        let name = self
            .active_client_id
            .as_deref()
            .unwrap_or("a client that is just connecting");
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        match self.connected_at {
            Some(at) => format!(
                "{name}, connected for {} s",
                now.saturating_sub(Duration::from_millis(at)).as_secs()
            ),
            None => name.to_owned(),
        }
    }
}

/// One GET from a relay of this machine. It answers small JSON with a length, so a whole HTTP client would be more than it needs.
pub async fn ask<T: DeserializeOwned>(port: u16, path: &str) -> std::io::Result<T> {
    let answer = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(64 << 10).read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = timeout(ANSWER_WITHIN, answer).await??;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| std::io::Error::other("not an HTTP answer"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(std::io::Error::other(
            head.lines().next().unwrap_or_default(),
        ));
    }
    Ok(serde_json::from_str(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_the_slot_is_named_with_the_time_it_has_it() {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let connected_at = Some(u64::try_from(now.as_millis()).unwrap() - 12_000);
        let slot = Slot {
            busy: true,
            active_client_id: Some("client-7".into()),
            connected_at,
        };
        assert_eq!(slot.holder(), "client-7, connected for 12 s");
    }
}
