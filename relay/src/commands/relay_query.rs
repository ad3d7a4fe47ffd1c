//! Queries that commands send to this home's running relay.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tabwire_home::{BrowserReport, Home, State, Token, get_json_with_token, post_json};

use crate::browser::launcher::{LaunchOptions, LaunchReport};
use crate::error::Error;
use crate::http::control::{BrowserChoice, Stopped};

/// How long a relay may take to exit after it was asked to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The browsers that have connected, with their clients. `None`: no relay is running, or it does not
/// respond.
pub async fn browsers(home: &Home) -> Option<Vec<BrowserReport>> {
    // Only the relay that owns the home is sent the token.
    let state = home.running_relay()?;
    let token = Token::load(home).ok()?;
    get_json_with_token(state.port, "/browsers", &token)
        .await
        .ok()
}

pub async fn launch(
    home: &Home,
    state: State,
    options: &LaunchOptions,
) -> Result<LaunchReport, Error> {
    post(home, state, "/launch", options).await
}

pub async fn restart(home: &Home, state: State, name: Option<&str>) -> Result<LaunchReport, Error> {
    post(home, state, "/restart", &choice(name)).await
}

/// Returns the name of the browser.
pub async fn stop_browser(home: &Home, state: State, name: Option<&str>) -> Result<String, Error> {
    let stopped: Stopped = post(home, state, "/stop", &choice(name)).await?;
    Ok(stopped.name.unwrap_or_default())
}

/// Returns when the relay has exited.
pub async fn stop_relay(home: &Home, state: State) -> Result<(), Error> {
    let choice = BrowserChoice {
        relay: true,
        ..BrowserChoice::default()
    };
    let _: Stopped = post(home, state, "/stop", &choice).await?;
    let exited = async {
        while state.is_alive() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let exited = tokio::time::timeout(EXIT_TIMEOUT, exited).await;
    exited.map_err(|_| Error::Relay(format!("{state} does not exit")))
}

fn choice(name: Option<&str>) -> BrowserChoice {
    BrowserChoice {
        name: name.map(str::to_owned),
        relay: false,
    }
}

async fn post<T: DeserializeOwned>(
    home: &Home,
    state: State,
    path: &str,
    body: &impl Serialize,
) -> Result<T, Error> {
    let token = Token::load(home)?;
    let body = serde_json::json!(body).to_string();
    let response = post_json(state.port, path, &token, &body).await;
    response.map_err(|error| Error::Relay(error.to_string()))
}
