//! A process group: whether anything is left of it, and ending all of it. Whoever calls this has made
//! sure that the group is the one that it launched.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use tokio::task::spawn_blocking;

use super::process::is_alive;
#[cfg(target_os = "linux")]
use super::process::stat;

/// How long the processes may take to exit before they are killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the kernel may take to end processes that were killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often a poll also looks for processes that have exited, but that nobody has waited for.
const POLLS_PER_SEARCH: u32 = 10;

/// Its id is not given to another process or group as long as the group has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that this process leads, or has led.
    pub fn of(leader: u32) -> Option<Self> {
        let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
        leader.map(Self)
    }

    /// Asks all processes to exit, and kills those that do not. The one that was started may be a
    /// script, which exits before the browser that it has started.
    pub async fn stop(self) {
        self.signal(Signal::TERM);
        let exited = tokio::time::timeout(EXIT_TIMEOUT, self.exited());
        if exited.await.is_err() {
            self.signal(Signal::KILL);
            let _ = tokio::time::timeout(KILL_TIMEOUT, self.exited()).await;
        }
    }

    pub fn signal(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    async fn exited(self) {
        let mut polls: u32 = 0;
        while self.exists() {
            polls += 1;
            // Usually somebody waits for the processes, so that the group does not exist any more. Looking
            // at all processes takes longer.
            if polls.is_multiple_of(POLLS_PER_SEARCH) && !self.has_members().await {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Whether there are processes, which may have exited.
    fn exists(self) -> bool {
        test_kill_process_group(self.0).is_ok()
    }

    async fn has_members(self) -> bool {
        let is_led = is_alive(self.0.as_raw_pid().unsigned_abs());
        let members = async || spawn_blocking(move || self.members()).await;
        is_led || members().await.is_ok_and(|members| !members.is_empty())
    }

    /// The processes of the group that have not exited.
    #[cfg(target_os = "linux")]
    pub fn members(self) -> Vec<u32> {
        let group = self.0.as_raw_pid();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
        let is_member = |pid: &u32| stat(*pid).is_some_and(|own| own.group == group);
        pids.filter(is_member).collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn members(self) -> Vec<u32> {
        let group = self.0.as_raw_pid().to_string();
        let columns = ["-A", "-o", "pid=,pgid=,stat="];
        let output = std::process::Command::new("ps").args(columns).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let member = |line: &str| {
            let mut fields = line.split_whitespace();
            let (pid, own, state) = (fields.next()?, fields.next()?, fields.next()?);
            (own == group && !state.starts_with('Z')).then(|| pid.parse().ok())?
        };
        text.lines().filter_map(member).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    /// A script that starts a child and prints a line when both are ready.
    fn start(script: &str) -> Child {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        child
    }

    /// Waits for the leader, as the relay does, so that only its group is left.
    async fn stop(group: ProcessGroup, mut leader: Child) {
        let waiting = tokio::task::spawn_blocking(move || leader.wait());
        group.stop().await;
        waiting.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn child_that_ignores_the_request_is_killed_although_its_script_exits() {
        let script = "sh -c \"trap '' TERM; echo ready; while :; do sleep 1; done\" & wait";
        let leader = start(script);
        let group = ProcessGroup::of(leader.id()).unwrap();
        assert!(group.members().len() >= 2, "a script and its child");
        stop(group, leader).await;
        assert!(group.members().is_empty());
        assert!(!group.has_members().await);
    }

    #[tokio::test]
    async fn group_that_exits_is_not_waited_for_any_longer() {
        let leader = start("sleep 60 & echo ready; wait");
        let group = ProcessGroup::of(leader.id()).unwrap();
        let stopped = tokio::time::timeout(EXIT_TIMEOUT, stop(group, leader)).await;
        assert!(stopped.is_ok() && group.members().is_empty());
    }
}
