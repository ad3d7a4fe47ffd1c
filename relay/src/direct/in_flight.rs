//! The requests of one client that the browser has not answered. When the connection is lost, each
//! gets an error: whether it was carried out is unknown, so it is never sent again.

use std::collections::HashMap;
use std::time::Instant;

use tabwire_core::cdp::Request;
use tabwire_core::ids::MethodName;

use super::message;

/// A request enters when it is sent to the browser, and leaves with its reply.
#[derive(Default)]
pub struct InFlight(HashMap<i64, SameId>);

/// A request that needs a reply.
#[derive(Debug)]
pub struct Sent {
    /// `None` for the root session.
    pub session: Option<Box<str>>,
    pub method: MethodName,
    /// When it arrived.
    pub since: Instant,
}

struct SameId {
    first: Sent,
    /// Ids have to be unique within a session only. No known client uses one twice.
    others: Vec<Sent>,
}

impl Sent {
    pub fn new(request: &Request<'_>, since: Instant) -> Self {
        Self {
            session: request.session.as_deref().map(Box::from),
            method: MethodName::new(&request.method),
            since,
        }
    }
}

impl InFlight {
    pub fn add(&mut self, id: i64, sent: Sent) {
        if let Some(same_id) = self.0.get_mut(&id) {
            same_id.others.push(sent);
            return;
        }
        let (first, others) = (sent, Vec::new());
        self.0.insert(id, SameId { first, others });
    }

    /// `reply`: the whole text, which is read only if several requests have this id. Returns the
    /// request.
    pub fn remove(&mut self, id: i64, reply: &str) -> Option<Sent> {
        let same_id = self.0.get_mut(&id)?;
        if same_id.others.is_empty() {
            return self.0.remove(&id).map(|same_id| same_id.first);
        }
        let (session, _) = message::read_reply(reply);
        let is_same = |sent: &Sent| sent.session.as_deref() == session.as_deref();
        if let Some(at) = same_id.others.iter().position(is_same) {
            return Some(same_id.others.swap_remove(at));
        }
        if is_same(&same_id.first) {
            let next = same_id.others.pop()?;
            return Some(std::mem::replace(&mut same_id.first, next));
        }
        None
    }

    /// Removes all requests and returns them in the order of their ids.
    pub fn take(&mut self) -> Vec<(i64, Sent)> {
        let mut requests: Vec<_> = std::mem::take(&mut self.0)
            .into_iter()
            .flat_map(|(id, same_id)| {
                let all = std::iter::once(same_id.first).chain(same_id.others);
                all.map(move |sent| (id, sent))
            })
            .collect();
        requests.sort_unstable_by(|(one, a), (two, b)| (one, &a.session).cmp(&(two, &b.session)));
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(in_flight: &mut InFlight) -> Vec<(i64, Option<String>)> {
        let taken = in_flight.take().into_iter();
        taken
            .map(|(id, sent)| (id, sent.session.map(String::from)))
            .collect()
    }

    fn sent(session: Option<&str>) -> Sent {
        Sent {
            session: session.map(Box::from),
            method: MethodName::default(),
            since: Instant::now(),
        }
    }

    #[test]
    fn reply_removes_its_request() {
        let mut in_flight = InFlight::default();
        in_flight.add(2, sent(Some("S")));
        in_flight.add(1, sent(None));
        in_flight.add(3, sent(None));
        assert!(in_flight.remove(3, r#"{"id":3,"result":{}}"#).is_some());
        assert!(in_flight.remove(9, r#"{"id":9,"result":{}}"#).is_none());
        assert_eq!(left(&mut in_flight), [(1, None), (2, Some("S".to_owned()))]);
        assert_eq!(left(&mut in_flight), []);
    }

    #[test]
    fn same_id_in_several_sessions_is_told_apart() {
        let mut in_flight = InFlight::default();
        for session in [None, Some("A"), Some("B")] {
            in_flight.add(1, sent(session));
        }
        in_flight.remove(1, r#"{"id":1,"result":{}}"#);
        in_flight.remove(1, r#"{"id":1,"result":{},"sessionId":"A"}"#);
        assert_eq!(left(&mut in_flight), [(1, Some("B".to_owned()))]);
    }
}
