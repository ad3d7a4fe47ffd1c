//! What every HTTP handler and link shares.

use std::sync::Arc;

use tabwire_home::{Home, PairingId, cdp_url};
use tokio::sync::mpsc;

use crate::config::Config;
use crate::direct;
use crate::error::Error;
use crate::link::lobby::Lobby;
use crate::registry::Registry;
use crate::secrets::Secrets;

pub struct App {
    pub config: Config,
    pub secrets: Secrets,
    pub registry: Registry,
    pub lobby: Arc<Lobby>,
}

impl App {
    /// Also returns where failed hubs are reported.
    pub fn new(
        config: Config,
        home: &Home,
        preferred: Option<PairingId>,
    ) -> Result<(Arc<Self>, mpsc::UnboundedReceiver<Error>), Error> {
        let modes = (config.browser_mode, config.client_mode);
        let (registry, failed) = Registry::new(modes, config.core.clone(), preferred);
        let app = Self {
            secrets: Secrets::open(home)?,
            lobby: Arc::default(),
            registry,
            config,
        };
        Ok((Arc::new(app), failed))
    }

    /// Serves a browser that has a debugging port of its own.
    pub fn add_direct(&self, browser: direct::Browser) {
        let limits = direct::Limits {
            max_message: self.config.max_message,
            outbox: self.config.outbox_limit,
        };
        self.registry.add_direct(browser, limits);
    }

    /// Contains the token: never log it. `None` while there is no usable token.
    pub fn cdp_url(&self, browser: Option<&str>) -> Option<String> {
        let (token, _) = self.secrets.token();
        token.map(|token| cdp_url(self.config.port, &token, browser))
    }
}
