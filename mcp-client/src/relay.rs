//! Finds the relay, starts one if none is running, and waits for its client slot.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use tabwire_home::{
    BrowserReport, DEFAULT_PORT, RelayStatus, SlotReport, State, Token, get_json,
    get_json_with_token, open_to_append, read_to_string,
};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::Settings;
use crate::error::Error;
use crate::progress::Progress;
use crate::secrets;

/// Set for a relay that is started here. It closes what this process has inherited and passes on.
pub const IN_BACKGROUND: &str = "TABWIRE_IN_BACKGROUND";

const START_TIMEOUT: Duration = Duration::from_secs(10);
/// An extension that lost its relay retries with growing pauses, but connects soon once it has
/// found one.
const EXTENSION_TIMEOUT: Duration = Duration::from_secs(4);
const EXTENSION_TIMEOUT_NEW_RELAY: Duration = Duration::from_secs(12);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The port to use: the user's choice, else that of the home's current or last relay, because its
/// extension retries there.
pub fn port(settings: &Settings, last: Option<u16>) -> u16 {
    let port_of_home = || settings.home.last_relay().map(|state| state.port);
    settings
        .port
        .or_else(port_of_home)
        .or(last)
        .unwrap_or(DEFAULT_PORT)
}

/// Ensures that a relay is running and a browser is connected to it.
pub async fn ensure(settings: &Settings, port: u16, progress: &Progress) -> Result<(), Error> {
    let timeout = match find(settings, port).await? {
        Some(status) if has_browser(settings, port, &status).await? => return Ok(()),
        Some(_) => EXTENSION_TIMEOUT,
        None => {
            start(settings, port, progress).await?;
            EXTENSION_TIMEOUT_NEW_RELAY
        }
    };
    progress
        .notify("waiting for the extension to connect")
        .await;
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        if let Some(status) = find(settings, port).await?
            && has_browser(settings, port, &status).await?
        {
            return Ok(());
        }
        sleep(POLL_INTERVAL).await;
    }
    Err(match &settings.browser {
        None => Error::NoExtension,
        Some(name) => Error::BrowserNotConnected {
            name: name.clone(),
            connected: connected_browsers(settings, port).await?,
        },
    })
}

/// Whether the browser to use is connected, or is found or launched when a client needs it.
async fn has_browser(settings: &Settings, port: u16, status: &RelayStatus) -> Result<bool, Error> {
    if let Some(name) = &settings.browser {
        let mut reports = browsers(settings, port).await?.into_iter();
        return Ok(reports.any(|own| is_available(&own) && own.name.eq_ignore_ascii_case(name)));
    }
    // With several browsers, the relay may prefer one of them.
    if status.browsers > 1 && get_json::<SlotReport>(port, "/client-slot").await.is_err() {
        let connected = connected_browsers(settings, port).await?;
        return Err(Error::SeveralBrowsers(connected));
    }
    if status.extension || status.launches {
        return Ok(true);
    }
    // A debugging port that answers again counts for the relay only when a client sends something.
    Ok(browsers(settings, port).await?.iter().any(is_available))
}

fn is_available(report: &BrowserReport) -> bool {
    report.connected || report.launches
}

async fn connected_browsers(settings: &Settings, port: u16) -> Result<Vec<String>, Error> {
    let reports = browsers(settings, port).await?.into_iter();
    let connected = reports.filter(|report| report.connected);
    Ok(connected.map(|report| report.name).collect())
}

/// The browsers that have connected. The caller has found this home's relay on this port.
pub async fn browsers(settings: &Settings, port: u16) -> Result<Vec<BrowserReport>, Error> {
    let token = Token::load(&settings.home)?;
    let reports = get_json_with_token(port, "/browsers", &token).await;
    reports.map_err(|error| Error::RelayRequest(error.to_string()))
}

/// Starts a relay if none is running. Does not wait for a browser.
pub async fn ensure_started(settings: &Settings, progress: &Progress) -> Result<(), Error> {
    let port = port(settings, None);
    match find(settings, port).await? {
        Some(_) => Ok(()),
        None => start(settings, port, progress).await,
    }
}

/// Returns the status of this home's relay. Any program can respond like a relay, and it would be
/// sent the token next: only the one that owns the home is accepted.
pub async fn find(settings: &Settings, port: u16) -> Result<Option<RelayStatus>, Error> {
    let response = get_json::<RelayStatus>(port, "/").await;
    let (own, elsewhere) = match settings.home.running_relay() {
        Some(state) if state.port == port => (Some(state), None),
        other => (None, other),
    };
    match (response, own) {
        (Ok(status), Some(_)) => Ok(Some(status)),
        (Ok(_), None) => Err(Error::ForeignRelay(port)),
        (Err(error), _) if is_not_listening(error.kind()) => match elsewhere {
            Some(state) => Err(Error::RelayElsewhere {
                requested: port,
                port: state.port,
                pid: state.pid,
            }),
            None => Ok(None),
        },
        (Err(_), Some(State { port, pid })) => Err(Error::SilentRelay { port, pid }),
        (Err(error), None) => {
            tracing::debug!(%error, port, "not a relay's response");
            Err(Error::NotARelay(port))
        }
    }
}

/// A relay that has just exited resets the connection; after that, nothing listens on its port.
fn is_not_listening(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
    )
}

/// Starts a relay that outlives this process.
async fn start(settings: &Settings, port: u16, progress: &Progress) -> Result<(), Error> {
    progress
        .step(&format!("starting the relay on 127.0.0.1:{port}"))
        .await;
    let output = settings.home.relay_output_file();
    let failed = |reason: String| Error::RelayStart {
        port,
        reason,
        output: output.clone(),
    };
    let mut relay = open_output(&output)
        .and_then(|file| spawn(settings, port, file))
        .map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + START_TIMEOUT;
    let started = loop {
        match find(settings, port).await {
            Ok(None) | Err(Error::SilentRelay { .. }) => {}
            // Another server may have started one first; use that.
            found => break found.map(drop),
        }
        if let Ok(Some(status)) = relay.try_wait() {
            break Err(failed(format!("{status}: {}", last_line(&output))));
        }
        if Instant::now() > deadline {
            let seconds = START_TIMEOUT.as_secs();
            break Err(failed(format!("no response within {seconds} s")));
        }
        sleep(POLL_INTERVAL).await;
    };
    if started.is_err() {
        // Nobody else knows about this process.
        let _ = relay.kill().await;
    }
    started
}

/// Its logs are in another file, so only what the last start printed is of interest.
fn open_output(path: &Path) -> io::Result<File> {
    let file = open_to_append(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// In a process group of its own, so that signals to this process do not reach it.
fn spawn(settings: &Settings, port: u16, output: File) -> io::Result<Child> {
    let mut command = Command::new(&settings.program);
    for variable in secrets::variables() {
        command.env_remove(variable);
    }
    command
        .args(["serve", "--quiet", "--port", &port.to_string()])
        .env("TABWIRE_HOME", settings.home.path())
        .env(IN_BACKGROUND, "1")
        .current_dir(settings.home.path())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
}

fn last_line(output: &Path) -> String {
    let text = read_to_string(output).unwrap_or_default();
    let line = text.trim_end().lines().next_back();
    line.unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Waits until no client holds the slot. Names the holder if that takes too long.
pub async fn wait_for_slot(
    settings: &Settings,
    port: u16,
    since: Instant,
    progress: &Progress,
) -> Result<(), Error> {
    let mut notified = false;
    let path = match &settings.browser {
        Some(name) => format!("/client-slot?browser={name}"),
        None => "/client-slot".to_owned(),
    };
    loop {
        let Ok(slot) = get_json::<SlotReport>(port, &path).await else {
            return Ok(());
        };
        if !slot.busy {
            return Ok(());
        }
        if since.elapsed() >= settings.standby {
            return Err(Error::SlotBusy {
                holder: holder(&slot),
                waited: settings.standby,
            });
        }
        if !notified {
            progress
                .notify(&format!(
                    "waiting for the browser, in use by {}",
                    holder(&slot)
                ))
                .await;
            notified = true;
        }
        sleep(slot_pause().min(settings.standby.saturating_sub(since.elapsed()))).await;
    }
}

/// Random, so that servers that wait for the same slot do not all ask at the same time.
fn slot_pause() -> Duration {
    Duration::from_millis(rand::random_range(200..=400))
}

fn holder(slot: &SlotReport) -> String {
    let name = slot.connected.first().map_or_else(
        || "a client that is connecting".to_owned(),
        ToString::to_string,
    );
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    match slot.connected_at {
        Some(at) => {
            let connected = now.saturating_sub(Duration::from_millis(at));
            format!("{name}, connected for {} s", connected.as_secs())
        }
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabwire_home::ClientReport;

    #[test]
    fn slot_is_polled_every_200_to_400_ms_at_random() {
        let pauses: Vec<u128> = (0..100).map(|_| slot_pause().as_millis()).collect();
        assert!(pauses.iter().all(|pause| (200..=400).contains(pause)));
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }

    #[test]
    fn slot_holder_is_named_with_its_connection_time() {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let connected_at = Some(u64::try_from(now.as_millis()).unwrap() - 12_000);
        let slot = SlotReport {
            mode: "single-active".into(),
            busy: true,
            active_client_id: Some("client-7".into()),
            connected_at,
            clients: 1,
            browser: None,
            connected: vec![ClientReport {
                id: "client-7".into(),
                name: "Playwright/1.65".into(),
                program: Some("node".into()),
                pid: Some(4711),
                connected_at: 0,
                tabs_in_use: Some(0),
                tabs: None,
            }],
        };
        assert_eq!(
            holder(&slot),
            "Playwright/1.65 (node, process 4711), connected for 12 s"
        );
    }
}
