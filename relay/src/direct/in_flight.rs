//! The requests of one client that the browser has not answered. When the connection is lost, each
//! gets an error: whether it was carried out is unknown, so it is never sent again.

use std::collections::HashMap;

use super::message;

/// The session of a request; `None` for the root session.
type Session = Option<Box<str>>;

/// A request enters when it is sent to the browser, and leaves with its reply.
#[derive(Default)]
pub struct InFlight(HashMap<i64, Sent>);

struct Sent {
    session: Session,
    /// Ids have to be unique within a session only. No known client uses one twice.
    others: Vec<Session>,
}

impl InFlight {
    pub fn add(&mut self, id: i64, session: Option<&str>) {
        let session = session.map(Box::from);
        if let Some(sent) = self.0.get_mut(&id) {
            sent.others.push(session);
            return;
        }
        let others = Vec::new();
        self.0.insert(id, Sent { session, others });
    }

    /// `reply`: the whole text, which is read only if several requests have this id.
    pub fn remove(&mut self, id: i64, reply: &str) {
        let Some(sent) = self.0.get_mut(&id) else {
            return;
        };
        if sent.others.is_empty() {
            self.0.remove(&id);
            return;
        }
        let (session, _) = message::read_reply(reply);
        let is_same = |other: &Session| other.as_deref() == session.as_deref();
        if let Some(at) = sent.others.iter().position(is_same) {
            sent.others.swap_remove(at);
        } else if is_same(&sent.session) {
            sent.session = sent.others.pop().flatten();
        }
    }

    /// Removes all requests and returns them in the order of their ids.
    pub fn take(&mut self) -> Vec<(i64, Session)> {
        let mut requests: Vec<_> = std::mem::take(&mut self.0)
            .into_iter()
            .flat_map(|(id, sent)| {
                let all = std::iter::once(sent.session).chain(sent.others);
                all.map(move |session| (id, session))
            })
            .collect();
        requests.sort_unstable();
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(in_flight: &mut InFlight) -> Vec<(i64, Option<String>)> {
        let taken = in_flight.take().into_iter();
        taken
            .map(|(id, session)| (id, session.map(String::from)))
            .collect()
    }

    #[test]
    fn reply_removes_its_request() {
        let mut in_flight = InFlight::default();
        in_flight.add(2, Some("S"));
        in_flight.add(1, None);
        in_flight.add(3, None);
        in_flight.remove(3, r#"{"id":3,"result":{}}"#);
        in_flight.remove(9, r#"{"id":9,"result":{}}"#);
        assert_eq!(left(&mut in_flight), [(1, None), (2, Some("S".to_owned()))]);
        assert_eq!(left(&mut in_flight), []);
    }

    #[test]
    fn same_id_in_several_sessions_is_told_apart() {
        let mut in_flight = InFlight::default();
        for session in [None, Some("A"), Some("B")] {
            in_flight.add(1, session);
        }
        in_flight.remove(1, r#"{"id":1,"result":{}}"#);
        in_flight.remove(1, r#"{"id":1,"result":{},"sessionId":"A"}"#);
        assert_eq!(left(&mut in_flight), [(1, Some("B".to_owned()))]);
    }
}
