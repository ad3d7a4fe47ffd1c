//! Browsers with a debugging port: starts one, or finds the port of one that is running.

use std::pin::Pin;
use std::time::Duration;

use super::{Process, Program, READY_TIMEOUT, Started, gone};
use crate::browser::profile::{self, ActivePort};
use crate::direct::{self, BrowserUrl};
use crate::error::Error;

/// How long a browser that has the profile open may take to show its debugging port.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a browser that had a debugging port may take to exit. The watchdog of a relay that was
/// killed may be stopping it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(6);
/// How often the browser's debugging port is looked for.
const PORT_POLL: Duration = Duration::from_millis(10);

impl Program {
    async fn launch_direct(&self, process: &mut Process) -> Result<direct::Found, Error> {
        let Started { ownership, .. } = self.start_process(process).await?;
        let url = self.port(process).await?;
        self.note_ready(ownership);
        self.note_executable(process).await;
        Ok(direct::Found { url, ownership })
    }

    /// Starts a browser with a debugging port, or stops what was started.
    async fn ensure_port(&self, process: &mut Process) -> Result<direct::Found, Error> {
        let was_running = process.running().is_some();
        let launching = async {
            match self.launch_direct(process).await {
                // Its connections had ended before its process did.
                Err(Error::BrowserExited { .. })
                    if was_running || matches!(process, Process::Attached(_)) =>
                {
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
        match process {
            Process::Launched(running, _) => tokio::select! {
                url = answers => Ok(url),
                status = running.exited() => Err(self.exited_with(status)),
            },
            Process::Attached(identity) => {
                let had_port = profile::active_port(&self.plan.profile).is_some();
                let patience = if had_port {
                    EXIT_TIMEOUT
                } else {
                    ATTACH_TIMEOUT
                };
                tokio::select! {
                    answered = tokio::time::timeout(patience, answers) => {
                        let name = self.plan.name.clone();
                        answered.map_err(|_| Error::ProfileWithoutPort { name })
                    }
                    () = gone(identity) => Err(self.exited_with(None)),
                }
            }
            Process::NotStarted | Process::Closed => Err(Error::BrowserStopped),
        }
    }
}

impl direct::Launcher for Program {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<direct::Found, Error>> + Send + '_>> {
        let launch = || {
            self.unless_closing(async {
                let mut process = self.process.lock().await;
                self.ensure_port(&mut process).await
            })
        };
        Box::pin(async move {
            match launch().await {
                // It is being restarted. Clients that wait for it stay connected.
                Err(Error::BrowserStopped) if !self.is_closed().await => launch().await,
                outcome => outcome,
            }
        })
    }
}
