//! What every HTTP handler and link shares: configuration, registry and the way to the hub.

use std::sync::Arc;

use tabwire_home::cdp_url;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::hub::{self, HubSender};
use crate::registry::Registry;

pub struct App {
    pub config: Config,
    pub registry: Arc<Registry>,
    pub hub: HubSender,
}

impl App {
    /// Also returns the hub's task. Nothing works without the hub, so the caller must watch it.
    pub fn new(config: Config) -> (Arc<Self>, JoinHandle<()>) {
        let registry = Registry::new(config.client_mode);
        let (hub, task) = hub::start(config.core.clone(), registry.clone());
        let app = Self {
            config,
            registry,
            hub,
        };
        (Arc::new(app), task)
    }

    /// Contains the token: never log it.
    pub fn cdp_url(&self) -> String {
        cdp_url(self.config.port, &self.config.token)
    }
}
