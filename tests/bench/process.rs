//! A process under test: starts it in its own home, measures it through `/proc`, and ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use tabwire_tests::Installation;

/// Ended when it is dropped.
pub struct Process {
    child: Child,
    /// The process's home. Removed with it.
    home: tempfile::TempDir,
}

/// The relay's binary: `TABWIRE_BIN`, or the one beside this program.
pub fn tabwire() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("TABWIRE_BIN") {
        return Ok(path.into());
    }
    Ok(std::env::current_exe()?.with_file_name("tabwire"))
}

/// A relay and its port.
pub async fn start_relay(tabwire: &Path) -> anyhow::Result<(Process, u16)> {
    let args = ["serve", "--port", "0"];
    let mut process = Process::start(tabwire, &args)?;
    let state: serde_json::Value = serde_json::from_str(&process.file("state.json").await?)?;
    let port = state.get("port").and_then(serde_json::Value::as_u64);
    Ok((process, u16::try_from(port.context("no port")?)?))
}

impl Process {
    pub fn start(program: &Path, args: &[&str]) -> anyhow::Result<Self> {
        // Otherwise the relay would have to change the mode first.
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
        let child = child.with_context(|| format!("Cannot start {}", program.display()))?;
        Ok(Self { child, home })
    }

    /// The installation of the extension that is paired with this relay.
    pub fn installation(&self) -> Installation {
        Installation::paired(self.home.path())
    }

    /// The contents of a file in the process's home, as soon as it exists.
    pub async fn file(&mut self, name: &str) -> anyhow::Result<String> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let path = self.home.path().join(name);
        let poll = async {
            loop {
                if let Ok(text) = fs::read_to_string(&path) {
                    return Ok(text);
                }
                if let Some(status) = self.child.try_wait()? {
                    bail!("The process under test exited: {status}");
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, poll)
            .await
            .with_context(|| format!("The process did not write {name} in time"))?
    }

    /// The processor time of all threads, as counted by the scheduler.
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

    /// The highest resident memory since `reset_peak`.
    pub fn peak_kib(&self) -> anyhow::Result<u64> {
        self.status_kib("VmHWM:")
    }

    pub fn reset_peak(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.proc_file("clear_refs"), "5")?)
    }

    fn status_kib(&self, field: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(self.proc_file("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let value = line.with_context(|| format!("no {field}"))?;
        Ok(value.trim().trim_end_matches(" kB").parse()?)
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
