//! The worker: one Node process that runs an agent's code and takes requests as JSON lines, one at
//! a time.
//!
//! A worker that does not reply is killed from here, because nothing inside a process can stop an
//! endless loop.

mod memory;
mod stderr_tail;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::error::Error;
use crate::response::Report;
use crate::runner::Runner;
use crate::secrets;
use memory::MemoryWatch;
use stderr_tail::StderrTail;

pub struct Worker {
    child: Child,
    requests: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    memory_limit_mib: u64,
    memory: MemoryWatch,
    stderr: StderrTail,
    /// The runner's folder, for the error that says how to reinstall it.
    folder: PathBuf,
    /// What the code of the current request has printed.
    pub output: String,
    /// The target id of the current page.
    pub page: Option<String>,
    /// Tabs that were opened since they were last taken, and whether they are to stay.
    pub opened: Vec<OpenedTab>,
    /// Tabs that the code wants to stay.
    pub kept: Vec<String>,
}

/// A line from the worker.
#[derive(Deserialize)]
#[serde(untagged)]
enum FromWorker {
    Event(Event),
    Reply(Reply),
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Output { text: String },
    Page { target: String },
    Opened(OpenedTab),
    Kept { target: String },
}

/// A tab that the session has opened.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub struct OpenedTab {
    pub target: String,
    /// Whether the code asked for it. Otherwise it was opened because the code used `page` when there
    /// was none.
    pub explicit: bool,
}

#[derive(Deserialize)]
pub struct Reply {
    id: u64,
    #[serde(default)]
    pub ok: Value,
    pub error: Option<Report>,
}

impl Worker {
    pub fn start(runner: &Runner, memory_limit_mib: u64) -> Result<Self, Error> {
        let failed = |reason: String| Error::WorkerStart {
            reason,
            folder: runner.folder.clone(),
        };
        let mut child = spawn(runner, memory_limit_mib).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoNode("`node` was not found".into()),
            _ => failed(error.to_string()),
        })?;
        let (Some(requests), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("its pipes are missing".into()));
        };
        Ok(Self {
            requests,
            lines: BufReader::new(stdout).lines(),
            last_id: 0,
            memory_limit_mib,
            memory: MemoryWatch::start(child.id(), memory_limit_mib),
            stderr: StderrTail::read(stderr),
            child,
            folder: runner.folder.clone(),
            output: String::new(),
            page: None,
            opened: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Sends a request and waits for its reply. If this future is dropped before that, the worker
    /// must be killed.
    pub async fn request(&mut self, method: &str, mut parameters: Value) -> Result<Reply, Error> {
        self.last_id += 1;
        self.output.clear();
        if let Some(fields) = parameters.as_object_mut() {
            fields.insert("id".into(), json!(self.last_id));
            fields.insert("do".into(), json!(method));
        }
        let line = format!("{parameters}\n");
        if self.requests.write_all(line.as_bytes()).await.is_err() {
            return Err(self.exited().await);
        }
        loop {
            let line = match self.lines.next_line().await {
                Ok(Some(line)) => line,
                // The process is still running, so waiting for its exit would never end.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(unparseable(error));
                }
                _ => return Err(self.exited().await),
            };
            if let Some(reply) = self.on_line(&line)? {
                return Ok(reply);
            }
        }
    }

    /// An unparseable line may have been the reply, so it is an error.
    fn on_line(&mut self, line: &str) -> Result<Option<Reply>, Error> {
        match serde_json::from_str(line).map_err(unparseable)? {
            FromWorker::Event(Event::Output { text }) => self.output.push_str(&text),
            FromWorker::Event(Event::Page { target }) => self.page = Some(target),
            FromWorker::Event(Event::Opened(tab)) => self.opened.push(tab),
            FromWorker::Event(Event::Kept { target }) => self.kept.push(target),
            FromWorker::Reply(reply) if reply.id == self.last_id => return Ok(Some(reply)),
            FromWorker::Reply(_) => {}
        }
        Ok(None)
    }

    /// Explains why the process exited.
    async fn exited(&mut self) -> Error {
        self.memory.stop();
        let status = self.child.wait().await;
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let stderr = self.stderr.complete().await;
        if self.memory.exceeded() || stderr.contains("heap out of memory") {
            return Error::OutOfMemory(self.memory_limit_mib);
        }
        let cause = stderr.lines().find(|line| line.contains("Error"));
        let reason = match cause {
            Some(cause) => format!("{status}: {}", cause.trim()),
            None => status,
        };
        // A worker that never replied is broken, and the next one would be too.
        let is_new = self.last_id == 1;
        if is_new {
            Error::WorkerStart {
                reason,
                folder: self.folder.clone(),
            }
        } else {
            Error::WorkerExited(reason)
        }
    }

    pub async fn kill(mut self) {
        self.memory.stop();
        let _ = self.child.kill().await;
    }
}

fn spawn(runner: &Runner, memory_limit_mib: u64) -> io::Result<Child> {
    // Memory outside of V8's heap counts too, so the heap gets most of the limit and not all of it.
    let heap = format!("--max-old-space-size={}", memory_limit_mib * 3 / 4);
    let mut command = Command::new("node");
    for variable in secrets::variables() {
        command.env_remove(variable);
    }
    command
        .arg(heap)
        .arg(runner.main())
        .current_dir(&runner.folder)
        // The user set these for their own programs, and with `DEBUG` Playwright prints the URL
        // with the token.
        .env_remove("NODE_OPTIONS")
        .env_remove("NODE_DEBUG")
        .env_remove("DEBUG")
        .env_remove("DEBUG_FILE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

fn unparseable(error: impl std::fmt::Display) -> Error {
    Error::WorkerExited(format!("stopped after unparseable output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_line_as_event_or_reply() {
        let event = serde_json::from_str(r#"{"event":"page","target":"AB"}"#).unwrap();
        assert!(matches!(event, FromWorker::Event(Event::Page { target }) if target == "AB"));
        let reply = serde_json::from_str(r#"{"id":3,"ok":{"text":"x"}}"#).unwrap();
        assert!(matches!(
            reply,
            FromWorker::Reply(Reply {
                id: 3,
                error: None,
                ..
            })
        ));
    }
}
