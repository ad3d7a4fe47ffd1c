//! The processes under test: started in a folder of their own, measured through `/proc`, ended again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

pub struct Process {
    child: Child,
    /// Holds the process's files; goes with it.
    home: tempfile::TempDir,
}

/// The relay's binary: `TABWIRE_BIN`, or the one built beside this program.
pub fn tabwire() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("TABWIRE_BIN") {
        return Ok(path.into());
    }
    Ok(std::env::current_exe()?.with_file_name("tabwire"))
}

impl Process {
    pub fn start(program: &Path, args: &[&str]) -> anyhow::Result<Self> {
        // Private, or the relay would have to close it first.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        let home = tempfile::Builder::new()
            .prefix("tabwire-bench-")
            .permissions(private)
            .tempdir()?;
        let mut command = Command::new(program);
        command
            .args(args)
            .env("TABWIRE_HOME", home.path())
            .env("TABWIRE_LOG", "warn");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { child, home })
    }

    /// What the process wrote to this file of its home, as soon as it is there.
    pub async fn file(&mut self, name: &str) -> anyhow::Result<String> {
        let path = self.home.path().join(name);
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if let Ok(text) = fs::read_to_string(&path) {
                return Ok(text);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the process under test ended: {status}");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bail!("{name} was not written in time")
    }

    /// Time on a processor so far, of all threads, by the scheduler's own count.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(self.proc_file("task"))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            nanoseconds += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        self.status_kib("VmRSS:")
    }

    /// The most that was resident since `reset_peak`.
    pub fn peak_kib(&self) -> anyhow::Result<u64> {
        self.status_kib("VmHWM:")
    }

    pub fn reset_peak(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.proc_file("clear_refs"), "5")?)
    }

    fn status_kib(&self, field: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(self.proc_file("status"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .with_context(|| format!("no {field}"))?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    fn proc_file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.child.id()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
