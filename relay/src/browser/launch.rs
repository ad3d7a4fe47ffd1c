//! Starting a browser of our own with the extension in it. Never touches one that runs already.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::{Child, Command};

use crate::browser::detect::Browser;

pub struct Launch<'a> {
    pub browser: &'a Browser,
    pub profile: &'a Path,
    pub extension: &'a Path,
    pub headless: bool,
    pub arguments: &'a [String],
}

impl Launch<'_> {
    pub fn start(&self) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.browser.path);
        command
            .args(self.arguments_for_browser())
            .stdin(Stdio::null())
            // A browser's chatter is not ours; `--enable-logging=stderr` brings it back.
            .stdout(Stdio::null())
            .stderr(if self.arguments.iter().any(|a| a.starts_with("--enable-logging")) { Stdio::inherit() } else { Stdio::null() })
            // Ctrl-C in the terminal is for us; we end the browser in our own time.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().with_context(|| format!("cannot start {}", self.browser.path.display()))
    }

    fn arguments_for_browser(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--user-data-dir={}", self.profile.display()),
            format!("--load-extension={}", self.extension.display()),
            "--disable-features=DisableLoadExtensionCommandLineSwitch".to_owned(),
            // This browser is started for automation: Chrome's notice of it would only take room.
            "--silent-debugger-extension-api".to_owned(),
            "--no-first-run".to_owned(),
            "--no-default-browser-check".to_owned(),
        ];
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

/// Whether a window could be shown.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Asks a browser we started to end, and ends it if it does not.
pub async fn stop(child: &mut Child) {
    let polite = std::time::Duration::from_secs(5);
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        if tokio::time::timeout(polite, child.wait()).await.is_ok() {
            return;
        }
    }
    let _ = child.kill().await;
}
