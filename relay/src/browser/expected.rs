//! A browser that is about to be started. If the process that starts it is killed before it can note which
//! process that is, the watchdog finds the browser by its arguments. Never by its name.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, getpgid};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::process::{self, LaunchedProcess};

/// How long a process that was just created may take to execute its program, and how often it is looked for.
const EXECUTE_TIMEOUT: Duration = Duration::from_secs(2);
const SEARCH_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedBrowser {
    pub profile: PathBuf,
    pub headless: bool,
    /// All of them. A script that starts the browser has the same ones, and may add others around them.
    pub arguments: Vec<String>,
}

impl ExpectedBrowser {
    /// Stops the browser if it was started before this moment: a later one is somebody else's.
    pub async fn stop(&self, started_by: Moment) {
        let deadline = Instant::now() + EXECUTE_TIMEOUT;
        loop {
            let own = self.clone();
            let found = spawn_blocking(move || own.find(started_by)).await;
            if let Ok(Some(process)) = found {
                return process.stop().await;
            }
            if Instant::now() >= deadline || !Moment::IS_KNOWN {
                return;
            }
            sleep(SEARCH_INTERVAL).await;
        }
    }

    fn find(&self, started_by: Moment) -> Option<LaunchedProcess> {
        let mut found = process::with_arguments(&self.arguments).into_iter();
        let pid = found.find(|pid| is_leader(*pid) && started_by.is_after_start_of(*pid))?;
        Some(LaunchedProcess::new(
            pid,
            self.profile.clone(),
            self.headless,
        ))
    }
}

/// What was launched is a process group of its own.
fn is_leader(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| getpgid(Some(pid)) == Ok(pid))
}

/// A time to compare with that at which the kernel started a process.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    #[cfg(target_os = "linux")]
    ticks: u64,
}

#[cfg(target_os = "linux")]
impl Moment {
    const IS_KNOWN: bool = true;

    pub fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let per_second = rustix::param::clock_ticks_per_second();
        let part = u64::try_from(now.tv_nsec)
            .unwrap_or(0)
            .saturating_mul(per_second)
            / 1_000_000_000;
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Self {
            ticks: seconds.saturating_mul(per_second).saturating_add(part),
        }
    }

    fn is_after_start_of(self, pid: u32) -> bool {
        let started = process::stat(pid).and_then(|stat| stat.started.parse::<u64>().ok());
        started.is_some_and(|started| started <= self.ticks)
    }
}

/// Elsewhere the time is unknown, so a browser is looked for only once, at this moment.
#[cfg(not(target_os = "linux"))]
impl Moment {
    const IS_KNOWN: bool = false;

    pub fn now() -> Self {
        Self {}
    }

    fn is_after_start_of(self, _: u32) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    fn expected(arguments: &[&str]) -> ExpectedBrowser {
        ExpectedBrowser {
            profile: PathBuf::from("/p"),
            headless: true,
            arguments: arguments.iter().map(|own| (*own).to_owned()).collect(),
        }
    }

    fn start(arguments: &[&str]) -> Child {
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 60 & wait", "sh"])
            .args(arguments);
        command.process_group(0).spawn().unwrap()
    }

    fn until_found(browser: &ExpectedBrowser) {
        while browser.find(Moment::now()).is_none() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn browser_is_stopped_by_its_arguments_and_no_other() {
        let own = ["--user-data-dir=/p", "--headless=new", "--expected-1"];
        let mut other = start(&["--user-data-dir=/p", "--headless=new", "--expected-12"]);
        let other_browser = expected(&["--user-data-dir=/p", "--headless=new", "--expected-12"]);
        until_found(&other_browser);
        let earlier = Moment::now();
        // The kernel counts in hundredths of a second.
        std::thread::sleep(Duration::from_millis(20));
        let mut child = start(&[&own[..], &["about:blank"]].concat());
        let browser = expected(&own);
        until_found(&browser);
        if Moment::IS_KNOWN {
            assert!(browser.find(earlier).is_none(), "it was started later");
        }
        tokio::join!(browser.stop(Moment::now()), async {
            let exited = spawn_blocking(move || child.wait());
            assert!(!exited.await.unwrap().unwrap().success(), "it was stopped");
        });
        assert!(other.try_wait().unwrap().is_none());
        let group = Pid::from_child(&other);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        other.wait().unwrap();
    }
}
