//! A core between a client and an extension that answers every call at once, for the targets that feed
//! text to either side.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire_core::ids::ClientId;
use tabwire_core::{Config, Connection, Core, Input, Output};

const CLIENT: ClientId = ClientId(1);
const TABS: i64 = 2;

pub struct Relay {
    core: Core,
    now: Duration,
    /// Calls that have no reply yet.
    pub calls: VecDeque<Value>,
    /// The client's sessions, as it received them.
    pub sessions: Vec<String>,
    /// How many requests were sent and how many were answered.
    pub requests: usize,
    pub answered: usize,
    /// False as soon as the relay disconnects it.
    is_client_connected: bool,
    is_extension_connected: bool,
}

impl Relay {
    /// A relay whose browser has two tabs. A client has a session on each and uses the second one.
    pub fn new() -> Self {
        let mut relay = Self {
            core: Core::new(Config {
                reports_answers: true,
                ..Config::new(1)
            }),
            now: Duration::ZERO,
            calls: VecDeque::new(),
            sessions: Vec::new(),
            requests: 0,
            answered: 0,
            is_client_connected: true,
            is_extension_connected: false,
        };
        relay.connect_extension();
        relay.input(Input::ClientOpened {
            client: CLIENT,
            connection: Connection::Browser,
            program: CLIENT,
            group: None,
            identity: None,
        });
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        relay.request("Target.setAutoAttach", attach, "");
        let live = relay.sessions.last().cloned().unwrap_or_default();
        relay.request("Runtime.evaluate", json!({ "expression": "1" }), &live);
        relay.answer_all();
        relay
    }

    fn request(&mut self, method: &str, params: Value, session: &str) {
        let mut message =
            json!({ "id": 1_000_000 + self.requests, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.send(&message.to_string());
    }

    /// A text of the client. Every one is answered, whatever it is.
    pub fn send(&mut self, text: &str) {
        if self.is_client_connected {
            self.requests += 1;
            self.input(Input::ClientText(CLIENT, text));
        }
    }

    /// A text of the extension.
    pub fn receive(&mut self, text: &str) {
        if self.is_extension_connected {
            self.input(Input::ExtensionText(text));
        }
    }

    pub fn connect_extension(&mut self) {
        self.is_extension_connected = true;
        self.calls.clear();
        self.input(Input::ExtensionOpened {
            install_id: "a",
            browser: tabwire_core::handshake::Browser::unknown(),
            launch_timeout: None,
        });
    }

    fn input(&mut self, input: Input<'_>) {
        self.core.handle(self.now, input);
        let was_connected = self.is_client_connected;
        while let Some(output) = self.core.poll_output() {
            self.on_output(output);
        }
        if was_connected && !self.is_client_connected {
            self.input(Input::ClientClosed(CLIENT));
        }
    }

    fn on_output(&mut self, output: Output) {
        match output {
            Output::ToClient(_, text) => {
                assert!(self.is_client_connected, "{text}");
                let message: Value = serde_json::from_str(&text).expect("the relay sends JSON");
                if message["method"] == "Target.attachedToTarget" {
                    let id = message["params"]["sessionId"].as_str();
                    self.sessions.extend(id.map(str::to_owned));
                }
            }
            Output::ToExtension(text) => {
                let call: Value = serde_json::from_str(&text).expect("the relay sends JSON");
                self.calls.extend(call["id"].is_u64().then_some(call));
            }
            Output::Answered(_) => self.answered += 1,
            Output::CloseClient(..) => self.is_client_connected = false,
            Output::CloseExtension(_) => self.is_extension_connected = false,
            Output::LaunchBrowser | Output::PlaceFile(_) | Output::ClosePort => {}
        }
    }

    /// Answers every call, and those that follow from the replies.
    pub fn answer_all(&mut self) {
        while let Some(call) = self.calls.pop_front() {
            let result = result_of(&call);
            self.receive(&json!({ "id": call["id"], "result": result }).to_string());
        }
    }

    pub fn wait(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.core.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.input(Input::TimeoutReached);
        }
        self.now = end;
    }

    /// The extension is gone for good, so everything is answered. Then the client leaves, and nothing
    /// of it remains.
    pub fn finish(mut self) {
        self.input(Input::ExtensionClosed);
        self.is_extension_connected = false;
        self.wait(3_600);
        if self.is_client_connected {
            assert_eq!(self.answered, self.requests, "requests and replies");
            self.is_client_connected = false;
            self.input(Input::ClientClosed(CLIENT));
        }
        assert!(self.core.is_idle(), "state remains");
    }
}

fn result_of(call: &Value) -> Value {
    let tab = |id: i64| json!({ "tabId": id, "url": "https://x", "title": "x", "targetId": format!("T{id}") });
    let params = &call["params"];
    match (call["method"].as_str(), params["method"].as_str()) {
        (Some("listTabs"), _) => {
            json!({ "tabs": (1..=TABS).map(tab).collect::<Vec<_>>() })
        }
        (Some("createTab"), _) => tab(call["id"].as_i64().unwrap_or_default() + 100),
        (_, Some("Page.getFrameTree")) => {
            json!({ "frameTree": { "frame": { "id": format!("T{}", params["tabId"]) } } })
        }
        _ => json!({}),
    }
}
