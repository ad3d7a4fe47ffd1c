//! Gets a launched browser with the extension ready: writes and pairs its own copy of the extension,
//! starts the browser, and waits until that copy has connected. Does not decide when it is stopped.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tabwire_home::control::Ownership;
use tabwire_home::{Home, PairingId};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use super::bundle::{self, Copy};
use super::launch::Access;
use super::owned::Owned;
use super::profile_pairing::{Unidentified, may_be_exiting, of_running};
use super::program::{Plan, Program, READY_TIMEOUT, Started};
use crate::error::Error;
use crate::registry::{Registry, Switch};

/// How long the watchdog of a relay that was killed may take to stop its browser.
const EXIT_TIMEOUT: Duration = Duration::from_secs(6);

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
        program: &Arc<Program>,
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
        if let Err(error) = &outcome {
            let running = program.running().await;
            let ownership = running.map_or(Ownership::Launched, |own| own.ownership);
            program.log(|log| log.recovery_failed(ownership, error));
            if running != before {
                program.stop().await;
            }
        }
        outcome
    }

    async fn ready_again(
        &self,
        program: &Arc<Program>,
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
        program: &Arc<Program>,
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
            *pairing = match program.open_by() {
                Some(pid) => Some(self.attach(program, pid).await?),
                None => self.write_extension(&program.plan).await?,
            };
        }
        let Some(pairing) = pairing else {
            return Err(Error::BrowserStopped);
        };
        self.registry.prefer(pairing, switch);
        let Started { ownership, .. } = program.start().await?;
        self.owned.insert(pairing, ownership, program.clone());
        let tabs = tokio::select! {
            tabs = self.registry.ready(pairing) => tabs,
            error = program.exited() => return Err(error),
        };
        program.on_connected(ownership).await;
        Ok(tabs)
    }

    /// Uses the browser that has the profile open, with the extension that it has.
    async fn attach(&self, program: &Program, pid: u32) -> Result<PairingId, Error> {
        let reason = match self.pairing_of(program, pid).await? {
            Ok(pairing) => {
                program.attach(pid).await?;
                return Ok(pairing);
            }
            Err(reason) => reason,
        };
        if may_be_exiting(pid) {
            program.attach(pid).await?;
            // Then it is launched.
            if let Ok(exited) = timeout(EXIT_TIMEOUT, program.exited()).await {
                return Err(exited);
            }
        }
        let name = program.plan.name.clone();
        Err(Error::ProfileUnidentified { name, reason })
    }

    async fn pairing_of(
        &self,
        program: &Program,
        pid: u32,
    ) -> Result<Result<PairingId, Unidentified>, Error> {
        let pairings = self.home.pairings()?;
        let profile = program.plan.profile.clone();
        let own = match &program.plan.access {
            Access::Extension { folder, .. } => folder.clone(),
            Access::DebuggingPort => PathBuf::new(),
        };
        let finding = spawn_blocking(move || of_running(&profile, pid, &own, &pairings));
        let found = finding.await;
        found.map_err(|error| Error::HubEnded(error.to_string()))
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
