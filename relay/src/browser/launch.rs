//! Starting a browser of our own with the extension in it. Never touches one that runs already.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use command_fds::{CommandFdExt as _, FdMapping};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use crate::browser::detect::Browser;
use crate::cli::LoadBy;

pub struct Launch<'a> {
    pub browser: &'a Browser,
    pub profile: &'a Path,
    pub extension: &'a Path,
    pub headless: bool,
    pub load_by: LoadBy,
    pub arguments: &'a [String],
}

/// A browser that we started.
pub struct Running {
    pub child: Child,
    /// Open as long as the browser shall run: it ends when its debugging pipe does.
    pipe: Option<DebuggingPipe>,
}

impl Launch<'_> {
    pub async fn start(&self) -> anyhow::Result<Running> {
        let by_pipe = match self.load_by {
            // The flag takes a list with commas, so a path with one is not a path there.
            LoadBy::Auto => {
                matches!(self.browser.name, "chrome" | "edge")
                    || self.extension.to_string_lossy().contains(',')
            }
            LoadBy::Flag => false,
            LoadBy::Pipe => true,
        };
        let mut command = Command::new(&self.browser.path);
        command
            .args(self.arguments_for_browser(by_pipe))
            .stdin(Stdio::null())
            // A browser's chatter is not ours; `--enable-logging=stderr` brings it back.
            .stdout(Stdio::null())
            .stderr(
                if self
                    .arguments
                    .iter()
                    .any(|a| a.starts_with("--enable-logging"))
                {
                    Stdio::inherit()
                } else {
                    Stdio::null()
                },
            )
            // Ctrl-C in the terminal is for us; we end the browser in our own time.
            .process_group(0)
            .kill_on_drop(true);
        let pipe = if by_pipe {
            Some(DebuggingPipe::for_command(&mut command)?)
        } else {
            None
        };
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.browser.path.display()))?;
        // The command still holds the browser's ends of the pipe; without them its end is seen.
        drop(command);
        let mut running = Running { child, pipe };
        if let Some(pipe) = &mut running.pipe {
            pipe.load_extension(self.extension).await?;
        }
        Ok(running)
    }

    fn arguments_for_browser(&self, by_pipe: bool) -> Vec<String> {
        let mut arguments = vec![
            format!("--user-data-dir={}", self.profile.display()),
            // This browser is started for automation: Chrome's notice of it would only take room.
            "--silent-debugger-extension-api".to_owned(),
            "--no-first-run".to_owned(),
            "--no-default-browser-check".to_owned(),
        ];
        if by_pipe {
            arguments.extend([
                "--remote-debugging-pipe".to_owned(),
                "--enable-unsafe-extension-debugging".to_owned(),
            ]);
        } else {
            arguments.push(format!("--load-extension={}", self.extension.display()));
            arguments.push("--disable-features=DisableLoadExtensionCommandLineSwitch".to_owned());
        }
        if self.headless {
            arguments.push("--headless=new".to_owned());
        }
        if rustix::process::geteuid().is_root() {
            // Chromium does not start as root with its sandbox.
            arguments.push("--no-sandbox".to_owned());
        }
        arguments.extend(self.arguments.iter().cloned());
        // Chrome's own new-tab page is out of a client's reach; this one is a tab to begin with.
        arguments.push("about:blank".to_owned());
        arguments
    }
}

impl Running {
    /// Asks the browser to end, and ends it if it does not.
    pub async fn stop(&mut self) {
        let polite = Duration::from_secs(5);
        self.pipe = None;
        // The group that was made for it: what is started may be a script with the browser below it.
        if let Some(group) = self
            .child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, Signal::TERM);
            if tokio::time::timeout(polite, self.child.wait())
                .await
                .is_ok()
            {
                return;
            }
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill().await;
    }
}

/// CDP over two pipes: messages end with a zero byte.
struct DebuggingPipe {
    to_browser: pipe::Sender,
    from_browser: BufReader<pipe::Receiver>,
}

impl DebuggingPipe {
    fn for_command(command: &mut Command) -> anyhow::Result<Self> {
        let (browser_reads, to_browser) = std::io::pipe()?;
        let (from_browser, browser_writes) = std::io::pipe()?;
        let mapping = |end: OwnedFd, child_fd| FdMapping {
            parent_fd: end,
            child_fd,
        };
        command.fd_mappings(vec![
            mapping(browser_reads.into(), 3),
            mapping(browser_writes.into(), 4),
        ])?;
        Ok(Self {
            to_browser: pipe::Sender::from_owned_fd(to_browser.into())?,
            from_browser: BufReader::new(pipe::Receiver::from_owned_fd(from_browser.into())?),
        })
    }

    async fn load_extension(&mut self, extension: &Path) -> anyhow::Result<()> {
        let request = serde_json::json!({ "id": 1, "method": "Extensions.loadUnpacked", "params": { "path": extension } });
        self.to_browser
            .write_all(format!("{request}\0").as_bytes())
            .await?;
        let mut reply = Vec::new();
        let read = self.from_browser.read_until(0, &mut reply);
        let length = tokio::time::timeout(Duration::from_secs(30), read)
            .await
            .context("the browser does not answer on its debugging pipe")??;
        if length == 0 {
            // It has ended; who waits for it says so.
            return Ok(());
        }
        reply.pop();
        let reply: serde_json::Value = serde_json::from_slice(&reply)?;
        if let Some(error) = reply.get("error") {
            bail!("the browser did not load the extension: {error}");
        }
        Ok(())
    }
}

/// Whether a window could be shown.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
