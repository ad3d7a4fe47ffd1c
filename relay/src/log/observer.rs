//! Notes what passes through hubs: answered requests, and on request every message.

use std::sync::Arc;

use super::{Answer, Log, Peer, Transcript, Way};
use crate::registry::connections::Connections;

/// A hub's way to the log and, if one was requested, to the transcript.
#[derive(Clone)]
pub struct Observer {
    log: Log,
    transcript: Option<Arc<Transcript>>,
}

impl Observer {
    pub fn new(log: Log, transcript: Option<Transcript>) -> Self {
        Self {
            log,
            transcript: transcript.map(Arc::new),
        }
    }

    pub fn answered(&self, connections: &Connections, answer: &Answer<'_>) {
        let clients = &connections.clients;
        clients.with_name(answer.client, |name| self.log.answered(name, answer));
    }

    /// A message has passed. Costs nothing unless there is a transcript.
    pub fn message(&self, connections: &Connections, way: Way, peer: Peer, text: &str) {
        if let Some(transcript) = &self.transcript {
            transcript.add(way, peer, connections.browser_name().as_deref(), text);
        }
    }

    pub fn close(&self) {
        if let Some(transcript) = &self.transcript {
            transcript.close();
        }
    }
}
