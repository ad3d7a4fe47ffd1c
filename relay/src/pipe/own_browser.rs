//! A browser that is launched for one client, which uses it over its own pipe. It ends with the
//! client, at the latest with this process: if that is killed, the watchdog stops the browser.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tabwire_home::Home;
use tokio::process::Command;

use super::arguments::BrowserArguments;
use super::client_pipe::{ClientPipe, HangUp};
use crate::browser::detect::Browser;
use crate::browser::expected::ExpectedBrowser;
use crate::browser::launch::RunningBrowser;
use crate::browser::process::LaunchedProcess;
use crate::browser::watchdog::Watchdog;
use crate::browser::{leftovers, profile};
use crate::error::Error;

const OPENED_POLL: Duration = Duration::from_millis(100);
/// How long the browser may take to notice that its client has left.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

pub struct OwnBrowser {
    home: Home,
    running: RunningBrowser,
    process: LaunchedProcess,
    watchdog: Watchdog,
    profile: PathBuf,
    /// The folder that is removed with the browser, if the client named no profile.
    temporary: Option<PathBuf>,
}

impl OwnBrowser {
    pub fn launch(
        home: Home,
        browser: &Browser,
        mut arguments: BrowserArguments,
        client: ClientPipe,
    ) -> Result<Self, Error> {
        let watchdog = Watchdog::start(&home);
        let (profile, temporary) = if let Some(profile) = arguments.profile() {
            (profile, None)
        } else {
            let folder = leftovers::new_folder(&home)?;
            let profile = folder.join("profile");
            arguments.set_profile(&profile);
            (profile, Some(folder))
        };
        let headless = arguments.is_headless();
        let expected = ExpectedBrowser::new(profile.clone(), headless);
        watchdog.on_launching(expected, temporary.as_deref());
        let started = start(browser, arguments, client);
        let running = started.inspect_err(|_| {
            watchdog.on_not_started(&profile);
            if let Some(folder) = &temporary {
                leftovers::remove_now(&home, folder);
            }
        })?;
        let own = Self {
            home,
            process: LaunchedProcess::new(running.pid, profile.clone(), headless),
            running,
            watchdog,
            profile,
            temporary,
        };
        own.report();
        own.log("connected");
        Ok(own)
    }

    fn report(&self) {
        let temporary = self.temporary.as_deref();
        self.watchdog.on_launched(&self.process, temporary);
    }

    /// Resolves when the browser has exited, which it does when its client closes the pipe, or when it
    /// should have. `None` then.
    pub async fn ended(&mut self, client: &HangUp) -> Option<ExitStatus> {
        let overdue = async {
            client.wait().await;
            tokio::time::sleep(EXIT_TIMEOUT).await;
        };
        tokio::select! {
            status = self.exited() => status,
            () = overdue => None,
        }
    }

    async fn exited(&mut self) -> Option<ExitStatus> {
        tokio::select! {
            status = self.running.exited() => return status,
            () = opened(&self.profile, self.process.pid()) => {}
        }
        if self.process.note_executable() {
            self.report();
        }
        self.running.exited().await
    }

    /// Stops the browser if it is still running, and removes what is temporary.
    pub async fn close(mut self) {
        self.log("closing");
        self.running.stop(&self.process).await;
        self.watchdog.on_stopped(self.running.pid);
        if let Some(folder) = &self.temporary {
            leftovers::remove_folder(&self.home, folder).await;
        }
    }

    fn log(&self, state: &str) {
        tracing::info!(
            transportMode = "pipe",
            runtimeState = state,
            ownership = "launched",
            userDataDir = %self.profile.display(),
            "browser of a pipe",
        );
    }
}

fn start(
    browser: &Browser,
    arguments: BrowserArguments,
    client: ClientPipe,
) -> Result<RunningBrowser, Error> {
    let failed = |reason| Error::StartBrowser {
        program: browser.path.clone(),
        reason,
    };
    let is_root = rustix::process::geteuid().is_root();
    let mut command = Command::new(&browser.path);
    command
        .args(arguments.complete(is_root))
        .stdin(Stdio::null())
        // A client that is killed kills this process group. The browser is then shut down cleanly.
        .process_group(0)
        .kill_on_drop(true);
    client.give_to(&mut command).map_err(failed)?;
    let child = command.spawn().map_err(failed)?;
    Ok(RunningBrowser::new(child))
}

/// Resolves when the browser has opened its profile. Its program is not replaced any more then.
async fn opened(profile: &Path, pid: u32) {
    while profile::open_by(profile) != Some(pid) {
        tokio::time::sleep(OPENED_POLL).await;
    }
}
