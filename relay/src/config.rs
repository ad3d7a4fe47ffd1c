//! The relay's configuration, combined from the command line and the environment once at start.

use std::time::Duration;

use clap::ValueEnum;
use tabwire_home::control::LaunchOptions;

use crate::error::Error;

pub struct Config {
    /// The port that is bound.
    pub port: u16,
    pub client_mode: ClientMode,
    pub browser_mode: BrowserMode,
    /// The extensions that may connect.
    pub extension_ids: Vec<String>,
    /// Also serve extensions that do not prove who they are. For tests.
    pub allow_unpaired: bool,
    /// Launch this browser when a client needs one.
    pub launch: Option<LaunchOptions>,
    /// Serve `POST /command`.
    pub debug_http: bool,
    pub core: tabwire_core::Config,
    pub max_message: usize,
    /// How much may be queued for one peer. Beyond that it is disconnected.
    pub outbox_limit: usize,
    /// How long a client may be silent.
    pub client_timeout: Option<Duration>,
}

/// How many clients can use a browser at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientMode {
    SingleActive,
    MultiClient,
}

impl ClientMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleActive => "single-active",
            Self::MultiClient => "multi-client",
        }
    }

    /// The mode that the environment asks for. Set-ups that are older than this program use
    /// `BF_CLIENT_MODE`.
    pub fn from_env() -> Result<Self, Error> {
        for variable in ["TABWIRE_CLIENT_MODE", "BF_CLIENT_MODE"] {
            let value = std::env::var(variable).ok();
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                return Self::from_str(&value, true)
                    .map_err(|_| Error::ClientMode { variable, value });
            }
        }
        Ok(Self::SingleActive)
    }
}

/// How many browsers can be connected at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BrowserMode {
    /// One at a time
    One,
    /// Every paired browser; clients choose one by its name
    Many,
}

/// What happens to the tabs that a client created when it disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnDisconnect {
    /// Leave them open
    Keep,
    /// Close them, even if others use them
    CloseCreated,
}
