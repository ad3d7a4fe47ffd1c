//! A relay's life cycle: open the home, bind, publish its files, accept connections, and undo all
//! of it at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tabwire_home::{Claim, Home, PairingId, State};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::config::Config;
use crate::direct;
use crate::error::Error;
use crate::http::{listener, routes};
use crate::hub::ToHub;

/// How long links may take to close when the relay stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the relay checks whether its token and its pairings have changed. Requests notice a
/// change themselves; this is for existing connections.
const SECRETS_INTERVAL: Duration = Duration::from_millis(250);

const POLICY_VIOLATION: u16 = 1008;

/// What to start, apart from the configuration of the relay itself.
pub struct Start {
    pub home: Home,
    pub port: u16,
    pub writes_cdp_url: bool,
    /// The pairing of a browser that is started together with the relay.
    pub preferred: Option<PairingId>,
    /// A browser that is used through its own debugging port.
    pub direct: Option<direct::Browser>,
}

/// A relay that accepts connections.
pub struct Relay {
    pub app: Arc<App>,
    pub home: Home,
    /// `None`: no CDP URL was written.
    pub cdp_url_file: Option<PathBuf>,
    /// `None`: another relay owns the home's files.
    claim: Option<Arc<Claim>>,
    tasks: Vec<JoinHandle<()>>,
    failures: mpsc::UnboundedReceiver<Error>,
}

impl Relay {
    /// `configure` gets the port that is bound, which differs from the requested one if that is 0.
    pub async fn start(
        start: Start,
        configure: impl FnOnce(u16) -> Result<Config, Error>,
    ) -> Result<Self, Error> {
        let home = start.home;
        let listener = listener::bind(start.port).await?;
        let port = listener.local_addr()?.port();
        let (app, failures) = App::new(configure(port)?, &home, start.preferred)?;
        if let Some(browser) = start.direct {
            app.add_direct(browser);
        }
        let claim = home.claim()?.map(Arc::new);
        let mut cdp_url_file = None;
        if let Some(claim) = &claim {
            let url = app.cdp_url(None).filter(|_| start.writes_cdp_url);
            let pid = std::process::id();
            claim.write(State { port, pid }, url.as_deref())?;
            cdp_url_file = url.map(|_| home.cdp_url_file());
        }
        let accepting =
            listener::accept(listener, routes::routes(&app), routes::CONNECTION_TIMEOUT);
        let published = claim.clone().filter(|_| cdp_url_file.is_some());
        let tasks = vec![
            tokio::spawn(accepting),
            tokio::spawn(watch_secrets(app.clone(), published)),
        ];
        tracing::info!(port, "listening on 127.0.0.1");
        Ok(Self {
            app,
            home,
            cdp_url_file,
            claim,
            tasks,
            failures,
        })
    }

    pub fn port(&self) -> u16 {
        self.app.config.port
    }

    pub fn owns_home(&self) -> bool {
        self.claim.is_some()
    }

    /// Waits until the browser with this pairing has listed its tabs. Returns how many it has.
    pub async fn browser_ready(&self, pairing: &PairingId) -> usize {
        loop {
            for entry in self.app.registry.entries() {
                let connections = entry.connections;
                if connections.extension_ready.load(Ordering::Relaxed)
                    && connections.pairing().as_ref() == Some(pairing)
                {
                    return connections.pages.load(Ordering::Relaxed);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Resolves only if the relay cannot continue: a hub failed, or its only browser is gone.
    pub async fn failed(&mut self) -> Error {
        let error = self.failures.recv().await;
        error.unwrap_or_else(|| Error::HubEnded(String::new()))
    }

    /// Stops accepting connections, removes its files, detaches from tabs, and closes every link.
    pub async fn stop(self) {
        tracing::info!("stopping");
        for task in &self.tasks {
            task.abort();
        }
        if let Some(claim) = self.claim {
            claim.release();
        }
        let entries = self.app.registry.entries();
        for entry in &entries {
            let (done, stopped) = oneshot::channel();
            if entry.hub.send(ToHub::Stop(done)).await.is_ok() {
                let _ = stopped.await;
            }
            entry.connections.close_all("The relay is stopping.");
        }
        let is_open = || {
            entries.iter().any(|entry| {
                entry.connections.client_count() > 0 || entry.connections.extension_link().is_some()
            })
        };
        let all_closed = async {
            while is_open() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, all_closed).await;
    }
}

/// Disconnects clients whose token was replaced and browsers that were unpaired, and publishes a new
/// token's URL.
async fn watch_secrets(app: Arc<App>, published: Option<Arc<Claim>>) {
    let (_, mut generation) = app.secrets.token();
    loop {
        tokio::time::sleep(SECRETS_INTERVAL).await;
        let (_, current) = app.secrets.token();
        if current != generation {
            generation = current;
            on_token_replaced(&app, current, published.as_deref());
        }
        if let Some(pairings) = app.secrets.changed_pairings() {
            app.registry.on_pairings_changed(&pairings);
        }
    }
}

fn on_token_replaced(app: &App, generation: u64, published: Option<&Claim>) {
    tracing::info!("the token was replaced");
    for entry in app.registry.entries() {
        entry.connections.clients.close_older_than(
            generation,
            POLICY_VIOLATION,
            "The token was replaced. Connect again with the URL that `tabwire cdp-url` prints.",
        );
    }
    if let Some((claim, url)) = published.zip(app.cdp_url(None))
        && let Err(error) = claim.write_cdp_url(&url)
    {
        tracing::warn!(%error, "cannot publish the new token");
    }
}
