//! What every HTTP handler and link shares.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::StatusCode;
use tabwire_home::{Home, PairingId, cdp_url};
use tokio::sync::{Notify, mpsc};

use crate::browser::launcher::Launcher;
use crate::browser::program::READY_TIMEOUT;
use crate::config::Config;
use crate::direct;
use crate::error::Error;
use crate::http::browser_query::not_found;
use crate::http::guard::{Refusal, refusal};
use crate::hub::HubReport;
use crate::link::backlog::Backlog;
use crate::link::lobby::Lobby;
use crate::log::Observer;
use crate::open_port::OpenPort;
use crate::registry::{Entry, Registry};
use crate::secrets::Secrets;

pub struct App {
    pub config: Config,
    pub secrets: Arc<Secrets>,
    pub registry: Arc<Registry>,
    pub launcher: Arc<Launcher>,
    pub lobby: Arc<Lobby>,
    pub backlog: Arc<Backlog>,
    pub open_port: OpenPort,
    /// A client with the token wants the relay to stop.
    pub stop_requested: Notify,
}

impl App {
    /// Also returns what hubs report.
    pub fn new(
        config: Config,
        home: &Home,
        observer: Observer,
    ) -> Result<(Arc<Self>, mpsc::UnboundedReceiver<HubReport>), Error> {
        let modes = (config.browser_mode, config.client_mode);
        let limits = direct::Limits {
            max_message: config.max_message,
            outbox: config.outbox_limit,
        };
        let (registry, reports) = Registry::new(modes, config.core.clone(), limits, observer);
        let registry = Arc::new(registry);
        let launcher = Launcher::new(home, config.port, registry.clone(), config.launch.clone());
        let app = Self {
            secrets: Arc::new(Secrets::open(home)?),
            lobby: Arc::default(),
            backlog: Arc::default(),
            open_port: OpenPort::new(),
            stop_requested: Notify::new(),
            registry,
            launcher: Arc::new(launcher),
            config,
        };
        Ok((Arc::new(app), reports))
    }

    /// The browser that a client asks for. Launches one if that is wanted and none is connected.
    pub async fn browser(&self, name: Option<&str>) -> Result<Entry, Refusal> {
        let found = self.registry.find(name);
        let is_ready = |entry: &Entry| entry.connections.extension_ready.load(Ordering::Relaxed);
        if found.as_ref().is_ok_and(is_ready) {
            return found.map_err(|reason| not_found(&reason));
        }
        let own = found
            .as_ref()
            .ok()
            .and_then(|own| own.connections.pairing());
        let own = own.filter(|own| self.launcher.relaunches(own));
        if own.is_none() && !self.launcher.launches(name) {
            return found.map_err(|reason| not_found(&reason));
        }
        let launcher = self.launcher.clone();
        let outcome = on_its_own(async move { launcher.ensure_for(own.as_ref()).await }).await;
        outcome.map_err(|error| {
            let error = format!("Cannot start a browser. {error}");
            refusal(StatusCode::SERVICE_UNAVAILABLE, &error)
        })?;
        self.registry
            .find(name)
            .map_err(|reason| not_found(&reason))
    }

    /// As `browser`, but does not wait until a browser that has proven who it is has listed its tabs:
    /// what the client sends in the meantime waits for that.
    pub async fn browser_for_socket(&self, name: Option<&str>) -> Result<Entry, Refusal> {
        tokio::select! {
            biased;
            entry = self.registry.proven(name) => Ok(entry),
            found = self.browser(name) => found,
        }
    }

    /// How long the relay may take to launch a browser again. `None`: it does not.
    pub fn launch_timeout(&self, pairing: Option<&PairingId>) -> Option<Duration> {
        let relaunches = pairing.is_some_and(|own| self.launcher.relaunches(own));
        let own = relaunches.then_some(READY_TIMEOUT);
        own.or(self.config.core.launch_timeout)
    }

    /// Contains the token: never log it. `None` while there is no usable token.
    pub fn cdp_url(&self, browser: Option<&str>) -> Option<String> {
        let (token, _) = self.secrets.token();
        token.map(|token| cdp_url(self.config.port, &token, browser))
    }
}

/// Finishes what was begun, also if whoever asked for it has disconnected.
pub async fn on_its_own<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(Error::HubEnded(error.to_string())))
}
