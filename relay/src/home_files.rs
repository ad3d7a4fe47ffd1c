//! The files that say where the relay is, and its log. Only the relay that owns the home writes them. Another
//! one of the same home takes over some time after the owner has ended.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tabwire_home::{Claim, Home, State};

use crate::app::App;
use crate::error::Error;
use crate::log::{self, Log};

const TAKEOVER_INTERVAL: Duration = Duration::from_secs(1);
/// How often the owner has to be missing. One that is only restarted gets its files back.
const TAKEOVER_CHECKS: u32 = 3;

pub struct HomeFiles {
    home: Home,
    log: Log,
    writes_cdp_url: bool,
    /// Empty while another relay owns the home.
    claim: OnceLock<Claim>,
}

impl HomeFiles {
    pub fn new(home: Home, log: Log, writes_cdp_url: bool) -> Self {
        Self {
            home,
            log,
            writes_cdp_url,
            claim: OnceLock::new(),
        }
    }

    /// Claims the home, and opens its log. Returns whether this relay owns it.
    pub fn claim(&self) -> Result<bool, Error> {
        let Some(claim) = self.home.claim()? else {
            return Ok(false);
        };
        if let Err(error) = self.log.open(&self.home) {
            log::warn(&self.home, &error);
        }
        let _ = self.claim.set(claim);
        Ok(true)
    }

    pub fn is_owner(&self) -> bool {
        self.claim.get().is_some()
    }

    /// `None`: this relay has not written one.
    pub fn cdp_url_file(&self) -> Option<PathBuf> {
        (self.is_owner() && self.writes_cdp_url).then(|| self.home.cdp_url_file())
    }

    /// Publishes where the relay is, if it owns the home.
    pub fn write(&self, app: &App) -> Result<(), Error> {
        let Some(claim) = self.claim.get() else {
            return Ok(());
        };
        let url = app.cdp_url(None).filter(|_| self.writes_cdp_url);
        let (port, pid) = (app.config.port, std::process::id());
        Ok(claim.write(State { port, pid }, url.as_deref())?)
    }

    /// Writes the URL with a new token. Returns whether there is nothing left to write.
    pub fn write_token(&self, app: &App) -> bool {
        let Some(claim) = self.claim.get().filter(|_| self.writes_cdp_url) else {
            return true;
        };
        let Some(url) = app.cdp_url(None) else {
            return false;
        };
        let written = claim.write_cdp_url(&url);
        match &written {
            Ok(()) => tracing::info!("the token was replaced"),
            Err(error) => tracing::warn!(%error, "cannot publish the new token"),
        }
        written.is_ok()
    }

    /// Waits until the owner has ended and no other relay has taken its place, and publishes this one.
    pub async fn take_over(&self, app: &App) {
        let mut missing = 0;
        let mut has_failed = false;
        while !self.is_owner() {
            tokio::time::sleep(TAKEOVER_INTERVAL).await;
            missing = match self.home.running_relay() {
                Some(_) => 0,
                None => missing + 1,
            };
            if missing < TAKEOVER_CHECKS {
                continue;
            }
            match self.claim() {
                Ok(false) => {}
                Ok(true) => tracing::info!("this home's files belong to this relay now"),
                Err(error) if !has_failed => {
                    has_failed = true;
                    tracing::warn!(%error, "cannot take over this home's files");
                }
                Err(_) => {}
            }
        }
        if let Err(error) = self.write(app) {
            tracing::warn!(%error, "cannot publish where this relay is");
        }
    }

    pub fn release(&self) {
        if let Some(claim) = self.claim.get() {
            claim.release();
        }
    }
}
