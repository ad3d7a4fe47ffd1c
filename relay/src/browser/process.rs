//! The processes of browsers that this program launched: recognizing them, and ending them. Nothing
//! else is ever ended: a process has to be the one that was launched.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use serde::{Deserialize, Serialize};

/// How long the browser may take to exit before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A launched browser, as it can be recognized later. Its process id alone proves nothing: it may
/// belong to another process by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedProcess {
    /// Also its process group.
    pub pid: u32,
    pub profile: PathBuf,
    pub headless: bool,
    /// When the kernel started it. Only Linux tells.
    started: Option<String>,
}

impl LaunchedProcess {
    pub fn new(pid: u32, profile: PathBuf, headless: bool) -> Self {
        Self {
            pid,
            profile,
            headless,
            started: start_time(pid),
        }
    }

    /// Whether the process is still the browser that was launched.
    pub fn is_running(&self) -> bool {
        let is_alive = self
            .group()
            .is_some_and(|pid| test_kill_process(pid).is_ok());
        if !is_alive || start_time(self.pid) != self.started {
            return false;
        }
        let Some(arguments) = command_line(self.pid) else {
            return false;
        };
        let profile = format!("--user-data-dir={}", self.profile.display());
        let has_profile = arguments.contains(&profile);
        let is_headless = arguments
            .iter()
            .any(|argument| argument.starts_with("--headless"));
        has_profile && (is_headless || !self.headless)
    }

    /// Asks the browser to exit, and kills it if it does not.
    pub async fn stop(&self) {
        if !self.is_running() {
            return;
        }
        self.signal(Signal::TERM);
        let exited = async {
            while self.is_running() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(EXIT_TIMEOUT, exited).await.is_err() && self.is_running() {
            self.signal(Signal::KILL);
        }
    }

    /// The program may be a script with the browser as its child, so the whole group is signalled.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, signal);
        }
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

#[cfg(target_os = "linux")]
fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // Chromium rewrites its command line, with spaces instead of zero bytes.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let arguments = text.split('\0').filter(|argument| !argument.is_empty());
    Some(arguments.map(str::to_owned).collect())
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: u32) -> Option<Vec<String>> {
    let pid = pid.to_string();
    let output = std::process::Command::new("ps")
        .args(["-ww", "-o", "command=", "-p", &pid])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `ps` does not quote, so a path with a space is split at " --" only.
    Some(
        text.trim()
            .split(" --")
            .map(|part| format!("--{part}"))
            .collect(),
    )
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(not(target_os = "linux"))]
fn start_time(_pid: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    fn start(arguments: &[&str]) -> Child {
        Command::new("sh")
            .args(["-c", "sleep 60 & wait", "sh"])
            .args(arguments)
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[tokio::test]
    async fn stops_only_the_browser_that_was_launched() {
        let mut child = start(&["--user-data-dir=/p", "--headless=new"]);
        let pid = child.id();
        let own =
            |profile: &str, headless| LaunchedProcess::new(pid, PathBuf::from(profile), headless);
        // The kernel may not show its arguments yet.
        while !own("/p", true).is_running() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        assert!(!own("/other", true).is_running());
        own("/other", true).stop().await;
        assert!(child.try_wait().unwrap().is_none(), "another profile");
        let earlier = LaunchedProcess {
            started: Some("1".to_owned()),
            ..own("/p", true)
        };
        assert!(!earlier.is_running() || cfg!(not(target_os = "linux")));
        let stopping = own("/p", true);
        tokio::join!(stopping.stop(), async {
            tokio::task::spawn_blocking(move || child.wait())
                .await
                .unwrap()
                .unwrap();
        });
    }

    #[test]
    fn browser_with_a_window_is_not_taken_for_a_headless_one() {
        let mut child = start(&["--user-data-dir=/p"]);
        let headless = LaunchedProcess::new(child.id(), PathBuf::from("/p"), true);
        let own = LaunchedProcess {
            headless: false,
            ..headless.clone()
        };
        while !own.is_running() {
            std::thread::sleep(POLL_INTERVAL);
        }
        assert!(!headless.is_running());
        own.signal(Signal::KILL);
        child.wait().unwrap();
    }
}
