//! One relay process with a home of its own. It is ended when the test is done with it, and no other process is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{self, Ended};
use crate::{http, program, until};

/// How a relay is to be started.
pub struct Start<'a> {
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a str)],
    /// `None` for a new one.
    pub home: Option<Arc<TempDir>>,
    /// As the shell says it: `000`.
    pub umask: Option<&'a str>,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self {
            arguments: &["--port", "0"],
            environment: &[],
            home: None,
            umask: None,
        }
    }
}

pub struct Relay {
    pub port: u16,
    /// Holds the relay's home in `home`; the folder goes when the last relay that uses it has gone.
    folder: Arc<TempDir>,
    /// What the process says goes to files: nobody has to read along.
    output: TempDir,
    child: Child,
}

impl Relay {
    /// `tabwire serve --port 0` and these arguments, ready for connections.
    pub async fn start(arguments: &[&str]) -> Self {
        let arguments = [&["--port", "0"], arguments].concat();
        Self::start_as(Start {
            arguments: &arguments,
            ..Start::default()
        })
        .await
    }

    pub async fn start_as(start: Start<'_>) -> Self {
        match Self::try_start(start).await {
            Ok(relay) => relay,
            Err(ended) => panic!("the relay did not start: {ended:?}"),
        }
    }

    /// Also for a start that is to fail.
    pub async fn try_start(start: Start<'_>) -> Result<Self, Ended> {
        let folder = start.home.unwrap_or_else(new_home);
        let output = TempDir::new().unwrap();
        let mut command = match start.umask {
            None => process::command(&home_in(&folder)),
            Some(umask) => {
                // The shell becomes the relay, so that the process is the one that is watched and ended.
                let mut shell = Command::new("sh");
                shell
                    .args(["-c", "umask \"$1\"; shift; exec \"$@\"", "sh", umask])
                    .arg(program());
                process::isolate(&mut shell, &home_in(&folder));
                shell
            }
        };
        let file = |name: &str| File::create(output.path().join(name)).unwrap();
        command
            .arg("serve")
            .args(start.arguments)
            .envs(start.environment.iter().copied())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        let child = command.spawn().expect("tabwire starts");
        let mut relay = Self {
            port: 0,
            folder,
            output,
            child,
        };
        let ready = until("the relay is ready or ends", async || {
            let says = relay.stdout();
            if says.contains("Ctrl-C stops") {
                let port = says
                    .split("127.0.0.1:")
                    .nth(1)
                    .and_then(|rest| rest.split(',').next())
                    .and_then(|port| port.parse().ok());
                return Some(Ok(port.expect("the first line names the port")));
            }
            relay
                .child
                .try_wait()
                .unwrap()
                .map(|status| Err(status.code()))
        });
        match ready.await {
            Ok(port) => {
                relay.port = port;
                Ok(relay)
            }
            Err(code) => Err(Ended {
                code,
                stdout: relay.stdout(),
                stderr: relay.stderr(),
            }),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn home(&self) -> PathBuf {
        home_in(&self.folder)
    }

    /// To start another relay in the same home.
    pub fn shared_home(&self) -> Arc<TempDir> {
        self.folder.clone()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(self.home().join("auth-token")).unwrap()
    }

    pub fn stdout(&self) -> String {
        fs::read_to_string(self.output.path().join("stdout")).unwrap()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.output.path().join("stderr")).unwrap()
    }

    /// Resident memory now, in MiB.
    pub fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap()
            .trim()
            .trim_end_matches(" kB");
        kib.parse::<usize>().unwrap() >> 10
    }

    /// Whether it still runs and answers.
    pub async fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none() && self.get("/").await["status"] == "ok"
    }

    /// The JSON of an open page.
    pub async fn get(&self, path: &str) -> Value {
        let answer = http::get(self.port, path, &[]).await;
        assert_eq!(answer.status, 200, "GET {path}: {answer:?}");
        answer.json()
    }

    pub async fn until_clients(&self, count: usize) {
        until("the number of clients", async || {
            (self.get("/").await["clients"] == count).then_some(())
        })
        .await;
    }

    /// Asks it to end with a signal, and waits until it has.
    pub async fn stop(mut self, signal: Signal) -> (Ended, PathBuf, Arc<TempDir>) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let status = until("the relay ends", async || self.child.try_wait().unwrap()).await;
        let ended = Ended {
            code: status.code(),
            stdout: self.stdout(),
            stderr: self.stderr(),
        };
        (ended, self.home(), self.folder.clone())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn new_home() -> Arc<TempDir> {
    Arc::new(TempDir::new().unwrap())
}

/// The home itself is left to the relay to make.
fn home_in(folder: &TempDir) -> PathBuf {
    Path::join(folder.path(), "home")
}
