//! What every client has sent and received, and the invariants that hold for each message it
//! receives.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::browser::PRERENDERED;
use super::history::Origin;
use crate::tests::script::ClientId;

#[derive(Default)]
pub struct Clients {
    clients: BTreeMap<ClientId, Client>,
    /// Every session id that any client has ever received.
    session_ids: BTreeSet<String>,
}

#[derive(Default)]
struct Client {
    /// Requests without a reply. Entered when sent, removed by the reply.
    pending: BTreeMap<i64, PendingRequest>,
    /// Entered by `Target.attachedToTarget`, removed by `Target.detachedFromTarget`. The root
    /// session of a client that is connected to a target is "".
    sessions: BTreeMap<String, View>,
    is_disconnected: bool,
}

struct PendingRequest {
    /// "" without a session id.
    session: String,
    method: String,
    /// Whether Chrome's result carries its id.
    is_echoed: bool,
}

/// What a client has received about one target.
#[derive(Default)]
struct View {
    contexts: BTreeSet<i64>,
    frames: BTreeSet<String>,
    /// The last request that was paused for it.
    paused: Option<String>,
    /// The number of the last event or result.
    serial: u64,
}

impl Clients {
    /// `is_on_target`: the client is connected to a target, and not to the browser.
    pub fn connect(&mut self, client: ClientId, is_on_target: bool) {
        let mut new = Client::default();
        if is_on_target {
            new.sessions.insert(String::new(), View::default());
        }
        self.clients.insert(client, new);
    }

    pub fn disconnect(&mut self, client: ClientId) {
        self.clients.get_mut(&client).unwrap().is_disconnected = true;
    }

    pub fn send(&mut self, (client, session): Origin, id: i64, method: &str, is_echoed: bool) {
        let request = PendingRequest {
            session,
            method: method.to_owned(),
            is_echoed,
        };
        let client = self.clients.get_mut(&client).unwrap();
        client.pending.insert(id, request);
    }

    // ---- selection by number ----

    pub fn client(&self, n: usize) -> Option<ClientId> {
        let connected = self.clients.iter().filter(|(_, c)| !c.is_disconnected);
        let connected: Vec<_> = connected.map(|(id, _)| *id).collect();
        connected.get(n % connected.len().max(1)).copied()
    }

    pub fn session(&self, client: ClientId, n: usize) -> Option<String> {
        let mut sessions = self.clients[&client].sessions.keys();
        sessions.nth(n % sessions.len().max(1)).cloned()
    }

    pub fn has(&self, client: ClientId, session: &str) -> bool {
        let client = &self.clients[&client];
        !client.is_disconnected && client.sessions.contains_key(session)
    }

    pub fn is_on_target(&self, client: ClientId) -> bool {
        self.clients[&client].sessions.contains_key("")
    }

    /// A request that was paused for the session.
    pub fn paused_request(&self, client: ClientId, session: &str) -> Option<&str> {
        self.clients[&client].sessions[session].paused.as_deref()
    }

    /// A context that the session has received, or 1 if there is none.
    pub fn context(&self, client: ClientId, session: &str) -> i64 {
        let view = &self.clients[&client].sessions[session];
        view.contexts.first().copied().unwrap_or(1)
    }

    // ---- invariants ----

    pub fn assert_nothing_pending(&self) {
        for (id, client) in &self.clients {
            let pending: Vec<_> = client.pending.values().map(|r| &r.method).collect();
            assert!(
                client.is_disconnected || pending.is_empty(),
                "{id} has no reply to {pending:?}"
            );
        }
    }

    /// Checks a message that a client receives, and records it.
    pub fn receive(&mut self, client: ClientId, message: &Value) {
        let client = self.clients.get_mut(&client);
        let client = client.expect("a message to a client that never connected");
        assert!(
            !client.is_disconnected,
            "a message after the client disconnected: {message}"
        );
        assert!(
            !message.to_string().contains(PRERENDERED),
            "Chrome's own id of a main frame: {message}"
        );
        if let Some(id) = message["id"].as_i64() {
            client.receive_reply(id, message);
        } else if let Some(method) = message["method"].as_str() {
            client.receive_event(method, message, &mut self.session_ids);
        } else {
            assert!(
                message["error"].is_object(),
                "neither a reply nor an event nor an error: {message}"
            );
        }
    }
}

impl Client {
    fn receive_reply(&mut self, id: i64, message: &Value) {
        let request = self.pending.remove(&id);
        let request = request.unwrap_or_else(|| panic!("a reply to no request: {message}"));
        assert_eq!(
            request.session,
            message["sessionId"].as_str().unwrap_or_default(),
            "a reply on another session: {message}"
        );
        // An evaluation that the person has stopped throws.
        let is_of_chrome = |result: &&Value| result.get("exceptionDetails").is_none();
        let result = message.get("result").filter(is_of_chrome);
        let result = result.filter(|_| request.is_echoed);
        if let Some(result) = result {
            assert_eq!(result["marker"], id, "the result of another request");
        }
        if let Some(view) = self.sessions.get_mut(&request.session) {
            view.receive_reply(&request.method, message);
            if let Some(result) = result {
                view.advance(result, message);
            }
        }
    }

    fn receive_event(&mut self, method: &str, message: &Value, ids: &mut BTreeSet<String>) {
        let session = message["sessionId"].as_str().unwrap_or_default();
        if !session.is_empty() {
            assert!(
                self.sessions.contains_key(session),
                "an event on a session that the client does not have: {message}"
            );
        }
        match method {
            "Target.attachedToTarget" => {
                let id = message["params"]["sessionId"].as_str().unwrap();
                assert!(
                    ids.insert(id.to_owned()),
                    "a session id that was used before: {message}"
                );
                self.sessions.insert(id.to_owned(), View::default());
            }
            "Target.detachedFromTarget" => {
                let id = message["params"]["sessionId"].as_str().unwrap();
                assert!(
                    self.sessions.remove(id).is_some(),
                    "the end of a session that the client does not have: {message}"
                );
            }
            _ if method.starts_with("Target.") || method.starts_with("Browser.") => {}
            _ => {
                let view = self.sessions.get_mut(session);
                let view = view.unwrap_or_else(|| panic!("no session: {message}"));
                view.receive_event(method, message);
                view.advance(&message["params"], message);
            }
        }
    }
}

impl View {
    /// Events and results of a session arrive in the order in which they left Chrome.
    fn advance(&mut self, content: &Value, message: &Value) {
        let Some(serial) = content["serial"].as_u64() else {
            return;
        };
        assert!(
            self.serial < serial,
            "out of order, after {}: {message}",
            self.serial
        );
        self.serial = serial;
    }

    fn receive_reply(&mut self, method: &str, message: &Value) {
        let succeeded = message.get("result").is_some();
        match method {
            // A domain that is enabled again announces everything again.
            "Runtime.disable" if succeeded => self.contexts.clear(),
            "Page.disable" if succeeded => self.frames.clear(),
            "Page.getFrameTree" => {
                let children = message["result"]["frameTree"]["childFrames"].as_array();
                let ids = children.into_iter().flatten();
                self.frames
                    .extend(ids.map(|child| child["frame"]["id"].to_string()));
            }
            _ => {}
        }
    }

    fn receive_event(&mut self, method: &str, message: &Value) {
        let params = &message["params"];
        let context = |id: &Value| id.as_i64().unwrap();
        match method {
            "Runtime.executionContextCreated" => assert!(
                self.contexts.insert(context(&params["context"]["id"])),
                "a context is announced twice: {message}"
            ),
            "Runtime.executionContextDestroyed" => assert!(
                self.contexts
                    .remove(&context(&params["executionContextId"])),
                "the end of a context that was never announced: {message}"
            ),
            "Runtime.executionContextsCleared" => self.contexts.clear(),
            "Runtime.consoleAPICalled" => assert!(
                self.contexts
                    .contains(&context(&params["executionContextId"])),
                "an event of a context that was never announced: {message}"
            ),
            "Page.frameAttached" => assert!(
                self.frames.insert(params["frameId"].to_string()),
                "a frame is announced twice: {message}"
            ),
            "Fetch.requestPaused" => {
                self.paused = params["requestId"].as_str().map(str::to_owned);
            }
            // The new document of the main frame has no frames yet.
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => self.frames.clear(),
            "Page.frameDetached" => {
                self.frames.remove(&params["frameId"].to_string());
            }
            _ => {}
        }
    }
}
