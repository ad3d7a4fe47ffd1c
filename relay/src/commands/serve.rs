//! `tabwire serve`: runs a relay in the foreground until a signal stops it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tabwire_home::DEFAULT_PORT;

use crate::browser::bundle;
use crate::error::Error;
use crate::relay::Relay;
use crate::signals::StopSignals;

#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// Port on 127.0.0.1 to listen on; 0 picks a free one
    #[arg(long, default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// One client at a time, or several at once [env: TABWIRE_CLIENT_MODE, BF_CLIENT_MODE; default:
    /// single-active]
    #[arg(long, value_enum)]
    pub client_mode: Option<ClientMode>,
    /// Also allow the extension with this id; can be repeated
    #[arg(long = "extension-id", value_name = "ID", value_parser = extension_id)]
    pub extension_ids: Vec<String>,
    /// Do not write the CDP URL to a file
    #[arg(long)]
    pub no_cdp_url_file: bool,
    /// What to do with the tabs a client created when it disconnects. Your own tabs are never
    /// closed
    #[arg(long, value_enum, default_value_t = OnDisconnect::Keep)]
    pub on_disconnect: OnDisconnect,
    /// Seconds a page may stay unresponsive before a command to it fails
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub command_timeout: u32,
    /// Seconds the browser may take to attach its debugger to a tab, or to create or close one
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub attach_timeout: u32,
    /// Largest message accepted from a client or the extension, in MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_message_mib: u32,
}

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnDisconnect {
    /// Leave them open
    Keep,
    /// Close them, even if others use them
    CloseCreated,
}

pub async fn run(options: &ServeOptions) -> Result<ExitCode, Error> {
    let mut stop = StopSignals::new()?;
    let mut relay = Relay::start(options).await?;
    print_line!(
        "Tabwire relay on 127.0.0.1:{}, {}.\nCDP URL: {}.\nExtension: waiting for {}.\nPress Ctrl-C to stop.",
        relay.port(),
        relay.app.config.client_mode.name(),
        describe_cdp_url(&relay),
        bundle::EXTENSION_ID
    );
    let outcome = tokio::select! {
        () = stop.recv() => Ok(ExitCode::SUCCESS),
        error = relay.failed() => Err(error),
    };
    relay.stop().await;
    outcome
}

fn describe_cdp_url(relay: &Relay) -> String {
    match &relay.cdp_url_file {
        Some(file) => format!(
            "in {} (keep it secret: it controls your browser)",
            file.display()
        ),
        None if relay.owns_home() => "not written to a file, as requested".to_owned(),
        None => format!(
            "not written to a file: this home's files belong to {}",
            relay.home.owner()
        ),
    }
}

/// Chrome's extension ids are 32 letters from a to p.
fn extension_id(text: &str) -> Result<String, String> {
    let is_valid = text.len() == 32 && text.bytes().all(|b| (b'a'..=b'p').contains(&b));
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("an extension id has 32 letters from a to p; see chrome://extensions".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_chromes_extension_ids() {
        assert!(extension_id(&"abcdefghijklmnop".repeat(2)).is_ok());
        assert!(extension_id("*").is_err());
        assert!(extension_id(&"q".repeat(32)).is_err());
    }
}
