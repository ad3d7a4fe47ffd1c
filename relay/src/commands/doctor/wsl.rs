//! Networking between Windows and WSL.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::finding::{Finding, note};
use crate::http::peer;

/// How long `wslinfo` may take.
const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn check() -> Option<Finding> {
    if !peer::in_wsl() {
        return None;
    }
    let mode = networking_mode().await;
    Some(describe(mode.as_deref()))
}

/// `nat`, `mirrored`, `virtioproxy` or `none`. Old versions of WSL do not report it.
async fn networking_mode() -> Option<String> {
    let asking = Command::new("wslinfo")
        .arg("--networking-mode")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, asking).await.ok()?.ok()?;
    let mode = String::from_utf8(output.stdout).ok()?;
    Some(mode.trim().to_owned())
}

fn describe(mode: Option<&str>) -> Finding {
    match mode {
        Some("mirrored") => note(
            "This is WSL with mirrored networking. Linux cannot tell which user a Windows program belongs to, so the relay serves such programs nothing but the extension, which proves who it is.",
            "Run clients inside WSL. The browser with the extension may run on Windows.",
        ),
        Some("none") => note(
            "This is WSL without networking. Nothing on Windows can reach the relay.",
            "Use a browser inside WSL: `tabwire up`. To use one on Windows, set `networkingMode=mirrored` in %UserProfile%\\.wslconfig and run `wsl --shutdown`.",
        ),
        Some("nat" | "virtioproxy") => note(
            "This is WSL. A browser on Windows reaches the relay only while WSL forwards localhost, which is the default.",
            "If the browser does not connect, check `localhostForwarding` in %UserProfile%\\.wslconfig, or set `networkingMode=mirrored` there and run `wsl --shutdown`. Run clients inside WSL.",
        ),
        _ => note(
            "This is WSL. With mirrored networking, Linux cannot tell which user a Windows program belongs to, so the relay serves such programs nothing but the extension, which proves who it is.",
            "Run clients inside WSL. The browser with the extension may run on Windows.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_advice_of_its_own() {
        for (mode, expected) in [
            (Some("mirrored"), "mirrored networking"),
            (Some("nat"), "forwards localhost"),
            (Some("virtioproxy"), "forwards localhost"),
            (Some("none"), "without networking"),
            (Some("new"), "With mirrored networking"),
            (None, "With mirrored networking"),
        ] {
            let text = describe(mode).text;
            assert!(text.contains(expected), "{mode:?}: {text}");
        }
    }
}
