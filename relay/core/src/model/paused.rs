//! The requests that Chrome has paused, and the sessions that hold them.

use std::collections::{BTreeMap, VecDeque};

use super::interception::{Pause, Stage};
use crate::protocol::ids::{ChildId, SessionId};

/// What happens with a session's answer to a pause.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is sent to Chrome. The number identifies the pause, because the same request can be
    /// paused again before Chrome has replied.
    Decides(u64),
    /// Other sessions still have to answer.
    Released,
    /// The session does not hold the request, or another session has already decided.
    TooLate,
}

#[derive(Debug)]
struct Paused {
    number: u64,
    stage: Stage,
    network_id: Option<String>,
    /// Sessions that were notified and have not answered.
    holders: Vec<SessionId>,
    /// The session whose answer was sent to Chrome.
    answering: Option<SessionId>,
    body: Body,
}

/// What was done with the body of a paused response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Untouched,
    Read,
    TakenAsStream,
}

type Key = (Option<ChildId>, String);

/// The paused requests of one tab and its children. A request enters with `Fetch.requestPaused` or
/// `Fetch.authRequired`. It leaves when Chrome accepts an answer, with `Network.loadingFailed`,
/// with its last holder, or with the debugger.
#[derive(Debug, Default)]
pub struct PausedRequests {
    map: BTreeMap<Key, Paused>,
    /// Sessions that asked with `interceptResponse` to see the response of a request too, whatever
    /// their patterns. An entry leaves with that response. If the page abandons the request, later
    /// entries push it out.
    expected_responses: VecDeque<(Key, SessionId)>,
    last_number: u64,
}

/// More than a page ever has in flight.
const MAX_EXPECTED_RESPONSES: usize = 1_000;

fn key(child_id: Option<&ChildId>, request_id: &str) -> Key {
    (child_id.cloned(), request_id.to_owned())
}

impl PausedRequests {
    pub fn insert(&mut self, child_id: Option<&ChildId>, pause: &Pause, holders: Vec<SessionId>) {
        self.last_number += 1;
        let paused = Paused {
            number: self.last_number,
            stage: pause.stage,
            network_id: pause.network_id.clone(),
            holders,
            answering: None,
            body: Body::Untouched,
        };
        self.map.insert(key(child_id, &pause.request_id), paused);
    }

    /// A session answers. If it continues the request unchanged (`releases`), it only gives up its
    /// own hold, and the last session to do so resumes the request: Playwright and Puppeteer
    /// intercept everything to route one request, and continue the rest.
    pub fn answer(
        &mut self,
        child_id: Option<&ChildId>,
        request_id: &str,
        session_id: SessionId,
        releases: bool,
    ) -> Answer {
        let Some(paused) = self.map.get_mut(&key(child_id, request_id)) else {
            return Answer::TooLate;
        };
        let Some(index) = paused.holders.iter().position(|id| *id == session_id) else {
            return Answer::TooLate;
        };
        paused.holders.remove(index);
        if paused.answering.is_some() {
            return Answer::TooLate;
        }
        if releases && !paused.holders.is_empty() {
            return Answer::Released;
        }
        paused.answering = Some(session_id);
        Answer::Decides(paused.number)
    }

    /// Whether a session can have the body of a paused response: only a holder, and not after the
    /// body was taken as a stream. Taking it as a stream after it was read crashes the browser.
    pub fn may_read_body(
        &mut self,
        child_id: Option<&ChildId>,
        request_id: &str,
        session_id: SessionId,
        as_stream: bool,
    ) -> bool {
        let Some(paused) = self.map.get_mut(&key(child_id, request_id)) else {
            return false;
        };
        let is_available = match paused.body {
            Body::Untouched => true,
            Body::Read => !as_stream,
            Body::TakenAsStream => false,
        };
        let may = paused.holders.contains(&session_id) && is_available;
        if may {
            paused.body = if as_stream {
                Body::TakenAsStream
            } else {
                Body::Read
            };
        }
        may
    }

    /// Chrome accepted the answer.
    pub fn on_accepted(&mut self, child_id: Option<&ChildId>, request_id: &str, number: u64) {
        let key = key(child_id, request_id);
        if self.map.get(&key).is_some_and(|p| p.number == number) {
            self.map.remove(&key);
        }
    }

    /// Chrome refused the answer. The request is still paused, and its session can answer again.
    pub fn on_refused(&mut self, child_id: Option<&ChildId>, request_id: &str, number: u64) {
        let paused = self.map.get_mut(&key(child_id, request_id));
        if let Some(paused) = paused.filter(|paused| paused.number == number) {
            paused.holders.extend(paused.answering.take());
        }
    }

    pub fn expect_response(
        &mut self,
        child_id: Option<&ChildId>,
        request_id: &str,
        session_id: SessionId,
    ) {
        if self.expected_responses.len() >= MAX_EXPECTED_RESPONSES {
            self.expected_responses.pop_front();
        }
        self.expected_responses
            .push_back((key(child_id, request_id), session_id));
    }

    pub fn take_expected_response(
        &mut self,
        child_id: Option<&ChildId>,
        request_id: &str,
    ) -> Option<SessionId> {
        let key = key(child_id, request_id);
        let mut expected = self.expected_responses.iter();
        let index = expected.position(|(of, _)| *of == key)?;
        self.expected_responses.remove(index).map(|(_, id)| id)
    }

    /// Sessions of this target are gone. Returns the requests without a holder, which have to be
    /// continued.
    pub fn remove_holders(
        &mut self,
        child_id: Option<&ChildId>,
        is_gone: impl Fn(SessionId) -> bool,
    ) -> Vec<(String, Stage)> {
        self.expected_responses
            .retain(|((of, _), session_id)| of.as_ref() != child_id || !is_gone(*session_id));
        let mut orphans = Vec::new();
        for ((of, request_id), paused) in &mut self.map {
            if of.as_ref() == child_id {
                paused.holders.retain(|id| !is_gone(*id));
                paused.answering = paused.answering.filter(|id| !is_gone(*id));
                if paused.holders.is_empty() && paused.answering.is_none() {
                    orphans.push((request_id.clone(), paused.stage));
                }
            }
        }
        self.map
            .retain(|_, paused| !paused.holders.is_empty() || paused.answering.is_some());
        orphans
    }

    /// The page itself abandoned a request.
    pub fn on_loading_failed(&mut self, network_id: &str) {
        self.map
            .retain(|_, paused| paused.network_id.as_deref() != Some(network_id));
    }

    /// Chrome has continued everything that was paused in this target.
    pub fn clear(&mut self, child_id: Option<&ChildId>) {
        self.map.retain(|(of, _), _| of.as_ref() != child_id);
        self.expected_responses
            .retain(|((of, _), _)| of.as_ref() != child_id);
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}
