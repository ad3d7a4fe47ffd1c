//! A transcript of every message, as lines of JSON, for `--record`. It contains whatever clients
//! and pages exchange, secrets included. Handshakes are no part of it.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use tabwire_core::ids::ClientId;

use super::line;
use super::queue::{BATCH_DELAY, Full, Queue, Sink};
use crate::error::Error;

/// How much can wait for the disk. A transcript with gaps would mislead, so it ends beyond that.
const MAX_WAITING: usize = 256 << 20;

pub struct Transcript {
    queue: Arc<Queue>,
    path: PathBuf,
    has_ended: AtomicBool,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub enum Peer {
    Client(ClientId),
    Extension,
    /// The browser's debugging port. Each client has a connection of its own to it.
    Port(ClientId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Received,
    Sent,
}

#[derive(Serialize)]
struct Entry<'a> {
    time: &'a str,
    from: &'a str,
    to: &'a str,
    /// The client that a connection to a debugging port belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    browser: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// In place of a message that is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Transcript {
    /// Creates the file, which must not exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |reason: io::Error| match reason.kind() {
            io::ErrorKind::AlreadyExists => Error::RecordExists(path.to_owned()),
            _ => Error::WriteFile {
                path: path.to_owned(),
                reason,
            },
        };
        let mut options = OpenOptions::new();
        let file = options.create_new(true).append(true).mode(0o600);
        let file = file.open(path).map_err(failed)?;
        // The umask may have removed permissions from the owner.
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(failed)?;
        let queue = Arc::new(Queue::new(MAX_WAITING));
        let sink = RecordFile {
            file,
            path: path.to_owned(),
        };
        queue.start("record", BATCH_DELAY, sink).map_err(failed)?;
        Ok(Self {
            queue,
            path: path.to_owned(),
            has_ended: AtomicBool::new(false),
        })
    }

    /// `browser`: its name, because a relay can have several.
    pub fn add(&self, way: Way, peer: Peer, browser: Option<&str>, text: &str) {
        if self.has_ended.load(Ordering::Relaxed) {
            return;
        }
        let put = |lines: &mut String| put_entry(lines, way, peer, browser, text);
        if self.queue.try_push(text.len(), put) == Err(Full)
            && !self.has_ended.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(file = %self.path.display(), "the disk is too slow; the recording ends");
        }
    }

    /// Writes what is left.
    pub fn close(&self) {
        self.queue.close();
    }
}

fn put_entry(lines: &mut String, way: Way, peer: Peer, browser: Option<&str>, text: &str) {
    let mut time = String::with_capacity(24);
    line::put_time(&mut time, SystemTime::now());
    let (peer, client) = match peer {
        Peer::Client(client) => (client.to_string(), None),
        Peer::Extension => ("extension".to_owned(), None),
        Peer::Port(client) => ("port".to_owned(), Some(client.to_string())),
    };
    let (from, to) = match way {
        Way::Received => (peer.as_str(), "relay"),
        Way::Sent => ("relay", peer.as_str()),
    };
    // In valid JSON, line breaks are only between tokens.
    let one_line = text.replace(['\n', '\r'], " ");
    let message = serde_json::from_str::<&RawValue>(&one_line).ok();
    let entry = Entry {
        time: &time,
        from,
        to,
        client,
        browser,
        message,
        text: message.is_none().then_some(text),
    };
    if let Ok(entry) = serde_json::to_string(&entry) {
        lines.push_str(&entry);
        lines.push('\n');
    }
}

struct RecordFile {
    file: File,
    path: PathBuf,
}

impl Sink for RecordFile {
    fn write(&mut self, text: &str, _lost: u64) -> ControlFlow<()> {
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let file = self.path.display();
                tracing::warn!(%error, %file, "cannot write; the recording ends");
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(way: Way, peer: Peer, browser: Option<&str>, text: &str) -> Value {
        let mut lines = String::new();
        put_entry(&mut lines, way, peer, browser, text);
        assert_eq!(lines.find('\n'), Some(lines.len() - 1), "{lines:?}");
        let mut entry: Value = serde_json::from_str(&lines).unwrap();
        assert_eq!(entry["time"].take().as_str().unwrap().len(), 24);
        entry
    }

    #[test]
    fn entry_has_both_ends_and_the_message() {
        let client = ClientId(7);
        let text = "{\"id\":1,\r\n \"method\":\"A.b\"}";
        assert_eq!(
            entry(Way::Received, Peer::Client(client), None, text),
            json!({ "time": null, "from": "client-7", "to": "relay", "message": { "id": 1, "method": "A.b" } })
        );
        assert_eq!(
            entry(Way::Sent, Peer::Extension, Some("work"), "[1]"),
            json!({ "time": null, "from": "relay", "to": "extension", "browser": "work", "message": [1] })
        );
        assert_eq!(
            entry(Way::Received, Peer::Port(client), None, "not\nJSON"),
            json!({ "time": null, "from": "port", "to": "relay", "client": "client-7", "text": "not\nJSON" })
        );
    }

    #[test]
    fn deep_message_is_recorded_as_it_is() {
        let text = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        let mut lines = String::new();
        put_entry(&mut lines, Way::Sent, Peer::Extension, None, &text);
        assert!(lines.contains(&text));
    }

    /// `/dev/full` fails like a full disk.
    #[test]
    fn full_disk_ends_the_recording_only() {
        let mut sink = RecordFile {
            file: OpenOptions::new().write(true).open("/dev/full").unwrap(),
            path: "/dev/full".into(),
        };
        assert_eq!(sink.write("x", 0), ControlFlow::Break(()));
    }

    #[test]
    fn existing_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        std::fs::write(&path, "mine").unwrap();
        let refused = Transcript::create(&path).err().unwrap();
        assert!(refused.to_string().contains("already exists"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
