//! A relay's life cycle: open the home, bind, publish its files, accept connections, and undo all
//! of it at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tabwire_home::{Claim, Home, State, Token};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::commands::serve::ServeOptions;
use crate::config::Config;
use crate::error::Error;
use crate::http::{listener, routes};
use crate::hub::ToHub;

/// How long links may take to close when the relay stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A relay that accepts connections.
pub struct Relay {
    pub app: Arc<App>,
    pub home: Home,
    /// `None`: no CDP URL was written.
    pub cdp_url_file: Option<PathBuf>,
    /// `None`: another relay owns the home's files.
    claim: Option<Claim>,
    accepting: JoinHandle<()>,
    hub: JoinHandle<()>,
}

impl Relay {
    pub async fn start(options: &ServeOptions) -> Result<Self, Error> {
        let home = Home::open()?;
        let token = Token::load_or_create(&home)?;
        let listener = listener::bind(options.port).await?;
        let port = listener.local_addr()?.port();
        let (app, hub) = App::new(Config::new(options, port, token)?);
        let claim = home.claim()?;
        let mut cdp_url_file = None;
        if let Some(claim) = &claim {
            let url = (!options.no_cdp_url_file).then(|| app.cdp_url());
            let pid = std::process::id();
            claim.write(State { port, pid }, url.as_deref())?;
            cdp_url_file = url.map(|_| home.cdp_url_file());
        }
        let accepting = tokio::spawn(listener::accept(
            listener,
            routes::routes(&app),
            routes::CONNECTION_TIMEOUT,
        ));
        tracing::info!(port, "listening on 127.0.0.1");
        Ok(Self {
            app,
            home,
            cdp_url_file,
            claim,
            accepting,
            hub,
        })
    }

    pub fn port(&self) -> u16 {
        self.app.config.port
    }

    pub fn owns_home(&self) -> bool {
        self.claim.is_some()
    }

    pub async fn extension_ready(&self) {
        while !self.app.registry.extension_ready.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Resolves only if the relay cannot continue, because its hub failed.
    pub async fn failed(&mut self) -> Error {
        let ended = (&mut self.hub).await;
        Error::HubEnded(ended.err().map_or_else(
            || "its hub ended".to_owned(),
            |error| format!("its hub ended: {error}"),
        ))
    }

    /// Accepts nothing more, removes its files, detaches from tabs, and closes every link.
    pub async fn stop(self) {
        tracing::info!("stopping");
        self.accepting.abort();
        if let Some(claim) = self.claim {
            claim.release();
        }
        let (done, stopped) = oneshot::channel();
        if self.app.hub.send(ToHub::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
        let registry = &self.app.registry;
        registry.close_all("The relay is stopping.");
        let all_closed = async {
            while registry.client_count() > 0 || registry.extension_link().is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, all_closed).await;
    }
}
