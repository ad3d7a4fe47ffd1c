//! A browser that is about to be started. If the process that starts it is killed before it can note which
//! process that is, the watchdog finds the browser: by its profile, `--headless` and when it was started.
//! Never by its name.

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
    headless: bool,
    /// No browser had the profile open at this moment.
    since: Moment,
}

impl ExpectedBrowser {
    pub fn new(profile: PathBuf, headless: bool) -> Self {
        Self {
            profile,
            headless,
            since: Moment::now(),
        }
    }

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
        let is_it = |pid: &u32| {
            process::has_arguments(*pid, &self.profile, self.headless)
                && is_leader(*pid)
                && Moment::is_start_between(*pid, self.since, started_by)
        };
        let pid = process::all().into_iter().find(is_it)?;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

    fn is_start_between(pid: u32, since: Self, until: Self) -> bool {
        let started = process::stat(pid).and_then(|stat| stat.started.parse::<u64>().ok());
        started.is_some_and(|started| (since.ticks..=until.ticks).contains(&started))
    }
}

/// Elsewhere the time is unknown, so a browser is looked for only once, at this moment.
#[cfg(not(target_os = "linux"))]
impl Moment {
    const IS_KNOWN: bool = false;

    pub fn now() -> Self {
        Self {}
    }

    fn is_start_between(_: u32, _: Self, _: Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

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

    /// The kernel counts in hundredths of a second.
    fn next_moment() -> Moment {
        std::thread::sleep(Duration::from_millis(20));
        let now = Moment::now();
        std::thread::sleep(Duration::from_millis(20));
        now
    }

    #[tokio::test]
    async fn browser_is_stopped_if_it_was_started_in_time_with_the_profile() {
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().to_owned();
        let flag = format!("--user-data-dir={}", profile.display());
        let mut other = start(&[&format!("{flag}2"), "--headless=new"]);
        let earlier = next_moment();
        let browser = ExpectedBrowser::new(profile.clone(), true);
        // A script may have moved them.
        let mut child = start(&["about:blank", "--headless=new", "--own", &flag]);
        until_found(&browser);
        next_moment();
        if Moment::IS_KNOWN {
            assert!(browser.find(earlier).is_none(), "it was started later");
            let later = ExpectedBrowser::new(profile, true);
            assert!(
                later.find(Moment::now()).is_none(),
                "it was started earlier"
            );
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
