//! What the relay runs with: the command line and the environment, brought together once.

use std::time::Duration;

use clap::ValueEnum;

use crate::bundle;
use crate::cli::{ClientMode, OnDisconnect, ServeOptions};
use crate::token::Token;

/// How much may wait for one client that does not read before it is closed.
const OUTBOX_LIMIT: usize = 256 << 20;

pub struct Config {
    pub port: u16,
    pub client_mode: ClientMode,
    /// The extensions that are let in, by id.
    pub extension_ids: Vec<String>,
    pub core: tabwire_core::Config,
    pub max_message: usize,
    pub outbox_limit: usize,
    pub token: Token,
}

impl Config {
    /// `port` is the one that is bound: `--port 0` has become a number by now.
    pub fn new(options: &ServeOptions, port: u16, token: Token) -> anyhow::Result<Self> {
        let mut extension_ids = vec![bundle::EXTENSION_ID.to_owned()];
        extension_ids.extend(options.extension_ids.iter().cloned());
        let max_message = usize::try_from(options.max_message_mib)? << 20;
        let client_mode = options
            .client_mode
            .map_or_else(client_mode_of_environment, Ok)?;
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
        // The ids that one client has must not be guessed by another.
        ..tabwire_core::Config::new(rand::random())
    }
}

/// `BF_CLIENT_MODE` is the name of set-ups older than this program.
fn client_mode_of_environment() -> anyhow::Result<ClientMode> {
    for name in ["TABWIRE_CLIENT_MODE", "BF_CLIENT_MODE"] {
        if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
            return ClientMode::from_str(&value, true).map_err(|_| {
                anyhow::anyhow!("{name} is '{value}'; it can be single-active or multi-client")
            });
        }
    }
    Ok(ClientMode::SingleActive)
}
