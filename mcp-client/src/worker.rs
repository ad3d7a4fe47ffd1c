//! The worker: one Node process that runs an agent's code, asked by JSON lines. It is asked one thing at a time; what does
//! not answer is ended from here, because nothing inside can end a loop that never ends.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::answer::Failure;
use crate::errors::Error;
use crate::runner::Runner;

/// Elsewhere than on Linux each look is a process of its own.
const LOOK_AT_MEMORY_EVERY: Duration = Duration::from_millis(if cfg!(target_os = "linux") {
    250
} else {
    1_000
});
/// How much of its last words is kept, and how long they may take.
const LAST_WORDS: usize = 2_000;
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);

pub struct Worker {
    child: Child,
    requests: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    memory_mib: u64,
    /// Whether it was ended because it took more.
    is_too_large: Arc<AtomicBool>,
    /// Looks at its memory, and stops with it: the number of a process that has gone may soon be another's.
    watching: JoinSet<()>,
    /// What it wrote to stderr last; Node says there why it ends.
    last_words: Arc<Mutex<String>>,
    /// Hears them to their end.
    listening: JoinHandle<()>,
    /// Where its files are, for the error that says they are no good.
    folder: PathBuf,
    /// What the code of the request under way has printed so far.
    pub said: String,
    /// The target id of the page in use.
    pub page: Option<String>,
    /// Tabs that were opened because code used `page` while none was in use.
    pub opened: Vec<String>,
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
    Opened { target: String },
}

#[derive(Deserialize)]
pub struct Reply {
    id: u64,
    #[serde(default)]
    pub ok: Value,
    pub error: Option<Failure>,
}

impl Worker {
    pub fn start(runner: &Runner, memory_mib: u64) -> Result<Self, Error> {
        // What is outside of V8's heap is watched from here, so the heap gets most of the limit.
        let heap = format!("--max-old-space-size={}", memory_mib * 3 / 4);
        let spawned = Command::new("node")
            .arg(heap)
            .arg(runner.main())
            .current_dir(&runner.folder)
            // They would be the person's, for programs of theirs; and with `DEBUG` Playwright tells the address with the token.
            .env_remove("NODE_OPTIONS")
            .env_remove("NODE_DEBUG")
            .env_remove("DEBUG")
            .env_remove("DEBUG_FILE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = spawned.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoNode("`node` was not found".into()),
            _ => Error::WorkerStart {
                reason: error.to_string(),
                folder: runner.folder.clone(),
            },
        })?;
        let (Some(requests), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::WorkerStart {
                reason: "it has no pipes".into(),
                folder: runner.folder.clone(),
            });
        };
        let last_words = Arc::new(Mutex::new(String::new()));
        let heard = last_words.clone();
        let listening = tokio::spawn(async move {
            let mut bytes = [0; 1024];
            while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
                let text =
                    String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned();
                tracing::debug!(text, "worker");
                keep_end(
                    &mut heard.lock().unwrap_or_else(PoisonError::into_inner),
                    &text,
                );
            }
        });
        let lines = BufReader::new(stdout).lines();
        let is_too_large = Arc::new(AtomicBool::new(false));
        let mut watching = JoinSet::new();
        if let Some(pid) = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
        {
            watching.spawn(watch_memory(pid, memory_mib, is_too_large.clone()));
        }
        Ok(Self {
            child,
            requests,
            lines,
            last_id: 0,
            memory_mib,
            is_too_large,
            watching,
            last_words,
            listening,
            folder: runner.folder.clone(),
            said: String::new(),
            page: None,
            opened: Vec::new(),
        })
    }

    /// Asks one thing. A call that is dropped before its answer leaves a worker that must be ended.
    pub async fn call(&mut self, what: &str, mut parameters: Value) -> Result<Reply, Error> {
        self.last_id += 1;
        self.said.clear();
        if let Some(fields) = parameters.as_object_mut() {
            fields.insert("id".into(), json!(self.last_id));
            fields.insert("do".into(), json!(what));
        }
        let line = format!("{parameters}\n");
        if self.requests.write_all(line.as_bytes()).await.is_err() {
            return Err(self.ended().await);
        }
        loop {
            let line = match self.lines.next_line().await {
                Ok(Some(line)) => line,
                // It is there, so waiting for its end would be waiting for ever.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(unreadable(error));
                }
                _ => return Err(self.ended().await),
            };
            if let Some(reply) = self.hear(&line)? {
                return Ok(reply);
            }
        }
    }

    /// What cannot be understood may have been the answer, so nothing more is waited for.
    fn hear(&mut self, line: &str) -> Result<Option<Reply>, Error> {
        match serde_json::from_str(line).map_err(unreadable)? {
            FromWorker::Event(Event::Output { text }) => self.said.push_str(&text),
            FromWorker::Event(Event::Page { target }) => self.page = Some(target),
            FromWorker::Event(Event::Opened { target }) => self.opened.push(target),
            FromWorker::Reply(reply) if reply.id == self.last_id => return Ok(Some(reply)),
            FromWorker::Reply(_) => {}
        }
        Ok(None)
    }

    async fn ended(&mut self) -> Error {
        self.watching.abort_all();
        let status = self
            .child
            .wait()
            .await
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        let _ = timeout(LAST_WORDS_WITHIN, &mut self.listening).await;
        let words = self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if self.is_too_large.load(Ordering::Relaxed) || words.contains("heap out of memory") {
            return Error::OutOfMemory(self.memory_mib);
        }
        let reason = words
            .lines()
            .find(|line| line.contains("Error"))
            .map(|line| format!(": {}", line.trim()))
            .unwrap_or_default();
        let reason = format!("{status}{reason}");
        // One that has never answered is broken, and the next one would be too.
        let is_new = self.last_id == 1;
        if is_new {
            Error::WorkerStart {
                reason,
                folder: self.folder.clone(),
            }
        } else {
            Error::WorkerEnded(reason)
        }
    }

    /// Ends it at once, whatever it does.
    pub async fn kill(mut self) {
        self.watching.abort_all();
        let _ = self.child.kill().await;
    }
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::WorkerEnded(format!(
        "it said what cannot be read, and was ended: {error}"
    ))
}

fn keep_end(words: &mut String, more: &str) {
    words.push_str(more);
    if let Some(surplus) = words.len().checked_sub(LAST_WORDS)
        && let Some(from) = (surplus..words.len()).find(|at| words.is_char_boundary(*at))
    {
        words.drain(..from);
    }
}

/// Ends the worker when it takes more memory than it may: in a call, or between calls by what code has left running.
async fn watch_memory(pid: Pid, limit_mib: u64, is_too_large: Arc<AtomicBool>) {
    while memory_of(pid).is_none_or(|mib| mib <= limit_mib) {
        sleep(LOOK_AT_MEMORY_EVERY).await;
    }
    is_too_large.store(true, Ordering::Relaxed);
    let _ = kill_process(pid, Signal::KILL);
}

/// The memory of a process in MiB.
#[cfg(target_os = "linux")]
fn memory_of(pid: Pid) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kib| kib >> 10)
}

#[cfg(not(target_os = "linux"))]
fn memory_of(pid: Pid) -> Option<u64> {
    let output = std::process::Command::new("ps")
        .args(["-o", "rss=", "-p", &pid.as_raw_nonzero().to_string()])
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_long_last_words_is_kept_and_no_letter_is_cut() {
        let mut words = String::new();
        for _ in 0..1_000 {
            keep_end(&mut words, "größer ");
        }
        assert!(words.len() <= LAST_WORDS);
        assert!(words.ends_with("größer "));
    }

    #[test]
    fn a_line_is_an_event_or_a_reply() {
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_has_memory() {
        assert!(memory_of(rustix::process::getpid()).is_some_and(|mib| mib > 0));
    }
}
