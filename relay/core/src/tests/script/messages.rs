//! What clients and the extension receive from the relay, with lookups that fail a test when
//! nothing matches.

use std::ops::Deref;

use serde_json::Value;

use super::{ClientId, Session};

/// Messages that one client received, in order.
#[derive(Debug, Default)]
pub struct Messages(Vec<Value>);

impl Deref for Messages {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl Messages {
    pub fn new(messages: Vec<Value>) -> Self {
        Self(messages)
    }

    pub fn append(&mut self, mut later: Messages) {
        self.0.append(&mut later.0);
    }

    #[track_caller]
    pub fn position(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.iter()
            .position(wanted)
            .unwrap_or_else(|| panic!("no such message in {self:?}"))
    }

    // ---- replies ----

    pub fn has_reply(&self, id: i64) -> bool {
        self.iter().any(|m| m["id"] == id)
    }

    /// The only reply to this request.
    #[track_caller]
    pub fn reply(&self, id: i64) -> &Value {
        let replies: Vec<_> = self.iter().filter(|m| m["id"] == id).collect();
        assert_eq!(replies.len(), 1, "replies to request {id}: {self:?}");
        replies[0]
    }

    #[track_caller]
    pub fn result(&self, id: i64) -> &Value {
        let reply = self.reply(id);
        reply
            .get("result")
            .unwrap_or_else(|| panic!("an error instead of a result: {reply}"))
    }

    /// The message of the error that answers this request.
    #[track_caller]
    pub fn error(&self, id: i64) -> &str {
        let reply = self.reply(id);
        reply["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("not an error: {reply}"))
    }

    #[track_caller]
    pub fn error_code(&self, id: i64) -> i64 {
        let reply = self.reply(id);
        reply["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("not an error: {reply}"))
    }

    /// The ids of the answered requests, in the order of the replies.
    pub fn reply_ids(&self) -> Vec<i64> {
        self.iter().filter_map(|m| m["id"].as_i64()).collect()
    }

    pub fn error_count(&self) -> usize {
        self.iter().filter(|m| m["error"].is_object()).count()
    }

    // ---- events ----

    /// The methods of the events, in order.
    pub fn methods(&self) -> Vec<&str> {
        self.iter().filter_map(|m| m["method"].as_str()).collect()
    }

    /// The parameters of every event of this method.
    pub fn events(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.iter()
            .filter(move |m| m["method"] == method)
            .map(|m| &m["params"])
    }

    pub fn has_event(&self, method: &str) -> bool {
        self.events(method).next().is_some()
    }

    /// The parameters of the first event of this method.
    #[track_caller]
    pub fn event(&self, method: &str) -> &Value {
        self.events(method)
            .next()
            .unwrap_or_else(|| panic!("no {method} in {self:?}"))
    }

    /// The sessions that `Target.attachedToTarget` announced.
    pub fn attached_sessions(&self, client: ClientId) -> Vec<Session> {
        let attached = self.events("Target.attachedToTarget");
        attached
            .map(|params| Session {
                client,
                id: params["sessionId"].as_str().unwrap().to_owned(),
            })
            .collect()
    }

    /// The execution contexts that were announced.
    pub fn contexts(&self) -> Vec<&Value> {
        let created = self.events("Runtime.executionContextCreated");
        created.map(|params| &params["context"]).collect()
    }

    /// The id of the announced context of this world. The main world is called "".
    #[track_caller]
    pub fn context_id(&self, world: &str) -> i64 {
        let contexts = self.contexts();
        let context = contexts.iter().find(|context| context["name"] == world);
        context
            .and_then(|context| context["id"].as_i64())
            .unwrap_or_else(|| panic!("no context of world '{world}' in {self:?}"))
    }

    /// The frame tree in the only reply that has one.
    #[track_caller]
    pub fn frame_tree(&self) -> &Value {
        let trees = self.iter().map(|m| &m["result"]["frameTree"]);
        let trees: Vec<_> = trees.filter(|tree| tree.is_object()).collect();
        assert_eq!(trees.len(), 1, "frame trees in {self:?}");
        trees[0]
    }
}

/// One message that the extension received: a call, or a ping.
#[derive(Debug, Clone)]
pub struct Call(Value);

impl Call {
    pub fn new(message: Value) -> Self {
        Self(message)
    }

    /// A number, except for a ping, which has no reply.
    pub fn id(&self) -> &Value {
        &self.0["id"]
    }

    /// The method of the extension protocol, such as `attachTab` or `cdpCommand`.
    pub fn name(&self) -> &str {
        self.0["method"].as_str().unwrap()
    }

    pub fn tab(&self) -> i64 {
        self.0["params"]["tabId"].as_i64().unwrap_or_default()
    }

    pub fn child(&self) -> Option<&str> {
        self.0["params"]["childSessionId"].as_str()
    }

    /// The CDP method, or "" for calls other than `cdpCommand`.
    pub fn command(&self) -> &str {
        self.0["params"]["method"].as_str().unwrap_or_default()
    }

    /// The parameters of the CDP command, or of the call itself if it carries none.
    pub fn params(&self) -> &Value {
        let params = &self.0["params"];
        match self.name() {
            "cdpCommand" | "browserCommand" => &params["params"],
            _ => params,
        }
    }
}

/// Messages that the extension received, in order.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Deref for Calls {
    type Target = [Call];

    fn deref(&self) -> &[Call] {
        &self.0
    }
}

impl IntoIterator for Calls {
    type Item = Call;
    type IntoIter = std::vec::IntoIter<Call>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Call> for Calls {
    fn from_iter<I: IntoIterator<Item = Call>>(calls: I) -> Self {
        Self(calls.into_iter().collect())
    }
}

impl Calls {
    pub fn has_call(&self, name: &str) -> bool {
        self.iter().any(|call| call.name() == name)
    }

    /// The CDP methods of all calls, which must all be commands.
    #[track_caller]
    pub fn commands(&self) -> Vec<&str> {
        let commands = self.commands_with_params().into_iter();
        commands.map(|(method, _)| method).collect()
    }

    /// The CDP methods and parameters of all calls, which must all be commands.
    #[track_caller]
    pub fn commands_with_params(&self) -> Vec<(&str, &Value)> {
        assert!(
            self.iter().all(|call| call.name() == "cdpCommand"),
            "{self:?}"
        );
        self.iter()
            .map(|call| (call.command(), call.params()))
            .collect()
    }

    pub fn has_command(&self, method: &str) -> bool {
        self.iter().any(|call| call.command() == method)
    }

    /// The first command of this method.
    #[track_caller]
    pub fn command(&self, method: &str) -> &Call {
        self.iter()
            .find(|call| call.command() == method)
            .unwrap_or_else(|| panic!("no {method} in {self:?}"))
    }
}
