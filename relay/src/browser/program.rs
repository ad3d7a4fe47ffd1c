//! One browser's program: starts it, as often as it is needed, and owns its process. A profile that
//! is open already is used as it is, and its browser is never stopped.

use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tabwire_home::control::Ownership;
use tokio::sync::Mutex;

use super::detect::Browser;
use super::launch::{Access, Launch, RunningBrowser};
use super::leftovers;
use super::process::LaunchedProcess;
use super::profile::{self, ActivePort};
use super::watchdog::{Remains, Watchdog};
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
    Attached(u32),
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
        }
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
        if let Process::Launched(_, ended) = process {
            self.watchdog.on_stopped(ended.pid());
        }
        if !matches!(process, Process::NotStarted) {
            self.recoveries.fetch_add(1, Ordering::Relaxed);
        }
        let started = if let Some(pid) = profile::open_by(&self.plan.profile) {
            *process = Process::Attached(pid);
            Started {
                ownership: Ownership::Attached,
                pid,
            }
        } else {
            let (running, launched) = self.launch().await?;
            let pid = launched.pid();
            *process = Process::Launched(Box::new(running), launched);
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

    async fn launch(&self) -> Result<(RunningBrowser, LaunchedProcess), Error> {
        profile::remove_active_port(&self.plan.profile);
        let launch = Launch {
            browser: &self.plan.browser,
            profile: &self.plan.profile,
            access: &self.plan.access,
            headless: self.plan.headless,
            is_temporary: self.plan.temporary.is_some(),
            arguments: &self.plan.arguments,
        };
        let running = launch.start().await?;
        let process =
            LaunchedProcess::new(running.pid, self.plan.profile.clone(), self.plan.headless);
        self.report(&process);
        Ok((running, process))
    }

    /// Lets the watchdog and the next relay recognize the browser if this relay is killed.
    fn report(&self, process: &LaunchedProcess) {
        // The watchdog first, because until it knows, nobody would stop the browser.
        self.watchdog.on_launched(Remains {
            process: process.clone(),
            folder: self.plan.temporary.clone(),
        });
        if let Some(folder) = &self.plan.temporary {
            leftovers::write_process(folder, process);
        }
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
        self.process.lock().await.running().is_some()
    }

    /// Resolves when a browser that was launched has exited.
    pub async fn exited(&self) -> Error {
        let mut process = self.process.lock().await;
        match &mut *process {
            Process::Launched(running, _) => {
                let status = running.exited().await;
                self.exited_with(status)
            }
            _ => std::future::pending().await,
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
        let mut process = self.process.lock().await;
        self.stop_process(&mut process).await;
        *process = Process::Closed;
    }

    async fn stop_process(&self, process: &mut Process) {
        if let Process::Launched(running, launched) = process {
            self.log("closing", Ownership::Launched);
            running.stop().await;
            self.watchdog.on_stopped(launched.pid());
        }
        *process = Process::NotStarted;
    }

    async fn launch_direct(&self, process: &mut Process) -> Result<direct::Found, Error> {
        let Started { ownership, .. } = self.start_process(process).await?;
        let port = self.port(process).await;
        if let Err(error) = &port
            && !matches!(error, Error::BrowserExited { .. })
        {
            self.stop_process(process).await;
        }
        let url = port?;
        self.note_executable(process);
        Ok(direct::Found { url, ownership })
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
            () = tokio::time::sleep(READY_TIMEOUT) => Err(Error::PortTimeout {
                seconds: READY_TIMEOUT.as_secs(),
            }),
        }
    }
}

impl Process {
    /// Which process the browser is, if it is running.
    fn running(&self) -> Option<Started> {
        match self {
            Self::Attached(pid) if profile::is_alive(*pid) => Some(Started {
                ownership: Ownership::Attached,
                pid: *pid,
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
        Box::pin(async {
            let mut process = self.process.lock().await;
            let was_running = process.running().is_some();
            match self.launch_direct(&mut process).await {
                // Its connections had ended before its process did.
                Err(Error::BrowserExited { .. }) if was_running => {
                    self.launch_direct(&mut process).await
                }
                outcome => outcome,
            }
        })
    }
}
