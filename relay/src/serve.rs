//! `tabwire serve`: the relay from its files to its last words.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tabwire_mcp::state::State;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::cli::ServeOptions;
use crate::config::Config;
use crate::home::{Claim, Home};
use crate::hub::ToHub;
use crate::server::{self, App};
use crate::token::Token;
use crate::{bundle, peer};

/// A relay that takes connections.
pub struct Relay {
    pub app: Arc<App>,
    pub home: Home,
    pub cdp_url_file: Option<std::path::PathBuf>,
    port: u16,
    /// None where another relay of the home lives: the files are that one's.
    claim: Option<Claim>,
    accepting: JoinHandle<()>,
    hub: JoinHandle<()>,
}

pub async fn run(options: &ServeOptions) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::new()?;
    let mut relay = Relay::start(options).await?;
    let url = match (&relay.cdp_url_file, &relay.claim) {
        (Some(file), _) => format!(
            "in {} (whoever reads it drives your browser)",
            file.display()
        ),
        (None, Some(_)) => "not written to a file, as asked".to_owned(),
        (None, None) => format!(
            "not written to a file: this home's files stay with {}",
            relay.home.holder()
        ),
    };
    let (port, mode) = (relay.port(), relay.app.config.client_mode.name());
    say!(
        "Tabwire relay on 127.0.0.1:{port}, {mode}.\nCDP URL: {url}.\nExtension: waiting for {}. Ctrl-C stops.",
        bundle::EXTENSION_ID
    );
    let outcome = tokio::select! {
        () = stop.recv() => Ok(ExitCode::SUCCESS),
        error = relay.failed() => Err(error),
    };
    relay.stop().await;
    outcome
}

impl Relay {
    pub async fn start(options: &ServeOptions) -> anyhow::Result<Self> {
        let home = Home::open()?;
        let token = Token::of(&home)?;
        let listener = server::bind(options.port)
            .await
            .map_err(|error| explain_bind(options.port, error))?;
        let port = listener.local_addr()?.port();
        let (app, hub) = App::new(Config::new(options, port, token)?);
        let claim = home.claim()?;
        let cdp_url = app.cdp_url();
        let cdp_url = (claim.is_some() && !options.no_cdp_url_file).then_some(cdp_url.as_str());
        if let Some(claim) = &claim {
            claim.write(
                State {
                    port,
                    pid: std::process::id(),
                },
                cdp_url,
            )?;
        }
        let cdp_url_file = cdp_url.map(|_| home.cdp_url_file());
        let accepting = tokio::spawn(server::accept(
            listener,
            server::routes(&app),
            server::HTTP_CONNECTION_WITHIN,
        ));
        tracing::info!(port, "listening on 127.0.0.1");
        Ok(Self {
            app,
            home,
            cdp_url_file,
            port,
            claim,
            accepting,
            hub,
        })
    }

    /// Comes only when the relay cannot go on: a fault of its own in the hub.
    pub async fn failed(&mut self) -> anyhow::Error {
        let ended = (&mut self.hub).await;
        anyhow!(
            "the relay's hub ended ({}); this is a fault in Tabwire",
            ended
                .err()
                .map_or_else(|| "no reason".to_owned(), |error| error.to_string())
        )
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// No new connections, a word to those that are there, and no file left that says a relay runs.
    pub async fn stop(self) {
        tracing::info!("stopping");
        self.accepting.abort();
        if let Some(claim) = self.claim {
            claim.give_up();
        }
        let (done, stopped) = tokio::sync::oneshot::channel();
        if self.app.hub.send(ToHub::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
        self.app.registry.close_all("the relay is stopping");
        let all_gone = async {
            while self.app.registry.client_count() > 0
                || self.app.registry.extension_link().is_some()
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), all_gone).await;
    }
}

pub fn explain_bind(port: u16, error: std::io::Error) -> anyhow::Error {
    if error.kind() == std::io::ErrorKind::AddrInUse {
        let holder = peer::holder_of(port).unwrap_or_else(|| {
            format!("another program (`lsof -nP -iTCP:{port} -sTCP:LISTEN` tells which)")
        });
        return anyhow!(
            "port {port} is in use by {holder}. If that is a relay, `tabwire status` shows it; else choose another with --port. Nothing was stopped"
        );
    }
    anyhow::Error::from(error).context(format!("cannot listen on 127.0.0.1:{port}"))
}

/// Ctrl-C, a polite `kill`, or a terminal that is closed.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl StopSignals {
    pub fn new() -> anyhow::Result<Self> {
        let signals = || -> std::io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup: ends_with_terminal()
                    .then(|| signal(SignalKind::hangup()))
                    .transpose()?,
            })
        };
        signals().context("cannot listen for signals")
    }

    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = async {
                match &mut self.hangup {
                    Some(hangup) => drop(hangup.recv().await),
                    None => std::future::pending().await,
                }
            } => {}
        }
    }
}

/// Not if it was started by `nohup`, which has the signal ignored; only Linux tells.
fn ends_with_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 0)
}
