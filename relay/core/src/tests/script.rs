//! A browser and its clients, played by hand. Time moves only when a test says so.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::ids::{ClientId, TabId};
use crate::model::tab::Tab;
use crate::{CloseReason, Config, Core, Input, Now, Output};

pub struct Script {
    pub core: Core,
    pub now: Now,
    to_clients: BTreeMap<ClientId, VecDeque<Value>>,
    to_extension: VecDeque<Value>,
    pub closed_clients: Vec<ClientId>,
    pub closed_extension: Option<String>,
    last_client: u64,
    last_request: i64,
}

impl Script {
    /// A relay that nobody is connected to.
    pub fn new() -> Self {
        Self {
            core: Core::new(Config::new(42)),
            now: Now::ZERO,
            to_clients: BTreeMap::new(),
            to_extension: VecDeque::new(),
            closed_clients: Vec::new(),
            closed_extension: None,
            last_client: 0,
            last_request: 0,
        }
    }

    /// A relay whose browser has tabs 1 to `count`, with targets `T1`, `T2` … at `https://site/1` …
    pub fn with_tabs(count: i64) -> Self {
        let mut script = Self::new();
        script.connect_browser((1..=count).map(tab).collect());
        script
    }

    pub fn connect_browser(&mut self, tabs: Vec<Value>) {
        self.input(Input::ExtensionOpened);
        self.say_hello();
        let call = self.next_call("listTabs");
        self.reply(&call, json!({ "tabs": tabs }));
    }

    pub fn say_hello(&mut self) {
        let hello = json!({ "protocol": 1, "version": "1", "browser": "Chrome/156.0.1.2", "userAgent": "UA/156", "installId": "i" });
        self.extension_event("hello", hello);
    }

    pub fn input(&mut self, input: Input<'_>) {
        self.core.handle(self.now, input);
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::ToClient(client, text) => {
                    let message = serde_json::from_str(&text).expect("the relay writes JSON");
                    self.to_clients
                        .entry(client)
                        .or_default()
                        .push_back(message);
                }
                Output::ToExtension(text) => self
                    .to_extension
                    .push_back(serde_json::from_str(&text).expect("the relay writes JSON")),
                Output::CloseClient(client, CloseReason::Requested) => {
                    self.closed_clients.push(client)
                }
                Output::CloseExtension(reason) => self.closed_extension = Some(reason),
            }
        }
    }

    /// Moves the clock, stopping at each moment the core asked for.
    pub fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(due) = self.core.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.input(Input::TimeoutReached);
        }
        self.now = end;
    }

    // ---- clients ----

    pub fn client(&mut self) -> ClientId {
        self.last_client += 1;
        let client = ClientId(self.last_client);
        self.input(Input::ClientOpened(client));
        client
    }

    /// A client that auto-attaches to everything, as Playwright does: with the session of each page.
    pub fn attached_client(&mut self) -> (ClientId, Vec<String>) {
        let client = self.client();
        self.request(
            client,
            None,
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        );
        let heard = self.heard(client);
        let attached = heard
            .iter()
            .filter(|m| m["method"] == "Target.attachedToTarget");
        (
            client,
            attached
                .map(|m| m["params"]["sessionId"].as_str().unwrap().to_owned())
                .collect(),
        )
    }

    /// A client that asks for one session itself.
    pub fn asking_client(&mut self, target: &str) -> (ClientId, String) {
        let client = self.client();
        let session = self.ask(
            client,
            None,
            "Target.attachToTarget",
            json!({ "targetId": target, "flatten": true }),
        )["sessionId"]
            .clone();
        (client, session.as_str().unwrap().to_owned())
    }

    /// Sends a request and returns its id.
    pub fn request(
        &mut self,
        client: ClientId,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> i64 {
        self.last_request += 1;
        let mut message = json!({ "id": self.last_request, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.text(client, &message.to_string());
        self.last_request
    }

    pub fn text(&mut self, client: ClientId, text: &str) {
        self.input(Input::ClientText(client, text));
    }

    /// Everything a client was sent since it was last asked.
    pub fn heard(&mut self, client: ClientId) -> Vec<Value> {
        self.to_clients.remove(&client).unwrap_or_default().into()
    }

    /// Sends a request that is answered at once, and returns its result.
    pub fn ask(
        &mut self,
        client: ClientId,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Value {
        let id = self.request(client, session, method, params);
        let heard = self.heard(client);
        let replies: Vec<_> = heard.iter().filter(|m| m["id"] == id).collect();
        assert_eq!(replies.len(), 1, "one reply to {method}: {heard:?}");
        replies[0]
            .get("result")
            .unwrap_or_else(|| panic!("{method} failed: {}", replies[0]))
            .clone()
    }

    pub fn error_of(
        &mut self,
        client: ClientId,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> (i64, String) {
        let id = self.request(client, session, method, params);
        let heard = self.heard(client);
        let reply = heard
            .iter()
            .find(|m| m["id"] == id)
            .unwrap_or_else(|| panic!("no reply to {method}"));
        (
            reply["error"]["code"].as_i64().unwrap(),
            reply["error"]["message"].as_str().unwrap().to_owned(),
        )
    }

    // ---- the extension ----

    /// What the extension was asked since it was last asked for.
    pub fn calls(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.to_extension).into()
    }

    pub fn next_call(&mut self, method: &str) -> Value {
        let call = self
            .to_extension
            .pop_front()
            .unwrap_or_else(|| panic!("the extension was not asked to {method}"));
        assert_eq!(call["method"], method, "{call}");
        call
    }

    /// The next CDP command to the browser, which must be this one.
    pub fn next_command(&mut self, method: &str) -> Value {
        let call = self.next_call("cdpCommand");
        assert_eq!(call["params"]["method"], method, "{call}");
        call
    }

    pub fn reply(&mut self, call: &Value, result: Value) {
        let text = json!({ "id": call["id"], "result": result }).to_string();
        self.input(Input::ExtensionText(&text));
    }

    pub fn reply_error(&mut self, call: &Value, error: Value) {
        let text = json!({ "id": call["id"], "error": error }).to_string();
        self.input(Input::ExtensionText(&text));
    }

    /// Answers all that the extension was asked with nothing.
    pub fn answer_all(&mut self) {
        for call in self.calls() {
            self.reply(&call, json!({}));
        }
    }

    pub fn extension_event(&mut self, method: &str, params: Value) {
        let text = json!({ "method": method, "params": params }).to_string();
        self.input(Input::ExtensionText(&text));
    }

    pub fn cdp_event(&mut self, tab: i64, method: &str, params: Value) {
        self.extension_event(
            "cdpEvent",
            json!({ "tabId": tab, "method": method, "params": params }),
        );
    }

    pub fn child_event(&mut self, tab: i64, child: &str, method: &str, params: Value) {
        self.extension_event(
            "cdpEvent",
            json!({ "tabId": tab, "method": method, "params": params, "childSessionId": child }),
        );
    }

    /// Answers everything that waking a tab asks, with the given frame tree, up to the command that woke it.
    pub fn finish_waking(&mut self, tree: &Value) -> Vec<String> {
        let attach = self.next_call("attachTab");
        self.reply(&attach, json!({}));
        let tab = TabId(attach["params"]["tabId"].as_i64().unwrap());
        let mut replayed = Vec::new();
        while !self.core.world.tabs.get(tab).is_some_and(Tab::is_live) {
            for call in self.calls() {
                let method = call["params"]["method"].as_str().unwrap().to_owned();
                let result = match method.as_str() {
                    "Page.getFrameTree" => json!({ "frameTree": tree }),
                    "Page.addScriptToEvaluateOnNewDocument" => json!({ "identifier": "real-1" }),
                    "Page.createIsolatedWorld" => json!({ "executionContextId": 99 }),
                    _ => json!({}),
                };
                replayed.push(method);
                self.reply(&call, result);
            }
        }
        replayed
    }

    /// Wakes a tab by evaluating in it, and answers that too.
    pub fn make_live(&mut self, client: ClientId, session: &str, tab: i64) {
        self.request(
            client,
            Some(session),
            "Runtime.evaluate",
            json!({ "expression": "1" }),
        );
        self.finish_waking(&main_frame(tab));
        let call = self.next_command("Runtime.evaluate");
        self.reply(&call, json!({ "result": {} }));
        self.heard(client);
    }
}

pub fn tab(id: i64) -> Value {
    json!({ "tabId": id, "url": format!("https://site/{id}"), "title": format!("Tab {id}"), "targetId": format!("T{id}"), "status": "complete" })
}

pub fn main_frame(tab: i64) -> Value {
    json!({ "frame": { "id": format!("T{tab}"), "loaderId": "real-loader", "url": format!("https://site/{tab}") } })
}

/// What Playwright says to each page as it connects, in its order.
pub fn playwright_init() -> Vec<(&'static str, Value)> {
    vec![
        ("Page.enable", json!({})),
        ("Page.getFrameTree", json!({})),
        ("Log.enable", json!({})),
        ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
        ("Runtime.enable", json!({})),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "", "worldName": "utility" }),
        ),
        ("Network.enable", json!({})),
        (
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        ),
        (
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": true }),
        ),
        ("Page.setFontFamilies", json!({ "fontFamilies": {} })),
        ("Emulation.setEmulatedMedia", json!({ "media": "" })),
        ("Inspector.enable", json!({})),
        (
            "Page.createIsolatedWorld",
            json!({ "frameId": "T1", "worldName": "utility" }),
        ),
        ("Runtime.runIfWaitingForDebugger", json!({})),
    ]
}

/// Lets time pass in a browser that is there; gives what it is asked meanwhile.
pub fn pass(script: &mut Script, seconds: u64) -> Vec<Value> {
    let mut calls = Vec::new();
    for _ in 0..seconds {
        script.advance(Duration::from_secs(1));
        script.extension_event("pong", json!({}));
        calls.extend(
            script
                .calls()
                .into_iter()
                .filter(|call| call["method"] != "ping"),
        );
    }
    calls
}
