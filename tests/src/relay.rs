//! One relay process with its own home folder. Dropping it ends that process and no other.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{self, Exit};
use crate::{Installation, binary, http, until};

pub struct StartOptions<'a> {
    /// For `tabwire serve`.
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a str)],
    /// The folder that holds the home; `None` creates a new one.
    pub home: Option<Arc<TempDir>>,
    /// In octal, as the shell takes it: `022`.
    pub umask: Option<&'a str>,
    /// A program that runs the relay in its place, such as `setpriv`, with its arguments.
    pub launcher: &'a [&'a str],
}

impl Default for StartOptions<'_> {
    fn default() -> Self {
        Self {
            arguments: &["--port", "0"],
            environment: &[],
            home: None,
            umask: None,
            launcher: &[],
        }
    }
}

pub struct Relay {
    pub port: u16,
    /// Holds the relay's home in `home`, and is removed with the last relay that uses it.
    folder: Arc<TempDir>,
    /// Output goes to files, not to pipes: a full pipe would block the relay, and what it wrote
    /// before it replied can be read at once.
    output: TempDir,
    child: Child,
    installation: OnceLock<Installation>,
}

/// What is left of a relay that was stopped.
pub struct Stopped {
    pub exit: Exit,
    pub home: PathBuf,
    pub folder: Arc<TempDir>,
}

impl Relay {
    /// Runs `tabwire serve --port 0` with these arguments and waits until it accepts connections.
    pub async fn start(arguments: &[&str]) -> Self {
        Self::start_with(StartOptions {
            arguments: &[&["--port", "0"], arguments].concat(),
            ..StartOptions::default()
        })
        .await
    }

    pub async fn start_with(options: StartOptions<'_>) -> Self {
        match Self::try_start(options).await {
            Ok(relay) => relay,
            Err(exit) => panic!("the relay did not start: {exit:?}"),
        }
    }

    /// Returns the exit of a relay that fails to start.
    pub async fn try_start(options: StartOptions<'_>) -> Result<Self, Exit> {
        let output = TempDir::new().unwrap();
        let file = |name: &str| File::create(output.path().join(name)).unwrap();
        let folder = options
            .home
            .unwrap_or_else(|| Arc::new(TempDir::new().unwrap()));
        let child = command(&home_in(&folder), options.umask, options.launcher)
            .arg("serve")
            .args(patient(options.arguments))
            .args(options.arguments)
            .envs(options.environment.iter().copied())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("tabwire starts");
        let mut relay = Self {
            port: 0,
            folder,
            output,
            child,
            installation: OnceLock::new(),
        };
        match relay.until_ready().await {
            Ok(port) => {
                relay.port = port;
                Ok(relay)
            }
            Err(code) => Err(relay.exit(code)),
        }
    }

    /// Returns the port, or the exit code if the process ends first.
    async fn until_ready(&mut self) -> Result<u16, Option<i32>> {
        until("the relay is ready or exits", async || {
            let stdout = self.stdout();
            if stdout.contains("Ctrl-C to stop") {
                let port = stdout
                    .split("127.0.0.1:")
                    .nth(1)
                    .and_then(|rest| rest.split(',').next())
                    .and_then(|port| port.parse().ok());
                return Some(Ok(port.expect("the first line names the port")));
            }
            let exited = self.child.try_wait().unwrap();
            exited.map(|status| Err(status.code()))
        })
        .await
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn home(&self) -> PathBuf {
        home_in(&self.folder)
    }

    /// For another relay that uses the same home.
    pub fn shared_home(&self) -> Arc<TempDir> {
        self.folder.clone()
    }

    /// The installation of the extension that is paired with this relay.
    pub fn installation(&self) -> Installation {
        self.installation
            .get_or_init(|| Installation::paired(&self.home()))
            .clone()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(self.home().join("auth-token")).unwrap()
    }

    /// The path of the client endpoint, with the token.
    pub fn cdp_path(&self) -> String {
        format!("/cdp?token={}", self.token())
    }

    pub fn stdout(&self) -> String {
        fs::read_to_string(self.output.path().join("stdout")).unwrap()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.output.path().join("stderr")).unwrap()
    }

    /// Current resident memory in MiB.
    pub fn memory(&self) -> usize {
        self.memory_of("VmRSS:")
    }

    /// The most that has been resident, in MiB.
    pub fn peak_memory(&self) -> usize {
        self.memory_of("VmHWM:")
    }

    fn memory_of(&self, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .unwrap()
            .trim()
            .trim_end_matches(" kB");
        kib.parse::<usize>().unwrap() >> 10
    }

    /// Whether the process is running and responds.
    pub async fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none() && self.get("/").await["status"] == "ok"
    }

    /// The JSON of a page that needs no token.
    pub async fn get(&self, path: &str) -> Value {
        let response = http::get(self.port, path, &[]).await;
        assert_eq!(response.status, 200, "GET {path}: {response:?}");
        response.json()
    }

    pub async fn until_clients(&self, count: usize) {
        until(&format!("{count} clients are connected"), async || {
            (self.get("/").await["clients"] == count).then_some(())
        })
        .await;
    }

    pub async fn until_extension(&self, connected: bool) {
        until(
            &format!("the extension is connected: {connected}"),
            async || (self.get("/").await["extension"] == connected).then_some(()),
        )
        .await;
    }

    /// Sends a signal and waits until the process has ended.
    pub async fn stop(mut self, signal: Signal) -> Stopped {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let status = until("the relay exits", async || self.child.try_wait().unwrap()).await;
        Stopped {
            exit: self.exit(status.code()),
            home: self.home(),
            folder: self.folder.clone(),
        }
    }

    /// Waits until the process ends on its own.
    pub async fn wait(&mut self) -> Exit {
        let status = until("the relay exits", async || self.child.try_wait().unwrap()).await;
        self.exit(status.code())
    }

    fn exit(&self, code: Option<i32>) -> Exit {
        Exit {
            code,
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(home: &Path, umask: Option<&str>, launcher: &[&str]) -> Command {
    // `exec` keeps the pid, so the test still owns the relay and not a shell around it.
    const SET_UMASK: [&str; 4] = ["sh", "-c", "umask \"$1\"; shift; exec \"$@\"", "sh"];
    let launcher = match umask {
        Some(umask) => [&SET_UMASK[..], &[umask], launcher].concat(),
        None => launcher.to_vec(),
    };
    let Some((program, arguments)) = launcher.split_first() else {
        return process::command(home);
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(binary());
    process::isolate(&mut command, home);
    command
}

/// A subfolder, because the relay creates its home itself.
fn home_in(folder: &TempDir) -> PathBuf {
    folder.path().join("home")
}

/// Clients of tests answer pings only while they read, which may take longer than a relay waits.
fn patient(arguments: &[&str]) -> &'static [&'static str] {
    if arguments.contains(&"--client-timeout") {
        &[]
    } else {
        &["--client-timeout", "0"]
    }
}
