//! A relay's life cycle: open the home, bind, publish its files, accept connections, and undo all
//! of it at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tabwire_home::Home;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::browser::leftovers;
use crate::config::Config;
use crate::direct;
use crate::error::Error;
use crate::file_limit;
use crate::home_files::HomeFiles;
use crate::http::listener::{self, Places, Serving};
use crate::http::peer::Owners;
use crate::http::routes;
use crate::hub::{HubReport, ToHub};
use crate::log::{Log, Observer};
use crate::open_port::{Closing, OpenPort};

/// How long links may take to close when the relay stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the relay looks for changes of its token and its paired browsers. A request notices a
/// change by itself; this is for what is connected already.
const SECRETS_INTERVAL: Duration = Duration::from_millis(250);

const POLICY_VIOLATION: u16 = 1008;
const TOKEN_REPLACED: &str =
    "The token was replaced. Connect again with the URL that `tabwire cdp-url` prints.";

/// What to start, apart from the configuration of the relay itself.
pub struct Start {
    pub home: Home,
    pub port: u16,
    pub writes_cdp_url: bool,
    /// A browser that is used through its own debugging port.
    pub direct: Option<direct::Browser>,
    pub log: Log,
    /// For the messages that pass through hubs.
    pub observer: Observer,
}

/// A relay that accepts connections.
pub struct Relay {
    pub app: Arc<App>,
    pub home: Home,
    pub files: Arc<HomeFiles>,
    tasks: Vec<JoinHandle<()>>,
    /// Why the relay cannot continue.
    failure: oneshot::Receiver<Error>,
}

impl Relay {
    /// `configure` gets the port that is bound, which differs from the requested one if that is 0.
    pub async fn start(
        start: Start,
        configure: impl FnOnce(u16) -> Result<Config, Error>,
    ) -> Result<Self, Error> {
        let home = start.home;
        file_limit::raise();
        let listener = listener::bind(start.port, "--port").await?;
        let port = listener.local_addr()?.port();
        let config = configure(port)?;
        let (app, reports) = App::new(config, &home, start.observer)?;
        let files = Arc::new(HomeFiles::new(
            home.clone(),
            start.log,
            start.writes_cdp_url,
        ));
        let mut left = Vec::new();
        if files.claim()? {
            left = leftovers::find_all(&home).await;
            files.write(&app)?;
        }
        // After the log is open, so that it has the browser's first states.
        if let Some(browser) = start.direct {
            app.registry.add_direct(Arc::new(browser));
        }
        let serving = Serving {
            routes: routes::routes(&app),
            http_timeout: routes::CONNECTION_TIMEOUT,
            owners: Owners::WithProof,
            places: Places::new(),
        };
        let accepting = listener::accept(listener, serving);
        let (failed, failure) = oneshot::channel();
        let tasks = vec![
            tokio::spawn(accepting),
            tokio::spawn(watch_secrets(app.clone(), files.clone())),
            tokio::spawn(take_over(app.clone(), files.clone())),
            tokio::spawn(handle_reports(app.clone(), reports, failed)),
            tokio::spawn(remove_leftovers(home.clone(), left)),
        ];
        tracing::info!(port, "listening on 127.0.0.1");
        Ok(Self {
            app,
            home,
            files,
            tasks,
            failure,
        })
    }

    pub fn port(&self) -> u16 {
        self.app.config.port
    }

    /// Resolves only if the relay cannot continue: a hub failed, or its only browser is gone.
    pub async fn failed(&mut self) -> Error {
        let error = (&mut self.failure).await;
        let error = error.unwrap_or_else(|_| Error::HubEnded(String::new()));
        tracing::error!(%error, "the relay cannot continue");
        error
    }

    /// Accepts nothing more, removes its files, detaches from tabs, and closes every link.
    pub async fn stop(self) {
        tracing::info!("stopping");
        self.app.launcher.close();
        for task in &self.tasks {
            task.abort();
        }
        self.files.release();
        OpenPort::close(&self.app, Closing::RelayStops).await;
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
        self.app.launcher.stop_all().await;
        self.app.registry.observer.close();
    }
}

/// If another relay owns the home.
async fn take_over(app: Arc<App>, files: Arc<HomeFiles>) {
    if !files.is_owner() {
        files.take_over(&app).await;
    }
}

/// A browser may take a while to exit. Whoever has started this relay waits for its answer meanwhile.
async fn remove_leftovers(home: Home, left: Vec<PathBuf>) {
    leftovers::remove_all(&home, left).await;
}

/// Launches a browser for hubs whose clients need one, and waits for what ends the relay.
async fn handle_reports(
    app: Arc<App>,
    mut reports: mpsc::UnboundedReceiver<HubReport>,
    failed: oneshot::Sender<Error>,
) {
    while let Some(report) = reports.recv().await {
        let hub = match report {
            HubReport::WantsBrowser(hub) => hub,
            HubReport::ClosePort => {
                OpenPort::close(&app, Closing::Popup).await;
                continue;
            }
            HubReport::Ended(error) => {
                let _ = failed.send(error);
                return;
            }
        };
        let app = app.clone();
        tokio::spawn(async move {
            let pairing = hub.upgrade().and_then(|hub| app.registry.pairing_of(&hub));
            if let Err(error) = app.launcher.ensure_for(pairing.as_ref()).await
                && let Some(hub) = hub.upgrade()
            {
                let _ = hub.send(ToHub::LaunchFailed(error.to_string())).await;
            }
        });
    }
}

/// Disconnects clients whose token was replaced and browsers that were unpaired, and publishes a new
/// token's URL.
async fn watch_secrets(app: Arc<App>, files: Arc<HomeFiles>) {
    let (_, mut published_generation) = app.secrets.token();
    let mut known_generation = published_generation;
    loop {
        tokio::time::sleep(SECRETS_INTERVAL).await;
        let (_, generation) = app.secrets.token();
        if generation != known_generation {
            // Whoever replaces the token wants everyone to leave.
            OpenPort::close(&app, Closing::TokenReplaced).await;
            known_generation = generation;
        }
        OpenPort::close_late_clients(&app);
        if generation != published_generation && files.write_token(&app) {
            published_generation = generation;
        }
        // Each time, because a client may have connected in the middle of a change.
        for entry in app.registry.entries() {
            let clients = &entry.connections.clients;
            clients.close_older_than(generation, POLICY_VIOLATION, TOKEN_REPLACED);
        }
        let registry = &app.registry;
        app.secrets
            .with_pairings(|pairings| registry.apply_pairings(pairings));
    }
}
