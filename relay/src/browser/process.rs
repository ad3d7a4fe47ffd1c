//! The processes of browsers that this program launched: recognizing them, and ending them. Nothing
//! else is ever ended: a process has to be the one that was launched.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::process_group::ProcessGroup;

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
}

impl LaunchedProcess {
    pub fn new(pid: u32, profile: PathBuf, headless: bool) -> Self {
        Self {
            identity: ProcessIdentity::of(pid),
            profile,
            headless,
            executable: None,
        }
    }

    pub fn pid(&self) -> u32 {
        self.identity.pid()
    }

    /// Notes what the process executes. Call this when the browser is ready: what was started may be
    /// a script that is replaced by the browser a moment later. Returns whether this is news.
    pub fn note_executable(&mut self) -> bool {
        if self.executable.is_none() && self.is_running() {
            self.executable = executable(self.pid());
            return self.executable.is_some();
        }
        false
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
        let own = self.clone();
        // Looks at all processes.
        let is_left = spawn_blocking(move || own.is_left()).await;
        if let Some(group) = self.group().filter(|_| is_left.unwrap_or(false)) {
            group.stop().await;
        }
    }

    /// As `stop`, for whoever is the parent of the process and has not waited for it yet: its id can
    /// only be its own.
    pub async fn stop_child(&self) {
        if let Some(group) = self.group() {
            group.stop().await;
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
        let Some(arguments) = command_line(pid) else {
            return false;
        };
        let profile = format!("--user-data-dir={}", self.profile.display());
        let has_profile = arguments.contains(&profile);
        let is_headless = arguments
            .iter()
            .any(|argument| argument.starts_with("--headless"));
        has_profile && (is_headless || !self.headless)
    }

    /// The program may be a script with the browser as its child, so the whole group is stopped.
    fn group(&self) -> Option<ProcessGroup> {
        ProcessGroup::of(self.pid())
    }
}

/// Whether a process exists and has not exited.
pub fn is_alive(pid: u32) -> bool {
    start_time(pid).is_some()
}

#[cfg(target_os = "linux")]
fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // Chromium's helper processes have rewritten theirs, with spaces instead of zero bytes. They do not
    // count as the browser.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let arguments = text.split('\0').filter(|argument| !argument.is_empty());
    Some(arguments.map(str::to_owned).collect())
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: u32) -> Option<Vec<String>> {
    let text = process_status(pid, "command=")?;
    // `ps` does not quote, so a path with a space is split at " --" only.
    Some(text.split(" --").map(|part| format!("--{part}")).collect())
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
    started: String,
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
mod tests {
    use super::*;
    use rustix::process::Signal;
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    const POLL_INTERVAL: Duration = Duration::from_millis(20);

    fn start(arguments: &[&str]) -> Child {
        start_program(Path::new("sh"), "sleep 60 & wait", arguments)
    }

    fn start_program(program: &Path, script: &str, arguments: &[&str]) -> Child {
        Command::new(program)
            .args(["-c", script, "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    /// A program of its own for a test: a copy of the shell.
    fn program_in(folder: &Path) -> PathBuf {
        let program = folder.canonicalize().unwrap().join("browser");
        // Not with `fs::copy`: a process that another test starts meanwhile would hold the file open
        // for writing, and the kernel would refuse to execute it.
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.unwrap().success());
        program
    }

    /// Waits until the kernel shows the arguments of a process that was just started.
    fn wait_until_running(process: &LaunchedProcess) {
        while !process.is_running() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn kill(process: &LaunchedProcess, mut child: Child) {
        process.group().unwrap().signal(Signal::KILL);
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn stops_only_the_browser_that_was_launched() {
        let mut child = start(&["--user-data-dir=/p", "--headless=new"]);
        let pid = child.id();
        let own =
            |profile: &str, headless| LaunchedProcess::new(pid, PathBuf::from(profile), headless);
        wait_until_running(&own("/p", true));
        assert!(!own("/other", true).is_running());
        own("/other", true).stop().await;
        assert!(child.try_wait().unwrap().is_none(), "another profile");
        let earlier = LaunchedProcess {
            identity: ProcessIdentity {
                pid,
                started: Some("1".to_owned()),
            },
            ..own("/p", true)
        };
        assert!(!earlier.is_running());
        let stopping = own("/p", true);
        tokio::join!(stopping.stop(), async {
            tokio::task::spawn_blocking(move || child.wait())
                .await
                .unwrap()
                .unwrap();
        });
    }

    #[tokio::test]
    async fn browser_is_stopped_although_the_script_that_started_it_is_gone() {
        let browser = "sh -c 'sleep 60 & wait' sh";
        let script = format!("{browser} --user-data-dir=/p & read line");
        let mut leader = start_program(Path::new("sh"), &script, &["--user-data-dir=/p"]);
        let own = LaunchedProcess::new(leader.id(), PathBuf::from("/p"), false);
        let other = LaunchedProcess::new(leader.id(), PathBuf::from("/other"), false);
        let members = || own.group().unwrap().members();
        let is_browser = |pid: &u32| *pid != own.pid() && own.is_browser(*pid);
        while !members().iter().any(is_browser) {
            std::thread::sleep(POLL_INTERVAL);
        }
        drop(leader.stdin.take());
        leader.wait().unwrap();
        assert!(!own.is_running() && own.is_left() && !other.is_left());
        other.stop().await;
        assert!(!members().is_empty(), "another profile");
        own.stop().await;
        assert!(members().is_empty() && !own.is_left());
    }

    #[test]
    fn browser_with_a_window_is_not_taken_for_a_headless_one() {
        let child = start(&["--user-data-dir=/p"]);
        let headless = LaunchedProcess::new(child.id(), PathBuf::from("/p"), true);
        let own = LaunchedProcess {
            headless: false,
            ..headless.clone()
        };
        wait_until_running(&own);
        assert!(!headless.is_running());
        kill(&own, child);
    }

    #[tokio::test]
    async fn another_program_with_the_same_arguments_is_not_stopped() {
        let mut child = start(&["--user-data-dir=/p"]);
        let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
        wait_until_running(&own);
        let other = LaunchedProcess {
            executable: Some(PathBuf::from("/usr/lib/chromium/chromium")),
            ..own.clone()
        };
        assert!(!other.is_running());
        other.stop().await;
        assert!(child.try_wait().unwrap().is_none());
        assert!(own.note_executable() && own.is_running());
        kill(&own, child);
    }

    #[test]
    fn script_may_become_the_browser_until_it_is_ready() {
        let folder = tempfile::tempdir().unwrap();
        let program = program_in(folder.path());
        let script = format!("read line; exec {} -c 'read line' sh $1", program.display());
        let mut child = start_program(Path::new("sh"), &script, &["--user-data-dir=/p"]);
        let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
        wait_until_running(&own);
        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        while executable(own.pid()).as_ref() != Some(&program) {
            std::thread::sleep(POLL_INTERVAL);
        }
        wait_until_running(&own);
        assert!(own.note_executable(), "it was unknown before");
        assert_eq!(own.executable.as_ref(), Some(&program));
        assert!(!own.note_executable(), "it is known already");
        kill(&own, child);
    }

    #[test]
    fn upgraded_browser_is_still_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let program = program_in(folder.path());
        let child = start_program(&program, "sleep 60 & wait", &["--user-data-dir=/p"]);
        let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
        wait_until_running(&own);
        own.note_executable();
        std::fs::remove_file(&program).unwrap();
        assert!(own.is_running());
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<LaunchedProcess>(&text).unwrap(), own);
        kill(&own, child);
    }

    #[test]
    fn process_that_has_exited_is_not_alive() {
        let mut child = start(&[]);
        let process = ProcessIdentity::of(child.id());
        assert!(process.is_alive());
        child.kill().unwrap();
        // Its parent has not waited for it, so its id is still taken.
        #[cfg(target_os = "linux")]
        while process.is_alive() {
            std::thread::sleep(POLL_INTERVAL);
        }
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert!(!ProcessIdentity::of(child.id()).is_alive());
    }
}
