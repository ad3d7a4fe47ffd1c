//! The watchdog: a process that outlives a relay that is killed, and cleans up after it. It ends the
//! browsers that the relay launched, removes their temporary folders, and removes the relay's files.
//!
//! The relay writes to a pipe what there is to clean up. When the pipe closes, the relay has
//! ended, however it ended; whatever it has not cleaned up by then is left to the watchdog.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tabwire_home::Home;

use super::expected::{ExpectedBrowser, Moment};
use super::leftovers;
use super::process::LaunchedProcess;

/// The hidden command that runs the watchdog.
pub const COMMAND: &str = "watchdog";
/// How often the relay tries to write to a watchdog that does not read.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What is left of one launched browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Remains {
    browser: Launched,
    /// A temporary folder.
    folder: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Launched {
    /// The relay was about to start it. It may have, without having noted its process.
    Expected(ExpectedBrowser),
    Process(LaunchedProcess),
}

impl Launched {
    fn has_pid(&self, own: u32) -> bool {
        matches!(self, Self::Process(process) if process.pid() == own)
    }

    /// Only one browser at a time can be started with a profile.
    fn is_expected(&self, profile: &Path) -> bool {
        matches!(self, Self::Expected(browser) if browser.profile == profile)
    }
}

impl Remains {
    /// Whether this is more recent news about the same browser.
    fn replaces(&self, earlier: &Self) -> bool {
        match &self.browser {
            Launched::Expected(browser) => earlier.browser.is_expected(&browser.profile),
            Launched::Process(process) => {
                let earlier = &earlier.browser;
                earlier.has_pid(process.pid()) || earlier.is_expected(process.profile())
            }
        }
    }

    /// Without a home, its pairings cannot be changed, and the next relay removes the folder.
    async fn clean_up(self, home: Option<&Home>, relay_ended: Moment) {
        match &self.browser {
            Launched::Expected(browser) => browser.stop(relay_ended).await,
            Launched::Process(process) => process.stop().await,
        }
        if let (Some(home), Some(folder)) = (home, self.folder) {
            leftovers::remove_folder(home, &folder).await;
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Launched(Remains),
    NotStarted { profile: PathBuf },
    Stopped { pid: u32 },
}

/// The relay's end of the pipe.
pub struct Watchdog {
    /// `None` without a watchdog.
    pipe: Arc<Mutex<Option<Pipe>>>,
}

impl Watchdog {
    /// Without a watchdog the relay works just as well, unless it is killed.
    pub fn start(home: &Home) -> Self {
        let pipe = start(home).and_then(|stdin| Pipe::new(OwnedFd::from(stdin)));
        let pipe = pipe.inspect_err(|error| tracing::warn!(%error, "cannot start the watchdog"));
        Self::with(pipe.ok())
    }

    /// For tests that launch nothing.
    #[cfg(test)]
    pub fn none() -> Self {
        Self::with(None)
    }

    fn with(pipe: Option<Pipe>) -> Self {
        Self {
            pipe: Arc::new(Mutex::new(pipe)),
        }
    }

    /// Call this before a browser is started: the relay may be killed before it can note the process.
    pub fn on_launching(&self, browser: ExpectedBrowser, temporary: Option<&Path>) {
        self.send(&Message::Launched(Remains {
            browser: Launched::Expected(browser),
            folder: temporary.map(Path::to_owned),
        }));
    }

    /// A browser that was expected could not be started.
    pub fn on_not_started(&self, profile: &Path) {
        let profile = profile.to_owned();
        self.send(&Message::NotStarted { profile });
    }

    /// Lets the watchdog and the next relay recognize a browser if this process is killed. Also when
    /// more is known about one that was launched before. `temporary`: its folder, if it has one.
    pub fn on_launched(&self, process: &LaunchedProcess, temporary: Option<&Path>) {
        // The watchdog first, because until it knows, nobody would stop the browser.
        self.send(&Message::Launched(Remains {
            browser: Launched::Process(process.clone()),
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
        let Some(open) = pipe.as_mut() else { return };
        let was_empty = open.unwritten.is_empty();
        if let Ok(text) = serde_json::to_string(message) {
            open.unwritten.extend(text.bytes());
            open.unwritten.push_back(b'\n');
        }
        if !flush(&mut pipe) && was_empty {
            let pipe = self.pipe.clone();
            // Not a task of the runtime: it must not matter what that is doing.
            std::thread::spawn(move || retry(&pipe));
        }
    }
}

/// What the watchdog reads from. Writing never waits: a watchdog that is suspended reads nothing, and
/// the relay has to go on.
struct Pipe {
    file: File,
    /// What did not fit into the pipe.
    unwritten: VecDeque<u8>,
}

impl Pipe {
    fn new(file: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&file, true)?;
        Ok(Self {
            file: file.into(),
            unwritten: VecDeque::new(),
        })
    }

    /// Fails with `WouldBlock` if the pipe is full.
    fn write(&mut self) -> io::Result<()> {
        while !self.unwritten.is_empty() {
            let (first, _) = self.unwritten.as_slices();
            match self.file.write(first) {
                Ok(written) => drop(self.unwritten.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns whether nothing is left to write.
fn flush(pipe: &mut Option<Pipe>) -> bool {
    let written = pipe.as_mut().map_or(Ok(()), Pipe::write);
    match written {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        Err(error) => {
            tracing::warn!(%error, "the watchdog is gone");
            *pipe = None;
            true
        }
    }
}

/// Goes on writing until the watchdog has got everything.
fn retry(pipe: &Mutex<Option<Pipe>>) {
    tracing::warn!("the watchdog does not respond");
    loop {
        std::thread::sleep(RETRY_INTERVAL);
        if flush(&mut pipe.lock().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
    }
}

fn start(home: &Home) -> io::Result<ChildStdin> {
    let mut child = Command::new(std::env::current_exe()?)
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
    let ended = Moment::now();
    let home = Home::open().ok();
    let home = home.as_ref();
    let cleaning = remains.unwrap_or_default().into_iter();
    join_all(cleaning.map(|remains| remains.clean_up(home, ended))).await;
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
                remains.retain(|each| !launched.replaces(each));
                remains.push(launched);
            }
            Ok(Message::NotStarted { profile }) => {
                remains.retain(|each| !each.browser.is_expected(&profile));
            }
            Ok(Message::Stopped { pid }) => remains.retain(|each| !each.browser.has_pid(pid)),
            Err(_) => {}
        }
    }
    remains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, profile: &str) -> LaunchedProcess {
        LaunchedProcess::new(pid, PathBuf::from(profile), true)
    }

    fn remains(browser: Launched) -> Remains {
        let folder = None;
        Remains { browser, folder }
    }

    fn launched(pid: u32, profile: &str) -> Remains {
        remains(Launched::Process(process(pid, profile)))
    }

    fn expected(profile: &str) -> ExpectedBrowser {
        ExpectedBrowser::new(PathBuf::from(profile), true)
    }

    #[test]
    fn suspended_watchdog_blocks_nobody_and_gets_everything_later() {
        /// Many times what fits into a pipe.
        const NUMBER: u32 = 2000;
        let (reader, writer) = io::pipe().unwrap();
        let watchdog = Watchdog::with(Some(Pipe::new(writer.into()).unwrap()));
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for pid in 1..=NUMBER {
                watchdog.on_launched(&process(pid, "/profile"), None);
            }
            done.send(watchdog).unwrap();
        });
        let watchdog = is_done.recv_timeout(Duration::from_secs(20));
        let watchdog = watchdog.expect("nothing waits for the watchdog");
        // The watchdog goes on when it is resumed.
        let reading = std::thread::spawn(move || read_remains(io::BufReader::new(reader)));
        while !watchdog
            .pipe
            .lock()
            .unwrap()
            .as_ref()
            .unwrap()
            .unwritten
            .is_empty()
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(watchdog);
        let read = reading.join().unwrap();
        assert_eq!(read.len(), usize::try_from(NUMBER).unwrap());
    }

    #[test]
    fn latest_report_about_a_browser_counts_until_it_is_stopped() {
        let (reader, writer) = io::pipe().unwrap();
        let watchdog = Watchdog::with(Some(Pipe::new(writer.into()).unwrap()));
        let launch = |pid, profile| watchdog.on_launched(&process(pid, profile), None);
        watchdog.on_launching(expected("/first"), None);
        launch(1, "/first");
        launch(2, "/stopped");
        launch(1, "/latest");
        watchdog.on_stopped(2);
        watchdog.on_launching(expected("/not-started"), None);
        watchdog.on_not_started(Path::new("/not-started"));
        let unreported = expected("/unreported");
        watchdog.on_launching(unreported.clone(), None);
        drop(watchdog);
        let left = read_remains(io::BufReader::new(reader));
        let unreported = remains(Launched::Expected(unreported));
        assert_eq!(left, [launched(1, "/latest"), unreported]);
        assert_eq!(read_remains(&b"not a message\n"[..]), []);
    }

    #[tokio::test]
    async fn browser_of_a_relay_that_was_killed_before_it_noted_the_process_is_stopped() {
        let (reader, writer) = io::pipe().unwrap();
        let watchdog = Watchdog::with(Some(Pipe::new(writer.into()).unwrap()));
        watchdog.on_launching(expected("/killed-relay"), None);
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "sleep 60 & wait",
            "sh",
            "--user-data-dir=/killed-relay",
        ]);
        let mut child = command
            .arg("--headless=new")
            .process_group(0)
            .spawn()
            .unwrap();
        // The relay is killed.
        drop(watchdog);
        let [left] = <[_; 1]>::try_from(read_remains(io::BufReader::new(reader))).unwrap();
        tokio::join!(left.clean_up(None, Moment::now()), async {
            let exited = tokio::task::spawn_blocking(move || child.wait());
            assert!(!exited.await.unwrap().unwrap().success(), "it was stopped");
        });
    }
}
