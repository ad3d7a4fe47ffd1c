//! What is written down about one client's messages: every answered request in the log, and, on
//! request, the messages themselves.

use std::fmt::Display;
use std::sync::Arc;

use tabwire_core::ids::ClientId;

use super::in_flight::Sent;
use crate::log::{Answer, Observer, Peer, Way};
use crate::registry::connections::Connections;

pub struct Report {
    pub client: ClientId,
    pub observer: Observer,
    pub connections: Arc<Connections>,
}

impl Report {
    /// `error`: the code of the error reply.
    pub fn answered(&self, request: &Sent, error: Option<i64>) {
        let session = request.session.as_ref();
        let answer = Answer {
            client: self.client,
            session: session.map(|session| session as &dyn Display),
            method: request.method.as_str(),
            took: request.since.elapsed(),
            error,
        };
        self.observer.answered(&self.connections, &answer);
    }

    pub fn from_client(&self, text: &str) {
        self.message(Way::Received, Peer::Client(self.client), text);
    }

    pub fn to_client(&self, text: &str) {
        self.message(Way::Sent, Peer::Client(self.client), text);
    }

    pub fn from_port(&self, text: &str) {
        self.message(Way::Received, Peer::Port(self.client), text);
    }

    pub fn to_port(&self, text: &str) {
        self.message(Way::Sent, Peer::Port(self.client), text);
    }

    fn message(&self, way: Way, peer: Peer, text: &str) {
        self.observer.message(&self.connections, way, peer, text);
    }
}
