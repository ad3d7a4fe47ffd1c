//! The browser that is launched when a client needs one.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tabwire_home::PairingId;
use tabwire_home::control::{LaunchReport, Ownership};

use super::Launcher;
use crate::browser::detect;
use crate::browser::launched::{Launched, is_same};
use crate::error::Error;
use crate::registry::Switch;

const EXIT_POLL: Duration = Duration::from_millis(500);

/// What a browser was called when it was launched, and its pairing.
pub(super) type Known = (String, Option<PairingId>);

impl Launcher {
    /// Whether a browser is launched when a client needs one.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// Whether a browser is launched for a client that asks for this one.
    pub fn launches(&self, name: Option<&str>) -> bool {
        let Some(options) = &self.on_demand else {
            return false;
        };
        let Some(name) = name else { return true };
        let launched = self.on_demand_name().clone();
        let launched = launched.map(|(name, pairing)| {
            let renamed = pairing.and_then(|pairing| self.registry.name_of(&pairing));
            renamed.unwrap_or(name)
        });
        let own = launched.or_else(|| options.name.clone()).or_else(|| {
            let browser = detect::choose(options.browser.as_deref());
            browser.ok().map(|browser| browser.name)
        });
        own.is_some_and(|own| is_same(&own, name))
    }

    fn on_demand_name(&self) -> MutexGuard<'_, Option<Known>> {
        self.on_demand_name
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ensures that the browser for clients is running and connected. Whoever asks at the same time
    /// gets the outcome of the same launch. `None` if there is no such browser.
    pub async fn ensure(&self) -> Result<Option<LaunchReport>, Error> {
        let Some(options) = &self.on_demand else {
            return Ok(None);
        };
        let ensuring = self.ensuring.run(async {
            let mut browsers = self.browsers().await;
            let restarts = self.restarts.load(Ordering::Relaxed);
            let mut outcome = self.ready(&mut browsers, options, Switch::AtOnce).await;
            let is_restarted = self.restarts.load(Ordering::Relaxed) != restarts;
            if is_restarted && matches!(outcome, Err(Error::BrowserStopped)) {
                drop(browsers);
                // The restart was queued first, so it has finished once we hold the lock.
                browsers = self.browsers().await;
                outcome = self.ready(&mut browsers, options, Switch::AtOnce).await;
            }
            let report = outcome?;
            let launched = browsers.iter().find(|own| own.id == report.id);
            let pairing = launched.and_then(Launched::pairing).cloned();
            *self.on_demand_name() = Some((report.name.clone(), pairing));
            Ok(report)
        });
        ensuring.await.map(Some)
    }

    /// Whether a browser that was launched explicitly is launched again when a client needs it. A relay
    /// that launches one by itself launches only that one for clients.
    pub fn relaunches(&self, pairing: &PairingId) -> bool {
        !self.is_on_demand() && self.ownership(pairing) == Some(Ownership::Launched)
    }

    /// As `ensure`, for whoever wants this browser.
    pub async fn ensure_for(&self, pairing: Option<&PairingId>) -> Result<(), Error> {
        if self.is_on_demand() {
            return self.ensure().await.map(drop);
        }
        let program = pairing.filter(|own| self.relaunches(own));
        let program = program.and_then(|own| self.extensions.owned.program(own));
        let (Some(pairing), Some(program)) = (pairing, program) else {
            return Err(Error::BrowserStopped);
        };
        let relaunching = program.relaunching.run(async {
            let restarts = self.restarts.load(Ordering::Relaxed);
            match self.relaunch(pairing).await {
                // The restart was queued first.
                Err(Error::BrowserStopped) if self.restarts.load(Ordering::Relaxed) != restarts => {
                    self.relaunch(pairing).await
                }
                outcome => outcome,
            }
        });
        relaunching.await.map(drop)
    }

    async fn relaunch(&self, pairing: &PairingId) -> Result<LaunchReport, Error> {
        let mut browsers = self.browsers().await;
        let is_only = browsers.len() == 1;
        let mut own = browsers.iter_mut();
        let own = own.find(|own| own.pairing() == Some(pairing));
        let own = own.ok_or(Error::BrowserStopped)?;
        self.wait_until_ready(own, Switch::AtOnce, is_only).await
    }

    /// Resolves when a browser has exited, or was launched again. Checks now and then, because it is
    /// for a message only.
    pub async fn changed(&self, name: &str, was_running: bool) {
        while self.is_running(name).await == was_running {
            tokio::time::sleep(EXIT_POLL).await;
        }
    }

    async fn is_running(&self, name: &str) -> bool {
        let browsers = self.browsers().await;
        match browsers.iter().find(|browser| browser.has_name(name)) {
            Some(browser) => browser.program.is_running().await,
            None => false,
        }
    }
}
