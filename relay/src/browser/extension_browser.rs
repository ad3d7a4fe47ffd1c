//! Gets a launched browser with the extension ready: writes and pairs its own copy of the extension,
//! starts the browser, and waits until that copy has connected. Does not decide when it is stopped.

use std::sync::Arc;

use tabwire_home::control::Ownership;
use tabwire_home::{Home, PairingId};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::bundle::{self, Copy};
use super::launch::Access;
use super::owned::Owned;
use super::program::{Plan, Program, READY_TIMEOUT, Started};
use crate::error::Error;
use crate::registry::{Registry, Switch};

pub struct ExtensionBrowsers {
    pub home: Home,
    /// The relay's, which extensions connect to.
    pub port: u16,
    pub registry: Arc<Registry>,
    pub owned: Owned,
}

impl ExtensionBrowsers {
    /// How many tabs the browser has, when its own extension has connected. What was started for
    /// nothing is stopped.
    pub async fn ready(
        &self,
        program: &Program,
        pairing: &mut Option<PairingId>,
        switch: Switch,
    ) -> Result<usize, Error> {
        let before = program.running().await;
        let deadline = Instant::now() + READY_TIMEOUT;
        let waiting = self.ready_again(program, pairing, switch);
        let outcome = match timeout_at(deadline, waiting).await {
            Ok(outcome) => outcome,
            Err(_) => Err(timed_out(program).await),
        };
        if outcome.is_err() && program.running().await != before {
            program.stop().await;
        }
        outcome
    }

    async fn ready_again(
        &self,
        program: &Program,
        pairing: &mut Option<PairingId>,
        switch: Switch,
    ) -> Result<usize, Error> {
        let was_running = program.is_running().await;
        match self.ready_once(program, pairing, switch).await {
            // Its connection had ended before its process did, or it was just being stopped.
            Err(Error::BrowserExited { .. }) if was_running || program.is_attached().await => {
                self.ready_once(program, pairing, switch).await
            }
            outcome => outcome,
        }
    }

    async fn ready_once(
        &self,
        program: &Program,
        pairing: &mut Option<PairingId>,
        switch: Switch,
    ) -> Result<usize, Error> {
        if self.is_unpaired(pairing.as_ref())? {
            // It cannot connect any more.
            program.stop().await;
        }
        if !program.is_running().await {
            if let Some(last) = pairing {
                // Its last connection may not have been closed yet.
                self.registry.disconnected(last).await;
            }
            // Each time, because the user may have unpaired it.
            *pairing = self.write_extension(&program.plan).await?;
        }
        let Some(pairing) = pairing else {
            return Err(Error::BrowserStopped);
        };
        self.registry.prefer(pairing, switch);
        let Started { ownership, .. } = program.start().await?;
        let tabs = tokio::select! {
            tabs = self.registry.ready(pairing) => tabs,
            error = program.exited() => return Err(error),
        };
        program.on_connected(ownership).await;
        self.owned.insert(pairing, ownership);
        Ok(tabs)
    }

    /// Whether the user has unpaired the browser.
    fn is_unpaired(&self, pairing: Option<&PairingId>) -> Result<bool, Error> {
        let pairings = self.home.pairings()?;
        Ok(pairing.is_some_and(|pairing| !pairings.contains(pairing)))
    }

    /// Writes an extension that can prove to be this browser's own.
    async fn write_extension(&self, plan: &Plan) -> Result<Option<PairingId>, Error> {
        let Access::Extension { folder, .. } = plan.access.clone() else {
            return Ok(None);
        };
        let (home, port, name) = (self.home.clone(), self.port, plan.name.clone());
        let writing = spawn_blocking(move || {
            let (pairing, secret) = bundle::pair(&home, &folder, Some(&name))?;
            let copy = Copy {
                folder: &folder,
                port,
                secret: &secret,
                shows_welcome: false,
                is_launched: true,
            };
            copy.write()?;
            Ok(Some(pairing))
        });
        writing
            .await
            .unwrap_or_else(|error| Err(Error::HubEnded(error.to_string())))
    }
}

async fn timed_out(program: &Program) -> Error {
    let started = program.running().await;
    match started.map(|started| started.ownership) {
        Some(Ownership::Attached) => Error::ProfileInUse {
            name: program.plan.name.clone(),
        },
        _ => Error::ExtensionTimeout {
            seconds: READY_TIMEOUT.as_secs(),
        },
    }
}
