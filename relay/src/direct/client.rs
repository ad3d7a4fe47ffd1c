//! One client of a browser: its connection to the browser, what is in flight and what waits, and
//! what has to be restored on a new connection. Decides nothing about the browser.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::json;
use tabwire_core::CdpError;
use tabwire_core::cdp::{self, Malformed, Request};
use tabwire_core::ids::MethodName;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::in_flight::{InFlight, Sent};
use super::message::{self, Kind, Session};
use super::report::Report;
use super::subscriptions::Subscriptions;
use super::upstream::{LinkId, Overrun, Upstream};
use crate::link::outbox::Outbox;

/// How many bytes of requests can wait for the browser.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// What a request that waits takes besides its text.
const WAITING_OVERHEAD: usize = 64;
const BROWSER_CLOSE: &str = "Browser.close";

/// A client's connection to the browser.
pub enum Link {
    /// `recovers`: it replaces one that was lost.
    Opening {
        upstream: Upstream,
        recovers: bool,
    },
    /// Open, but what the client had switched on is still being restored.
    Restoring {
        upstream: Upstream,
        pending: usize,
    },
    Open(Upstream),
    /// Lost. The next request recovers it.
    Lost,
    /// The client is being disconnected.
    Closed,
}

pub struct Client {
    pub outbox: Outbox,
    pub link: Link,
    pub report: Report,
    in_flight: InFlight,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    subscriptions: Subscriptions,
    /// The sessions that the browser has announced, in that order. They end with the connection.
    sessions: Vec<Session>,
    target: Option<String>,
}

/// A request that cannot be sent yet.
struct Waiting {
    text: String,
    since: Instant,
}

impl Waiting {
    fn size(&self) -> usize {
        self.text.len() + WAITING_OVERHEAD
    }
}

/// What the hub has to do after a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    /// The client wants the browser to close, and has been answered. It is the user's browser, so
    /// only the client is disconnected.
    Close,
    /// The request waits for a new connection.
    Recovery,
    /// The browser does not read.
    Overrun,
}

/// What the hub has to do after a reply on a connection that is being restored.
#[derive(Debug, PartialEq, Eq)]
pub enum Restored {
    Done,
    Refused,
}

impl Client {
    pub fn new(outbox: Outbox, link: Link, report: Report, target: Option<String>) -> Self {
        Self {
            outbox,
            link,
            report,
            in_flight: InFlight::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            subscriptions: Subscriptions::default(),
            sessions: Vec::new(),
            target,
        }
    }

    /// The target whose own socket this client uses. `None`: the browser's.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    pub fn has_link(&self, link: LinkId) -> bool {
        match &self.link {
            Link::Opening { upstream, .. }
            | Link::Restoring { upstream, .. }
            | Link::Open(upstream) => upstream.link == link,
            Link::Lost | Link::Closed => false,
        }
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends a request to the browser, keeps it until that is possible, or answers it. `since`: when
    /// it arrived.
    pub fn on_text(&mut self, text: String, since: Instant) -> Asked {
        let request = match Request::parse(&text) {
            Ok(request) => request,
            Err(Malformed { id, error }) => {
                self.send(cdp::error_reply(id, None, &error));
                let malformed = Sent {
                    session: None,
                    method: MethodName::default(),
                    since,
                };
                self.report.answered(&malformed, Some(error.code()));
                return Asked::Nothing;
            }
        };
        if request.method == BROWSER_CLOSE {
            self.send(empty_reply(&request));
            self.report.answered(&Sent::new(&request, since), None);
            return Asked::Close;
        }
        match &self.link {
            Link::Open(upstream) => {
                self.in_flight.add(request.id, Sent::new(&request, since));
                self.subscriptions.note(&request);
                self.report.to_port(&text);
                match upstream.push(text) {
                    Ok(()) => Asked::Nothing,
                    Err(Overrun) => Asked::Overrun,
                }
            }
            Link::Closed => Asked::Nothing,
            Link::Opening { .. } | Link::Restoring { .. } => {
                self.wait(Waiting { text, since });
                Asked::Nothing
            }
            Link::Lost => {
                self.wait(Waiting { text, since });
                Asked::Recovery
            }
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        let size = waiting.size();
        let Waiting { text, since } = &waiting;
        if !self.waiting.is_empty() && self.waiting_bytes + size > MAX_WAITING_BYTES {
            if let Ok(request) = Request::parse(text) {
                let refused = CdpError::Refused(
                    "Too much is waiting for the browser. Send less until it responds.".to_owned(),
                );
                let session = request.session.as_deref();
                self.send(cdp::error_reply(Some(request.id), session, &refused));
                let request = Sent::new(&request, *since);
                self.report.answered(&request, Some(refused.code()));
            }
            return;
        }
        self.waiting_bytes += size;
        self.waiting.push_back(waiting);
    }

    /// The connection is open: restores what the client had switched on before. Returns how many
    /// requests that takes; with none, what waited has been sent.
    pub fn on_opened(&mut self) -> Result<usize, Overrun> {
        match std::mem::replace(&mut self.link, Link::Lost) {
            Link::Opening { upstream, .. } => {
                let requests = self.subscriptions.requests();
                let pending = requests.len();
                for request in requests {
                    self.report.to_port(&request);
                    upstream.push(request)?;
                }
                self.link = Link::Restoring { upstream, pending };
                if pending == 0 {
                    self.flush()?;
                }
                Ok(pending)
            }
            other => {
                self.link = other;
                Ok(0)
            }
        }
    }

    /// Sends what waited, in order. What the browser does not read goes on waiting.
    pub fn flush(&mut self) -> Result<(), Overrun> {
        match std::mem::replace(&mut self.link, Link::Lost) {
            Link::Restoring { upstream, .. } => self.link = Link::Open(upstream),
            other => self.link = other,
        }
        while matches!(self.link, Link::Open(_))
            && let Some(waiting) = self.waiting.pop_front()
        {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(waiting.size());
            if self.on_text(waiting.text, waiting.since) == Asked::Overrun {
                return Err(Overrun);
            }
        }
        Ok(())
    }

    /// Pairs a reply with its request. Returns `Err` for a reply to one of the relay's own requests,
    /// which must not be forwarded, with what it means if it was the last one.
    pub fn on_reply(&mut self, id: i64, text: &str) -> Result<(), Option<Restored>> {
        let Link::Restoring { pending, .. } = &mut self.link else {
            if let Some(request) = self.in_flight.remove(id, text) {
                let error = message::error_code(text);
                if request.session.is_none() {
                    self.subscriptions.on_reply(id, error.is_none());
                }
                self.report.answered(&request, error);
            }
            return Ok(());
        };
        // Nothing else is in flight.
        let (_, is_error) = message::read_reply(text);
        if is_error {
            return Err(Some(Restored::Refused));
        }
        *pending = pending.saturating_sub(1);
        Err((*pending == 0).then_some(Restored::Done))
    }

    /// Keeps track of the client's sessions.
    pub fn on_session_event(&mut self, kind: &Kind, text: &str) {
        if *kind == Kind::Attached {
            self.sessions.extend(message::read_attached(text));
        } else if let Some(id) = message::read_detached(text) {
            self.sessions.retain(|session| session.id != id);
        }
    }

    /// The connection is lost, and with it every session and the outcome of every request in
    /// flight. The client is notified, so that what it knows of these targets does not clash with what
    /// it learns on the next connection.
    pub fn on_lost(&mut self) {
        self.link = Link::Lost;
        self.subscriptions.on_lost();
        for (id, request) in self.in_flight.take() {
            let error = CdpError::ExtensionGone;
            let session = request.session.as_deref();
            self.send(cdp::error_reply(Some(id), session, &error));
            self.report.answered(&request, Some(error.code()));
        }
        // Children before their parents.
        for session in std::mem::take(&mut self.sessions).into_iter().rev() {
            let mut event = json!({
                "method": "Target.detachedFromTarget",
                "params": { "sessionId": session.id, "targetId": session.target },
            });
            if let (Some(parent), Some(event)) = (session.parent, event.as_object_mut()) {
                event.insert("sessionId".to_owned(), parent.into());
            }
            self.send(event.to_string());
        }
    }

    /// The client has disconnected. What it sent before its first connection to the browser was open
    /// is still sent, as it would be on the browser's own port.
    pub fn leave(self) {
        if let Link::Opening {
            upstream,
            recovers: false,
        } = self.link
        {
            for Waiting { text, .. } in self.waiting {
                self.report.to_port(&text);
                let _ = upstream.push(text);
            }
        }
    }

    /// Sends the browser's own message.
    pub fn pass(&self, text: Utf8Bytes) {
        self.report.to_client(&text);
        self.outbox.push_shared(text);
    }

    pub fn send(&self, text: String) {
        self.report.to_client(&text);
        self.outbox.push(text);
    }

    /// Disconnects the client after everything that was sent to it. Its connection to the browser
    /// ends at once.
    pub fn close(&mut self, code: u16, reason: &str) {
        self.outbox.close(code, reason);
        self.link = Link::Closed;
    }
}

fn empty_reply(request: &Request<'_>) -> String {
    let mut reply = json!({ "id": request.id, "result": {} });
    if let (Some(session), Some(reply)) = (&request.session, reply.as_object_mut()) {
        reply.insert("sessionId".to_owned(), session.to_string().into());
    }
    reply.to_string()
}

#[cfg(test)]
mod tests;
