//! Queries that commands send to this home's running relay.

use std::io;
use std::time::Duration;

use tabwire_home::control::{self, LaunchOptions, LaunchReport, Refusal, RefusalKind, Stopped};
use tabwire_home::open_port::{self, ClosedPort, OpenPortOptions, OpenedPort};
use tabwire_home::{BrowserReport, Home, RelayStatus, State, Token, get_json, get_json_with_token};

use crate::error::Error;

/// How long a relay may take to exit after it was asked to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The browsers that have connected, with their clients. `None`: no relay is running, or it does not
/// respond.
pub async fn browsers(home: &Home) -> Option<Vec<BrowserReport>> {
    // Only the relay that owns the home is sent the token.
    let state = home.running_relay()?;
    list_browsers(home, state).await.ok()
}

/// As `browsers`, for a relay that is running.
pub async fn list_browsers(home: &Home, state: State) -> io::Result<Vec<BrowserReport>> {
    let token = Token::load(home).map_err(io::Error::other)?;
    get_json_with_token(state.port, "/browsers", &token).await
}

/// Fails if the relay is suspended, or hangs.
pub async fn check_responds(state: State) -> Result<(), Error> {
    let State { port, pid } = state;
    match get_json::<RelayStatus>(port, "/").await {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(tabwire_mcp::Error::SilentRelay { port, pid }.into())
        }
        _ => Ok(()),
    }
}

pub async fn launch(
    home: &Home,
    state: State,
    options: &LaunchOptions,
) -> Result<LaunchReport, Error> {
    let launched = control::launch(state.port, &Token::load(home)?, options).await;
    launched.map_err(refused)
}

pub async fn restart(home: &Home, state: State, name: Option<&str>) -> Result<LaunchReport, Error> {
    let restarted = control::restart(state.port, &Token::load(home)?, name).await;
    restarted.map_err(refused)
}

pub async fn stop_browser(home: &Home, state: State, name: Option<&str>) -> Result<Stopped, Error> {
    let stopped = control::stop_browser(state.port, &Token::load(home)?, name).await;
    stopped.map_err(refused)
}

/// Stops the browser that this report is about, unless that has happened already.
pub async fn stop_launched(home: &Home, state: State, report: &LaunchReport) -> Result<(), Error> {
    match control::stop_launched(state.port, &Token::load(home)?, report).await {
        Err(error) if Refusal::kind_of(&error) == RefusalKind::NotLaunched => Ok(()),
        stopped => stopped.map(drop).map_err(refused),
    }
}

/// Ends a launch that is under way.
pub async fn interrupt(home: &Home, state: State, options: &LaunchOptions) -> Result<(), Error> {
    let interrupted = control::interrupt(state.port, &Token::load(home)?, options).await;
    interrupted.map(drop).map_err(refused)
}

pub async fn open_port(
    home: &Home,
    state: State,
    options: &OpenPortOptions,
) -> Result<OpenedPort, Error> {
    let opened = open_port::open_port(state.port, &Token::load(home)?, options).await;
    opened.map_err(refused)
}

pub async fn close_port(home: &Home, state: State) -> Result<ClosedPort, Error> {
    let closed = open_port::close_port(state.port, &Token::load(home)?).await;
    closed.map_err(refused)
}

/// Returns when the relay has exited.
pub async fn stop_relay(home: &Home, state: State) -> Result<(), Error> {
    let asked = control::stop_relay(state.port, &Token::load(home)?).await;
    asked.map_err(refused)?;
    let exited = tokio::time::timeout(EXIT_TIMEOUT, exited(state)).await;
    exited.map_err(|_| Error::StopTimeout {
        state,
        seconds: EXIT_TIMEOUT.as_secs(),
    })
}

/// Resolves when the relay has exited.
pub async fn exited(state: State) {
    while state.is_alive() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut => Error::SilentRelay(error.to_string()),
        _ => Error::Relay(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_that_does_not_respond_comes_with_a_next_step() {
        let silent = io::Error::new(io::ErrorKind::TimedOut, "no response within 40 seconds");
        let text = refused(silent).to_string();
        assert!(
            text.starts_with("The relay is busy: no response within 40 seconds."),
            "{text}"
        );
        assert!(text.contains("`tabwire logs`"), "{text}");
        let refusal = io::Error::other("Another browser is called 'work'.");
        assert_eq!(
            refused(refusal).to_string(),
            "Another browser is called 'work'."
        );
    }
}
