//! The processes of browsers that this program launched: recognizing them, and ending them. Nothing
//! else is ever ended: a process has to be the one that was launched.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::process_group::ProcessGroup;
use super::{profile, profile_holder};

/// How long the kernel may take to close the socket of a process that has ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process, as it can be recognized later. Its id alone proves nothing: it may belong to another
/// process by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pid: u32,
    /// When the kernel started it. Empty on systems other than Linux; `None` if it had exited already.
    started: Option<String>,
}

impl ProcessIdentity {
    pub fn of(pid: u32) -> Self {
        Self {
            pid,
            started: start_time(pid),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn is_alive(&self) -> bool {
        self.started.is_some() && start_time(self.pid) == self.started
    }
}

/// A launched browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedProcess {
    /// Its process id is also that of its process group.
    #[serde(flatten)]
    identity: ProcessIdentity,
    profile: PathBuf,
    headless: bool,
    /// What the process executes, once that is final. `None` before, and where it cannot be found out.
    executable: Option<PathBuf>,
    /// The browser itself, if a script has started it in a process group of its own.
    #[serde(default)]
    holder: Option<ProcessIdentity>,
}

impl LaunchedProcess {
    pub fn new(pid: u32, profile: PathBuf, headless: bool) -> Self {
        Self {
            identity: ProcessIdentity::of(pid),
            profile,
            headless,
            executable: None,
            holder: None,
        }
    }

    pub fn pid(&self) -> u32 {
        self.identity.pid()
    }

    pub fn profile(&self) -> &Path {
        &self.profile
    }

    /// Notes what the process executes. Call this when the browser is ready: what was started may be
    /// a script that is replaced by the browser a moment later. Also notes which process has the profile
    /// open. It was free before, so this is the browser. Returns whether this is news.
    pub fn note_executable(&mut self) -> bool {
        if self.executable.is_none() && self.is_running() {
            self.executable = executable(self.pid());
            let holder = profile_holder::of(&self.profile);
            self.holder = holder.filter(|holder| self.is_elsewhere(holder.pid()));
            return self.executable.is_some() || self.holder.is_some();
        }
        false
    }

    /// Whether this is a browser with the profile, outside the group that was launched.
    fn is_elsewhere(&self, pid: u32) -> bool {
        let members = self.group().map(ProcessGroup::members).unwrap_or_default();
        !members.contains(&pid) && self.is_browser(pid)
    }

    /// Whether the process is still the browser that was launched.
    pub fn is_running(&self) -> bool {
        if !self.identity.is_alive() {
            return false;
        }
        if self.executable.is_some() && executable(self.pid()) != self.executable {
            return false;
        }
        self.is_browser(self.pid())
    }

    /// Asks the browser to exit, and kills it if it does not. Returns when nothing is left of it.
    pub async fn stop(&self) {
        let socket = profile::socket_folder(&self.profile);
        let own = self.clone();
        // Looks at all processes.
        let is_left = spawn_blocking(move || own.is_left()).await;
        if let Some(group) = self.group().filter(|_| is_left.unwrap_or(false)) {
            group.stop().await;
        }
        self.stop_rest(socket.as_deref()).await;
    }

    /// As `stop`, for whoever is the parent of the process and has not waited for it yet: its id can
    /// only be its own.
    pub async fn stop_child(&self) {
        let socket = profile::socket_folder(&self.profile);
        if let Some(group) = self.group() {
            group.stop().await;
        }
        self.stop_rest(socket.as_deref()).await;
    }

    /// What is outside the process group.
    async fn stop_rest(&self, socket: Option<&Path>) {
        if let Some(holder) = &self.holder {
            profile_holder::stop(holder).await;
        }
        if let Some(folder) = socket {
            // The other threads of a process that has ended hold its socket for a moment.
            let closed = async {
                while profile::listens(&self.profile) {
                    sleep(POLL_INTERVAL).await;
                }
            };
            let _ = timeout(CLOSE_TIMEOUT, closed).await;
            profile::remove_socket(&self.profile, folder);
        }
    }

    /// Whether something is left of the browser: the process that was launched or, if that was a
    /// script, a browser that it has started.
    fn is_left(&self) -> bool {
        if self.is_running() {
            return true;
        }
        let members = self.group().map(ProcessGroup::members).unwrap_or_default();
        let is_browser = |pid: &u32| *pid != self.pid() && self.is_browser(*pid);
        members.iter().any(is_browser)
    }

    /// Whether a process has the arguments of this browser.
    fn is_browser(&self, pid: u32) -> bool {
        has_arguments(pid, &self.profile, self.headless)
    }

    /// The program may be a script with the browser as its child, so the whole group is stopped.
    fn group(&self) -> Option<ProcessGroup> {
        ProcessGroup::of(self.pid())
    }
}

/// Whether a process has the arguments of a browser with this profile.
pub fn has_arguments(pid: u32, profile: &Path, headless: bool) -> bool {
    let Some(arguments) = command_line(pid) else {
        return false;
    };
    let profile = format!("--user-data-dir={}", profile.display());
    let has_profile = arguments.contains(&profile);
    let is_headless = arguments
        .iter()
        .any(|argument| argument.starts_with("--headless"));
    has_profile && (is_headless || !headless)
}

/// Whether a process exists and has not exited.
pub fn is_alive(pid: u32) -> bool {
    start_time(pid).is_some()
}

#[cfg(target_os = "linux")]
pub fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // Chromium's helper processes have rewritten theirs, with spaces instead of zero bytes. They do not
    // count as the browser.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let arguments = text.split('\0').filter(|argument| !argument.is_empty());
    Some(arguments.map(str::to_owned).collect())
}

#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: u32) -> Option<Vec<String>> {
    let text = process_status(pid, "command=")?;
    // `ps` does not quote, so a path with a space is split at " --" only.
    Some(text.split(" --").map(|part| format!("--{part}")).collect())
}

/// The user's processes.
#[cfg(target_os = "linux")]
pub fn all() -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::geteuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        (process.metadata().ok()?.uid() == own).then_some(pid)
    });
    processes.collect()
}

#[cfg(not(target_os = "linux"))]
pub fn all() -> Vec<u32> {
    let own = rustix::process::geteuid().as_raw().to_string();
    let output = std::process::Command::new("ps")
        .args(["-o", "pid=", "-U", &own])
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

#[cfg(target_os = "linux")]
fn executable(pid: u32) -> Option<PathBuf> {
    /// The kernel appends this when the file was removed, as when the browser was upgraded.
    const REMOVED: &str = " (deleted)";
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let kept = path.to_str().and_then(|path| path.strip_suffix(REMOVED));
    Some(kept.map(PathBuf::from).unwrap_or(path))
}

#[cfg(not(target_os = "linux"))]
fn executable(pid: u32) -> Option<PathBuf> {
    process_status(pid, "comm=").map(PathBuf::from)
}

/// One column of `ps`.
#[cfg(not(target_os = "linux"))]
fn process_status(pid: u32, column: &str) -> Option<String> {
    let pid = pid.to_string();
    let output = std::process::Command::new("ps")
        .args(["-ww", "-o", column, "-p", &pid])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// What the kernel reports about a process.
#[cfg(target_os = "linux")]
pub struct Stat {
    pub group: i32,
    pub started: String,
}

/// `None` also for a process that has exited and that its parent has not waited for.
#[cfg(target_os = "linux")]
pub fn stat(pid: u32) -> Option<Stat> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(16)?.to_owned();
    (state != "Z").then_some(Stat { group, started })
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    Some(stat(pid)?.started)
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<String> {
    let id = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let exists = id.is_some_and(|id| rustix::process::test_kill_process(id).is_ok());
    exists.then(String::new)
}

#[cfg(test)]
mod tests;
