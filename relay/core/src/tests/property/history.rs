//! What has reached Chrome. Commands that do something carry the id of their request as a marker.

use std::collections::{BTreeMap, BTreeSet};

use crate::tests::script::{Call, ClientId};

/// Where a client has sent a request.
pub type Origin = (ClientId, String);

#[derive(Default)]
pub struct History {
    /// Every request with a marker.
    sent: BTreeMap<i64, Origin>,
    /// The requests that have reached Chrome.
    received: BTreeSet<i64>,
    last_of_session: BTreeMap<Origin, i64>,
}

impl History {
    pub fn send(&mut self, id: i64, origin: Origin) {
        self.sent.insert(id, origin);
    }

    /// Checks a call that the extension receives.
    pub fn receive(&mut self, call: &Call) {
        let Some(id) = marker(call) else { return };
        let origin = self.sent.get(&id);
        let origin = origin.unwrap_or_else(|| panic!("nobody sent {call:?}"));
        assert!(self.received.insert(id), "sent to Chrome twice: {call:?}");
        // A navigation may leave a page that does not respond before what waits for it.
        if call.command() != "Page.navigate" {
            let before = self.last_of_session.insert(origin.clone(), id);
            assert!(
                before.is_none_or(|before| before < id),
                "sent to Chrome after {before:?}, which the client sent later: {call:?}"
            );
        }
    }
}

/// The id of the request that a command comes from.
pub fn marker(call: &Call) -> Option<i64> {
    call.params()["marker"].as_i64()
}
