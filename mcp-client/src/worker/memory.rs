//! Kills a worker that uses too much memory, whether a call is running or earlier code left
//! something running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// On systems other than Linux, each check starts a process.
const CHECK_INTERVAL: Duration = Duration::from_millis(if cfg!(target_os = "linux") {
    250
} else {
    1_000
});

pub struct MemoryWatch {
    exceeded: Arc<AtomicBool>,
    /// Dropping it ends the watch.
    task: JoinSet<()>,
}

impl MemoryWatch {
    pub fn start(pid: Option<u32>, limit_mib: u64) -> Self {
        let exceeded = Arc::new(AtomicBool::new(false));
        let mut task = JoinSet::new();
        let pid = pid.and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            task.spawn(watch(pid, limit_mib, exceeded.clone()));
        }
        Self { exceeded, task }
    }

    /// Must be called before the process is reaped: its pid may soon belong to another process.
    pub fn stop(&mut self) {
        self.task.abort_all();
    }

    /// Whether the worker was killed for using too much memory.
    pub fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}

async fn watch(pid: Pid, limit_mib: u64, exceeded: Arc<AtomicBool>) {
    while memory_of(pid).is_none_or(|mib| mib <= limit_mib) {
        sleep(CHECK_INTERVAL).await;
    }
    exceeded.store(true, Ordering::Relaxed);
    let _ = kill_process(pid, Signal::KILL);
}

/// The memory of a process in MiB.
#[cfg(target_os = "linux")]
fn memory_of(pid: Pid) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    parse_kib(line.trim().strip_suffix(" kB")?)
}

#[cfg(not(target_os = "linux"))]
fn memory_of(pid: Pid) -> Option<u64> {
    let output = std::process::Command::new("ps")
        .args(["-o", "rss=", "-p", &pid.as_raw_nonzero().to_string()])
        .output()
        .ok()?;
    parse_kib(&String::from_utf8_lossy(&output.stdout))
}

fn parse_kib(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok().map(|kib| kib >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_memory_of_a_process() {
        assert!(memory_of(rustix::process::getpid()).is_some_and(|mib| mib > 0));
    }
}
