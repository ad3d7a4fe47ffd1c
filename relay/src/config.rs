//! The relay's configuration: command line and environment, combined once at start.

use std::time::Duration;

use clap::ValueEnum as _;
use tabwire_home::Token;

use crate::browser::bundle;
use crate::commands::serve::{ClientMode, OnDisconnect, ServeOptions};
use crate::error::Error;

/// How much may be queued for a client that does not read. Beyond that it is disconnected.
const OUTBOX_LIMIT: usize = 256 << 20;

pub struct Config {
    pub port: u16,
    pub client_mode: ClientMode,
    /// The extensions that may connect.
    pub extension_ids: Vec<String>,
    pub core: tabwire_core::Config,
    pub max_message: usize,
    pub outbox_limit: usize,
    pub token: Token,
}

impl Config {
    /// `port` is the one that is bound, which differs from the option with `--port 0`.
    pub fn new(options: &ServeOptions, port: u16, token: Token) -> Result<Self, Error> {
        let mut extension_ids = vec![bundle::EXTENSION_ID.to_owned()];
        extension_ids.extend(options.extension_ids.iter().cloned());
        let max_message = (options.max_message_mib as usize) << 20;
        let client_mode = options.client_mode.map_or_else(client_mode_from_env, Ok)?;
        Ok(Self {
            port,
            client_mode,
            extension_ids,
            core: core_config(options),
            max_message,
            outbox_limit: OUTBOX_LIMIT.max(max_message),
            token,
        })
    }
}

fn core_config(options: &ServeOptions) -> tabwire_core::Config {
    tabwire_core::Config {
        command_timeout: Duration::from_secs(options.command_timeout.into()),
        tab_call_timeout: Duration::from_secs(options.attach_timeout.into()),
        on_disconnect: match options.on_disconnect {
            OnDisconnect::Keep => tabwire_core::OnDisconnect::Keep,
            OnDisconnect::CloseCreated => tabwire_core::OnDisconnect::CloseCreated,
        },
        // One client must not be able to guess another's ids.
        ..tabwire_core::Config::new(rand::random())
    }
}

fn client_mode_from_env() -> Result<ClientMode, Error> {
    // Set-ups that are older than this program use `BF_CLIENT_MODE`.
    for variable in ["TABWIRE_CLIENT_MODE", "BF_CLIENT_MODE"] {
        let value = std::env::var(variable).ok();
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            return ClientMode::from_str(&value, true)
                .map_err(|_| Error::ClientMode { variable, value });
        }
    }
    Ok(ClientMode::SingleActive)
}
