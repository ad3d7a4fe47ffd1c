//! One browser's program: starts it, as often as it is needed, and owns its process. A profile that
//! is open already is used as it is, and its browser is never stopped.

use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tabwire_home::control::Ownership;
use tokio::sync::{Mutex, watch};

use super::detect::Browser;
use super::launch::{Access, Launch, RunningBrowser};
use super::process::{LaunchedProcess, ProcessIdentity};
use super::profile::{self, ActivePort};
use super::watchdog::Watchdog;
use crate::direct::{self, BrowserUrl};
use crate::error::Error;

/// How long a browser may take until it can be used.
pub const READY_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a browser that has the profile open may take to show its debugging port.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the browser's debugging port is looked for.
const PORT_POLL: Duration = Duration::from_millis(10);

pub struct Program {
    pub plan: Plan,
    watchdog: Arc<Watchdog>,
    /// Locked while the browser is started or stopped.
    process: Mutex<Process>,
    /// How often the browser had to be started again because it had gone by itself.
    recoveries: AtomicU32,
    /// Changes when the browser is closed, so that nobody goes on waiting for it.
    closing: watch::Sender<u32>,
}

/// What to start, and how.
pub struct Plan {
    /// What the browser is called.
    pub name: String,
    pub browser: Browser,
    pub profile: PathBuf,
    pub access: Access,
    pub headless: bool,
    /// The folder that is removed with the browser.
    pub temporary: Option<PathBuf>,
    pub arguments: Vec<String>,
}

enum Process {
    NotStarted,
    /// The profile was open already, in this process.
    Attached(ProcessIdentity),
    Launched(Box<RunningBrowser>, LaunchedProcess),
    /// Stopped for good.
    Closed,
}

/// A browser's process, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    pub ownership: Ownership,
    pub pid: u32,
}

impl Program {
    pub fn new(plan: Plan, watchdog: Arc<Watchdog>) -> Self {
        Self {
            plan,
            watchdog,
            process: Mutex::new(Process::NotStarted),
            recoveries: AtomicU32::new(0),
            closing: watch::Sender::new(0),
        }
    }

    /// Waits for something that a browser that is being closed will not do any more.
    pub async fn unless_closing<T>(
        &self,
        waiting: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut closing = self.closing.subscribe();
        tokio::select! {
            outcome = waiting => outcome,
            _ = closing.changed() => Err(Error::BrowserStopped),
        }
    }

    /// Ends what waits for the browser. Whoever calls this closes the browser next.
    pub fn interrupt(&self) {
        self.closing
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Starts the browser, unless it is running.
    pub async fn start(&self) -> Result<Started, Error> {
        let mut process = self.process.lock().await;
        self.start_process(&mut process).await
    }

    async fn start_process(&self, process: &mut Process) -> Result<Started, Error> {
        if let Some(started) = process.running() {
            return Ok(started);
        }
        if matches!(process, Process::Closed) {
            return Err(Error::BrowserStopped);
        }
        if let Process::Launched(running, ended) = process {
            // What was started may be a script that exits before its browser does.
            running.stop(ended).await;
            self.watchdog.on_stopped(ended.pid());
        }
        if !matches!(process, Process::NotStarted) {
            self.recoveries.fetch_add(1, Ordering::Relaxed);
        }
        let started = if let Some(pid) = profile::open_by(&self.plan.profile) {
            *process = Process::Attached(ProcessIdentity::of(pid));
            Started {
                ownership: Ownership::Attached,
                pid,
            }
        } else {
            let pid = self.launch(process).await?;
            Started {
                ownership: Ownership::Launched,
                pid,
            }
        };
        self.log("starting", started.ownership);
        Ok(started)
    }

    /// Logs the state of a browser that is used through its extension. The direct backend has a log of
    /// its own.
    fn log(&self, state: &str, ownership: Ownership) {
        if matches!(self.plan.access, Access::DebuggingPort) {
            return;
        }
        let recoveries = self.recoveries.load(Ordering::Relaxed);
        tracing::info!(
            browser = self.plan.name,
            transportMode = "extension",
            runtimeState = state,
            ownership = ownership.name(),
            userDataDir = %self.plan.profile.display(),
            recoveryAttempt = (recoveries > 0).then_some(recoveries),
            "launched browser",
        );
    }

    /// From the moment it is started, the browser is in `process`: if this future is dropped, it can
    /// still be stopped.
    async fn launch(&self, process: &mut Process) -> Result<u32, Error> {
        profile::remove_active_port(&self.plan.profile);
        let launch = Launch {
            browser: &self.plan.browser,
            profile: &self.plan.profile,
            access: &self.plan.access,
            headless: self.plan.headless,
            is_temporary: self.plan.temporary.is_some(),
            arguments: &self.plan.arguments,
        };
        let running = Box::new(launch.start()?);
        let pid = running.pid;
        let launched = LaunchedProcess::new(pid, self.plan.profile.clone(), self.plan.headless);
        self.report(&launched);
        let access = &self.plan.access;
        *process = Process::Launched(running, launched);
        let Process::Launched(running, _) = process else {
            return Ok(pid);
        };
        let loaded = running.load_extension(access).await;
        if loaded.is_err() {
            self.stop_process(process).await;
        }
        loaded.map(|()| pid)
    }

    fn report(&self, process: &LaunchedProcess) {
        let temporary = self.plan.temporary.as_deref();
        self.watchdog.on_launched(process, temporary);
    }

    /// Call this when the browser's extension has connected.
    pub async fn on_connected(&self, ownership: Ownership) {
        self.log("connected", ownership);
        self.note_executable(&mut *self.process.lock().await);
    }

    fn note_executable(&self, process: &mut Process) {
        if let Process::Launched(_, launched) = process
            && launched.note_executable()
        {
            self.report(launched);
        }
    }

    pub async fn is_running(&self) -> bool {
        self.running().await.is_some()
    }

    /// Which process the browser is, if it is running.
    pub async fn running(&self) -> Option<Started> {
        self.process.lock().await.running()
    }

    /// Who started the browser, if it is running.
    pub async fn ownership(&self) -> Option<Ownership> {
        self.running().await.map(|started| started.ownership)
    }

    /// Resolves when a browser that was launched has exited.
    pub async fn exited(&self) -> Error {
        // Not locked while waiting, because it may have to be stopped.
        let exited = match &*self.process.lock().await {
            Process::Launched(running, _) => Some(running.exited()),
            _ => None,
        };
        match exited {
            Some(exited) => self.exited_with(exited.await),
            None => std::future::pending().await,
        }
    }

    fn exited_with(&self, status: Option<ExitStatus>) -> Error {
        Error::BrowserExited {
            status,
            profile: self.plan.profile.clone(),
        }
    }

    /// Stops the browser if it was launched. It can be started again.
    pub async fn stop(&self) {
        let mut process = self.process.lock().await;
        self.stop_process(&mut process).await;
    }

    /// Stops the browser if it was launched. Nobody can start it again.
    pub async fn close(&self) {
        self.interrupt();
        let mut process = self.process.lock().await;
        self.stop_process(&mut process).await;
        *process = Process::Closed;
    }

    async fn stop_process(&self, process: &mut Process) {
        if let Process::Launched(running, launched) = process {
            self.log("closing", Ownership::Launched);
            running.stop(launched).await;
            self.watchdog.on_stopped(launched.pid());
        }
        *process = Process::NotStarted;
    }

    async fn launch_direct(&self, process: &mut Process) -> Result<direct::Found, Error> {
        let Started { ownership, .. } = self.start_process(process).await?;
        let url = self.port(process).await?;
        self.note_executable(process);
        Ok(direct::Found { url, ownership })
    }

    /// Starts a browser with a debugging port, or stops what was started.
    async fn ensure_port(&self, process: &mut Process) -> Result<direct::Found, Error> {
        let was_running = process.running().is_some();
        let launching = async {
            match self.launch_direct(process).await {
                // Its connections had ended before its process did.
                Err(Error::BrowserExited { .. }) if was_running => {
                    self.launch_direct(process).await
                }
                outcome => outcome,
            }
        };
        let found = tokio::time::timeout(READY_TIMEOUT, launching).await;
        let found = found.unwrap_or_else(|_| {
            let seconds = READY_TIMEOUT.as_secs();
            Err(Error::PortTimeout { seconds })
        });
        if let Err(error) = &found
            && !matches!(error, Error::BrowserExited { .. })
        {
            self.stop_process(process).await;
        }
        found
    }

    /// Waits until the browser's debugging port answers.
    async fn port(&self, process: &mut Process) -> Result<BrowserUrl, Error> {
        let answers = async {
            loop {
                if let Some(ActivePort { port, path }) = profile::active_port(&self.plan.profile)
                    && direct::is_browser(BrowserUrl { port }, &path).await
                {
                    return BrowserUrl { port };
                }
                tokio::time::sleep(PORT_POLL).await;
            }
        };
        let Process::Launched(running, _) = process else {
            let answered = tokio::time::timeout(ATTACH_TIMEOUT, answers).await;
            return answered.map_err(|_| Error::ProfileWithoutPort {
                name: self.plan.name.clone(),
            });
        };
        tokio::select! {
            url = answers => Ok(url),
            status = running.exited() => Err(self.exited_with(status)),
        }
    }
}

impl Process {
    /// Which process the browser is, if it is running.
    fn running(&self) -> Option<Started> {
        match self {
            Self::Attached(identity) if identity.is_alive() => Some(Started {
                ownership: Ownership::Attached,
                pid: identity.pid(),
            }),
            Self::Launched(running, _) if running.is_running() => Some(Started {
                ownership: Ownership::Launched,
                pid: running.pid,
            }),
            _ => None,
        }
    }
}

impl direct::Launcher for Program {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<direct::Found, Error>> + Send + '_>> {
        Box::pin(self.unless_closing(async {
            let mut process = self.process.lock().await;
            self.ensure_port(&mut process).await
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn attached_browser_is_gone_although_its_process_id_was_reused() {
        let own = ProcessIdentity::of(std::process::id());
        let running = Process::Attached(own).running();
        assert_eq!(running.map(|own| own.pid), Some(std::process::id()));
        let earlier = format!(r#"{{"pid":{},"started":"1"}}"#, std::process::id());
        let earlier = serde_json::from_str(&earlier).unwrap();
        assert_eq!(Process::Attached(earlier).running(), None);
    }
}
