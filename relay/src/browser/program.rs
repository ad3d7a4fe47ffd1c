//! One browser's program: starts it, as often as it is needed, and owns its process. A profile that
//! is open already is used as it is, and its browser is never stopped.

mod port;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tabwire_home::control::{LaunchReport, Ownership};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;

use super::detect::Browser;
use super::expected::ExpectedBrowser;
use super::launch::{Access, Launch, RunningBrowser};
use super::process::{LaunchedProcess, ProcessIdentity};
use super::profile;
use super::state_log::StateLog;
use super::watchdog::Watchdog;
use crate::error::Error;
use crate::shared_work::SharedWork;

/// How long a browser may take until it can be used.
pub const READY_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a process that is not a child is looked at.
const ALIVE_POLL: Duration = Duration::from_millis(50);

pub struct Program {
    pub plan: Plan,
    watchdog: Arc<Watchdog>,
    /// Locked while the browser is started or stopped.
    process: Mutex<Process>,
    /// The launch that clients wait for.
    pub relaunching: SharedWork<LaunchReport>,
    /// `None` for the direct backend, which has a log of its own.
    log: Option<StateLog>,
    /// A browser that the user had opened was used. Clients must not get another one in its place, which
    /// would count as launched, on the user's own profile.
    was_attached: AtomicBool,
    /// Changes when the browser is closed, so that nobody goes on waiting for it.
    closing: watch::Sender<u32>,
}

/// What to start, and how.
pub struct Plan {
    /// What the browser is called.
    pub name: String,
    pub browser: Browser,
    pub profile: PathBuf,
    /// Whether the user chose the profile. It may be one that the user opens, too.
    pub is_users_profile: bool,
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
            log: match plan.access {
                Access::Extension { .. } => {
                    Some(StateLog::new(plan.name.clone(), plan.profile.clone()))
                }
                Access::DebuggingPort => None,
            },
            plan,
            watchdog,
            relaunching: SharedWork::default(),
            process: Mutex::new(Process::NotStarted),
            was_attached: AtomicBool::new(false),
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

    /// Ends what waits for the browser. Whoever calls this stops the browser next.
    pub fn interrupt(&self) {
        self.closing
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The user wants the browser, whoever has opened it before.
    pub fn allow_launch(&self) {
        self.was_attached.store(false, Ordering::Relaxed);
    }

    /// Notes that clients can use the browser.
    fn note_ready(&self, ownership: Ownership) {
        let is_users = ownership == Ownership::Attached && self.plan.is_users_profile;
        self.was_attached.store(is_users, Ordering::Relaxed);
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
        let is_again = self.clear(process).await?;
        if let Some(pid) = self.open_by() {
            return Ok(self.attach_to(process, pid, is_again));
        }
        if self.was_attached.load(Ordering::Relaxed) {
            return Err(Error::AttachedClosed {
                name: self.plan.name.clone(),
            });
        }
        let ownership = Ownership::Launched;
        self.log(|log| log.starting(ownership, is_again));
        let pid = self.launch(process).await?;
        Ok(Started { ownership, pid })
    }

    /// Prepares for another start of the browser. Returns whether it had gone by itself.
    async fn clear(&self, process: &mut Process) -> Result<bool, Error> {
        if matches!(process, Process::Closed) {
            return Err(Error::BrowserStopped);
        }
        if let Process::Launched(running, ended) = process {
            // What was started may be a script that exits before its browser does.
            running.stop(ended).await;
            self.watchdog.on_stopped(ended.pid());
        }
        Ok(!matches!(process, Process::NotStarted))
    }

    /// The process that has the profile open.
    pub fn open_by(&self) -> Option<u32> {
        profile::open_by(&self.plan.profile)
    }

    /// Uses the process that has the profile open, unless the browser is running.
    pub async fn attach(&self, pid: u32) -> Result<Started, Error> {
        let mut process = self.process.lock().await;
        if let Some(started) = process.running() {
            return Ok(started);
        }
        let is_again = self.clear(&mut process).await?;
        Ok(self.attach_to(&mut process, pid, is_again))
    }

    fn attach_to(&self, process: &mut Process, pid: u32, is_again: bool) -> Started {
        let ownership = Ownership::Attached;
        *process = Process::Attached(ProcessIdentity::of(pid));
        self.log(|log| log.starting(ownership, is_again));
        Started { ownership, pid }
    }

    /// What is logged about a browser that is used through its extension.
    pub fn log(&self, write: impl FnOnce(&StateLog)) {
        if let Some(log) = &self.log {
            write(log);
        }
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
        let temporary = self.plan.temporary.as_deref();
        let expected = ExpectedBrowser::new(self.plan.profile.clone(), self.plan.headless);
        self.watchdog.on_launching(expected, temporary);
        let started = launch.start();
        let running = started.inspect_err(|_| self.watchdog.on_not_started(&self.plan.profile))?;
        let running = Box::new(running);
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
        self.log(|log| log.connected(ownership));
        self.note_ready(ownership);
        self.note_executable(&mut *self.process.lock().await).await;
    }

    /// Looks at all processes, so another thread does it.
    async fn note_executable(&self, process: &mut Process) {
        let Process::Launched(_, launched) = process else {
            return;
        };
        let mut own = launched.clone();
        let noting = spawn_blocking(move || own.note_executable().then_some(own));
        if let Ok(Some(noted)) = noting.await {
            *launched = noted;
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

    /// Whether the browser was running before, although it may have exited since.
    pub async fn is_attached(&self) -> bool {
        matches!(&*self.process.lock().await, Process::Attached(_))
    }

    /// Resolves when the browser has exited.
    pub async fn exited(&self) -> Error {
        // Not locked while waiting, because it may have to be stopped.
        let process = self.process.lock().await;
        let status = match &*process {
            Process::Launched(running, _) => {
                let exited = running.exited();
                drop(process);
                exited.await
            }
            Process::Attached(identity) => {
                let identity = identity.clone();
                drop(process);
                gone(&identity).await;
                None
            }
            Process::NotStarted | Process::Closed => {
                drop(process);
                std::future::pending().await
            }
        };
        self.exited_with(status)
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

    /// Stops the browser if it was launched. Nobody can start it again. Returns who had started it, if
    /// it was running.
    pub async fn close(&self) -> Option<Ownership> {
        self.interrupt();
        let mut process = self.process.lock().await;
        let running = process.running();
        self.stop_process(&mut process).await;
        *process = Process::Closed;
        running.map(|started| started.ownership)
    }

    async fn is_closed(&self) -> bool {
        matches!(&*self.process.lock().await, Process::Closed)
    }

    async fn stop_process(&self, process: &mut Process) {
        if let Process::Launched(running, launched) = process {
            self.log(|log| log.closing(Ownership::Launched));
            running.stop(launched).await;
            self.watchdog.on_stopped(launched.pid());
        }
        *process = Process::NotStarted;
    }
}

/// Resolves when a process that is not a child has exited.
async fn gone(process: &ProcessIdentity) {
    while process.is_alive() {
        tokio::time::sleep(ALIVE_POLL).await;
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
