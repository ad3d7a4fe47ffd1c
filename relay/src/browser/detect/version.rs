//! The version of an installed browser: read from its files where they say it, otherwise asked of the
//! program with `--version`, which opens no window and no profile.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::browser::detect::environment::System;

/// How long a program may take to print its version.
pub const TIMEOUT: Duration = Duration::from_secs(3);
/// More than any browser prints.
const MAX_OUTPUT: u64 = 4096;

pub async fn version(system: System, program: &Path, timeout: Duration) -> Option<String> {
    match system {
        System::Linux => ask(program, timeout).await,
        System::MacOs => from_bundle(program),
        System::Windows => from_folder(program),
    }
}

/// `CFBundleShortVersionString` in `Contents/Info.plist`, beside `Contents/MacOS`.
fn from_bundle(program: &Path) -> Option<String> {
    let contents = program.parent()?.parent()?;
    let plist = fs::read_to_string(contents.join("Info.plist")).ok()?;
    let (_, after) = plist.split_once("<key>CFBundleShortVersionString</key>")?;
    let (_, after) = after.split_once("<string>")?;
    let (version, _) = after.split_once("</string>")?;
    Some(version.trim().to_owned())
}

/// The folder of the newest version beside the program. During an update there are two.
fn from_folder(program: &Path) -> Option<String> {
    let entries = fs::read_dir(program.parent()?).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbered = names.filter_map(|name| Some((numbers(&name)?, name)));
    Some(numbered.max()?.1)
}

/// `137.0.7151.104` as numbers.
fn numbers(version: &str) -> Option<Vec<u32>> {
    let parts: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| parts.len() >= 3)
}

async fn ask(program: &Path, timeout: Duration) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // The program may be a script with the browser as its child.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let group = child.id().and_then(|pid| i32::try_from(pid).ok());
    let mut output = String::new();
    let mut stdout = child.stdout.take()?.take(MAX_OUTPUT);
    let read = tokio::time::timeout(timeout, stdout.read_to_string(&mut output)).await;
    if !matches!(read, Ok(Ok(_))) {
        if let Some(group) = group.and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        return None;
    }
    parse(&output)
}

/// `Google Chrome 137.0.7151.104 unknown` or `Chromium 156.0.8078.79 built on Debian GNU/Linux 12`.
fn parse(output: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    output
        .split_whitespace()
        .find(is_version)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_in_the_output_of_each_browser() {
        for (output, expected) in [
            (
                "Google Chrome 137.0.7151.104 unknown\n",
                Some("137.0.7151.104"),
            ),
            (
                "Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)\n",
                Some("156.0.8078.79"),
            ),
            ("Vivaldi 7.4.3684.43 stable\n", Some("7.4.3684.43")),
            ("", None),
            ("Error: no display\n", None),
        ] {
            assert_eq!(parse(output).as_deref(), expected, "{output}");
        }
    }

    /// Whether a process has ended. It may be a zombie until init collects it.
    #[cfg(target_os = "linux")]
    fn has_ended(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn stops_a_program_that_does_not_answer() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("chromium");
        let pid_file = folder.path().join("pid");
        // The shell waits for its child, as the wrapper scripts of distributions may.
        let write_pid = format!("echo $! > '{}'", pid_file.display());
        fs::write(
            &program,
            format!("#!/bin/sh\nsleep 600 &\n{write_pid}\nwait\n"),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let version = version(System::Linux, &program, Duration::from_secs(1)).await;
        assert_eq!(version, None);
        let child = fs::read_to_string(pid_file).unwrap();
        let ended = async {
            while !has_ended(child.trim()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(5), ended).await;
        assert!(ended.is_ok(), "the child is still running");
    }
}
