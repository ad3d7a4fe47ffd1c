//! The watchdog: a process that outlives a relay that is killed, and cleans up after it. It ends the
//! browsers that the relay launched, removes their temporary folders, and removes the relay's files.
//!
//! The relay writes to a pipe what there is to clean up. When the pipe closes, the relay has
//! ended, however it ended; whatever it has not cleaned up by then is left to the watchdog.

use std::fs::File;
use std::io::{self, BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use command_fds::{CommandFdExt as _, FdMapping};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tabwire_home::Home;

use super::leftovers;
use super::process::LaunchedProcess;

/// The hidden command that runs the watchdog.
pub const COMMAND: &str = "watchdog";

/// What is left of one launched browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remains {
    pub process: LaunchedProcess,
    /// A temporary folder.
    pub folder: Option<PathBuf>,
}

impl Remains {
    /// Without a home, its pairings cannot be changed, and the next relay removes the folder.
    async fn clean_up(self, home: Option<&Home>) {
        self.process.stop().await;
        if let (Some(home), Some(folder)) = (home, self.folder) {
            leftovers::remove_folder(home, &folder).await;
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Launched(Remains),
    Stopped { pid: u32 },
}

/// The relay's end of the pipe.
pub struct Watchdog {
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// Without a watchdog the relay works just as well, unless it is killed.
    pub fn start(home: &Home) -> Self {
        let pipe = start(home)
            .inspect_err(|error| tracing::warn!(%error, "cannot start the watchdog"))
            .ok();
        Self {
            pipe: Mutex::new(pipe),
        }
    }

    /// For tests that launch nothing.
    #[cfg(test)]
    pub fn none() -> Self {
        Self {
            pipe: Mutex::new(None),
        }
    }

    /// Lets the watchdog and the next relay recognize a browser if this process is killed. Also when
    /// more is known about one that was launched before. `temporary`: its folder, if it has one.
    pub fn on_launched(&self, process: &LaunchedProcess, temporary: Option<&Path>) {
        // The watchdog first, because until it knows, nobody would stop the browser.
        self.send(&Message::Launched(Remains {
            process: process.clone(),
            folder: temporary.map(Path::to_owned),
        }));
        if let Some(folder) = temporary {
            leftovers::write_process(folder, process);
        }
    }

    pub fn on_stopped(&self, pid: u32) {
        self.send(&Message::Stopped { pid });
    }

    fn send(&self, message: &Message) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut()
            && let Ok(text) = serde_json::to_string(message)
            && let Err(error) = writeln!(pipe, "{text}")
        {
            tracing::warn!(%error, "the watchdog is gone");
        }
    }
}

fn start(home: &Home) -> io::Result<ChildStdin> {
    let nothing = |child_fd| -> io::Result<FdMapping> {
        let parent_fd = File::open("/dev/null")?.into();
        Ok(FdMapping {
            parent_fd,
            child_fd,
        })
    };
    let mut command = Command::new(std::env::current_exe()?);
    // A client of `tabwire pipe` must not wait for the watchdog to close the pipe, too.
    command
        .fd_mappings(vec![nothing(3)?, nothing(4)?])
        .map_err(io::Error::other)?;
    let mut child = command
        .arg(COMMAND)
        .env("TABWIRE_HOME", home.path())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Signals to the relay's group must not reach it.
        .process_group(0)
        .spawn()?;
    child
        .stdin
        .take()
        .ok_or_else(|| io::Error::other("no pipe"))
}

/// Runs the watchdog, until the relay at the other end of stdin has ended and nothing is left of it.
pub async fn run() {
    let remains = tokio::task::spawn_blocking(|| read_remains(io::stdin().lock())).await;
    let home = Home::open().ok();
    let home = home.as_ref();
    let cleaning = remains.unwrap_or_default().into_iter();
    join_all(cleaning.map(|remains| remains.clean_up(home))).await;
    if let Some(home) = home {
        home.remove_stale_files();
    }
}

/// Reads until the relay has ended.
fn read_remains(pipe: impl BufRead) -> Vec<Remains> {
    let mut remains = Vec::<Remains>::new();
    for line in pipe.lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Message::Launched(launched)) => {
                remains.retain(|each| each.process.pid() != launched.process.pid());
                remains.push(launched);
            }
            Ok(Message::Stopped { pid }) => remains.retain(|each| each.process.pid() != pid),
            Err(_) => {}
        }
    }
    remains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remains(pid: u32, profile: &str) -> Remains {
        Remains {
            process: LaunchedProcess::new(pid, PathBuf::from(profile), true),
            folder: None,
        }
    }

    #[test]
    fn latest_report_about_a_browser_counts_until_it_is_stopped() {
        let messages = [
            Message::Launched(remains(1, "/first")),
            Message::Launched(remains(2, "/stopped")),
            Message::Launched(remains(1, "/latest")),
            Message::Stopped { pid: 2 },
        ];
        let lines = messages.map(|message| serde_json::to_string(&message).unwrap());
        let text = format!("{}\nnot a message\n", lines.join("\n"));
        assert_eq!(read_remains(text.as_bytes()), [remains(1, "/latest")]);
    }
}
