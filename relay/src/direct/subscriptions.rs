//! What a client has switched on for its whole connection, so that it can be restored on a new one.

use tabwire_core::cdp::Request;

/// Longer parameters of a command that would have to be restored are not kept.
const MAX_RESTORED: usize = 64 << 10;
/// How many requests are remembered until the browser answers them. Clients send two.
const MAX_REQUESTED: usize = 32;
/// The ids of the relay's own requests. They are sent on a new connection before anything of the
/// client, so no request of the client can have the same id at the same time.
const DISCOVER_ID: i64 = -2_147_483_000;
const AUTO_ATTACH_ID: i64 = -2_147_483_001;

const DISCOVER: &str = "Target.setDiscoverTargets";
const AUTO_ATTACH: &str = "Target.setAutoAttach";

/// What the client wants to be notified of on its root session: the parameters as it sent them.
/// Without it, a client would not learn of the targets of a new connection.
#[derive(Default)]
pub struct Subscriptions {
    discover: Option<String>,
    auto_attach: Option<String>,
    /// Requested, but not confirmed by the browser, with the ids of the requests. What it refuses must
    /// not be restored.
    requested: Vec<(i64, Subscription, Option<String>)>,
}

#[derive(Debug, Clone, Copy)]
enum Subscription {
    Discover,
    AutoAttach,
}

impl Subscriptions {
    /// The client requests something. It counts when the browser has confirmed it.
    pub fn note(&mut self, request: &Request<'_>) {
        if request.session.is_some() {
            return;
        }
        let (subscription, field) = match &*request.method {
            DISCOVER => (Subscription::Discover, "discover"),
            AUTO_ATTACH => (Subscription::AutoAttach, "autoAttach"),
            _ => return,
        };
        let params = request.read_params::<serde_json::Value>();
        let is_on = params.is_ok_and(|params| params.get(field) == Some(&true.into()));
        let is_short = request.params.len() <= MAX_RESTORED;
        let params = (is_on && is_short).then(|| request.params.to_string());
        if self.requested.len() == MAX_REQUESTED {
            self.requested.remove(0);
        }
        self.requested.push((request.id, subscription, params));
    }

    /// The browser has answered a request on the root session.
    pub fn on_reply(&mut self, id: i64, is_accepted: bool) {
        let Some(at) = self.requested.iter().position(|(own, ..)| *own == id) else {
            return;
        };
        let (_, subscription, params) = self.requested.remove(at);
        match subscription {
            _ if !is_accepted => {}
            Subscription::Discover => self.discover = params,
            Subscription::AutoAttach => self.auto_attach = params,
        }
    }

    /// The connection is lost, and with it the outcome of what was requested.
    pub fn on_lost(&mut self) {
        self.requested.clear();
    }

    /// The requests that restore them.
    pub fn requests(&self) -> Vec<String> {
        let discover = self
            .discover
            .iter()
            .map(|params| (DISCOVER_ID, DISCOVER, params));
        let auto_attach = self
            .auto_attach
            .iter()
            .map(|params| (AUTO_ATTACH_ID, AUTO_ATTACH, params));
        discover
            .chain(auto_attach)
            .map(|(id, method, params)| {
                format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#)
            })
            .collect()
    }
}
