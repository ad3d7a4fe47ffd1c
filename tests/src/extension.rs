//! A scripted extension. It proves who it is, answers pings, and replies to calls as a browser
//! would, except to those that the test holds. It records every call.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::link::{self, Socket};
use crate::{Installation, Relay, introduction, target_of, within};

/// The id that the relay accepts by default.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// A call from the relay.
#[derive(Debug, Clone)]
pub struct Call {
    pub id: u64,
    /// `attachTab`, `createTab`, …; for a `cdpCommand` or `browserCommand` the CDP method.
    pub name: String,
    pub tab: Option<i64>,
    /// The child session of a `cdpCommand`.
    pub child: Option<String>,
    /// The parameters byte for byte; for a `cdpCommand` or `browserCommand` the CDP parameters.
    pub params: String,
}

impl Call {
    pub fn params(&self) -> Value {
        serde_json::from_str(&self.params).unwrap()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behavior {
    Normal,
    /// Reads, but sends nothing: a service worker that hangs.
    Silent,
    /// Does not read: a stopped process.
    Stalled,
}

/// State shared by the test and the task that runs the socket.
struct Script {
    tabs: Vec<Value>,
    /// Names of the calls that the test answers itself.
    held: Mutex<BTreeSet<String>>,
    /// Every call received, in order.
    calls: watch::Sender<Vec<Call>>,
    /// The last status that the relay sent.
    status: watch::Sender<Value>,
    behavior: watch::Sender<Behavior>,
}

/// How the relay refuses an extension.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// The parameters of `busy`.
    pub busy: Option<Value>,
    pub close: Option<u16>,
}

/// The `Origin` header of an extension.
pub fn origin(id: &str) -> String {
    format!("chrome-extension://{id}")
}

pub struct ScriptedExtension {
    script: Arc<Script>,
    outgoing: mpsc::Sender<Message>,
    held_calls: mpsc::UnboundedReceiver<Call>,
    /// Held calls that arrived while the test waited for another one.
    inbox: Vec<Call>,
    /// Returns the close frame.
    link: JoinHandle<Option<(u16, String)>>,
}

impl ScriptedExtension {
    /// Connects with these tabs and waits until the relay has listed them.
    pub async fn connect(relay: &Relay, tabs: &[Value]) -> Self {
        let extension = Self::open(relay, tabs).await;
        relay.until_extension(true).await;
        extension
    }

    /// Connects as the relay's own installation. Does not wait until the tabs are listed.
    pub async fn open(relay: &Relay, tabs: &[Value]) -> Self {
        Self::open_as(relay, &relay.installation(), EXTENSION_ID, tabs).await
    }

    /// As `open`, as another installation and with another extension's origin.
    pub async fn open_as(
        relay: &Relay,
        installation: &Installation,
        id: &str,
        tabs: &[Value],
    ) -> Self {
        let mut socket = Self::prove(relay, installation, id, false).await.unwrap();
        let message = Message::text(introduction().to_string());
        socket.send(message).await.unwrap();
        Self::run(socket, tabs)
    }

    /// Takes the slot of another browser, as a user can do in the popup.
    pub async fn take_over(relay: &Relay, installation: &Installation, tabs: &[Value]) -> Self {
        let socket = Self::prove(relay, installation, EXTENSION_ID, true).await;
        let mut socket = socket.unwrap();
        let message = Message::text(introduction().to_string());
        socket.send(message).await.unwrap();
        Self::run(socket, tabs)
    }

    /// Connects and proves who it is, and nothing else.
    pub async fn prove(
        relay: &Relay,
        installation: &Installation,
        id: &str,
        take_over: bool,
    ) -> Result<Socket, Refused> {
        let origin = origin(id);
        let opened = link::open(relay.port, "/extension", &[("Origin", &origin)]).await;
        let mut socket = opened.expect("/extension is a WebSocket");
        let refused = |close: Option<(u16, String)>| Refused {
            busy: None,
            close: close.map(|(code, _)| code),
        };
        let challenge = link::read_text(&mut socket).await.map_err(refused)?;
        let address = format!("127.0.0.1:{}", relay.port);
        let hello = installation.hello(&challenge, &address, take_over);
        let message = Message::text(hello.message.to_string());
        socket.send(message).await.unwrap();
        let answer = link::read_text(&mut socket).await.map_err(refused)?;
        let answer = installation.check_answer(&hello, &address, &answer);
        if answer["method"] == "welcome" {
            return Ok(socket);
        }
        let closed = link::read_text(&mut socket).await.err().flatten();
        Err(Refused {
            busy: Some(answer["params"].clone()),
            close: closed.map(|(code, _)| code),
        })
    }

    fn run(socket: Socket, tabs: &[Value]) -> Self {
        let (hold, held_calls) = mpsc::unbounded_channel();
        let script = Arc::new(Script {
            tabs: tabs.to_vec(),
            held: Mutex::default(),
            calls: watch::Sender::default(),
            status: watch::Sender::default(),
            behavior: watch::Sender::new(Behavior::Normal),
        });
        // Short, so that unsent messages fill the socket and not this queue.
        let (outgoing, to_send) = mpsc::channel(4);
        let link = tokio::spawn(run(socket, script.clone(), to_send, hold));
        Self {
            script,
            outgoing,
            held_calls,
            inbox: Vec::new(),
            link,
        }
    }

    /// Waits until the status that the relay sends for the popup meets a condition.
    pub async fn until_status(&self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut status = self.script.status.subscribe();
        let met = within(what, status.wait_for(|status| condition(status))).await;
        met.unwrap().clone()
    }

    /// From now on the test replies to calls with this name (or CDP method).
    pub fn hold(&self, name: &str) {
        self.script.held.lock().unwrap().insert(name.to_owned());
    }

    /// Stops replying to pings and calls. The socket stays open and is read.
    pub fn stop_replying(&self) {
        self.script.behavior.send_replace(Behavior::Silent);
    }

    /// Stops reading. The socket stays open.
    pub fn stop_reading(&self) {
        self.script.behavior.send_replace(Behavior::Stalled);
    }

    /// Waits for the next held call with this name.
    pub async fn held_call(&mut self, name: &str) -> Call {
        if let Some(at) = self.inbox.iter().position(|call| call.name == name) {
            return self.inbox.remove(at);
        }
        let finding = async {
            while let Some(call) = self.held_calls.recv().await {
                if call.name == name {
                    return call;
                }
                self.inbox.push(call);
            }
            panic!("{name}: the connection has ended");
        };
        within(name, finding).await
    }

    /// The calls with this name received until now.
    pub fn calls(&self, name: &str) -> Vec<Call> {
        let calls = self.script.calls.borrow();
        calls
            .iter()
            .filter(|call| call.name == name)
            .cloned()
            .collect()
    }

    /// The names of all calls received until now, in order.
    pub fn call_names(&self) -> Vec<String> {
        let calls = self.script.calls.borrow();
        calls.iter().map(|call| call.name.clone()).collect()
    }

    pub async fn until_called(&self, name: &str, times: usize) {
        self.until_calls(&format!("{name} is called {times} times"), |calls| {
            count(calls, name) >= times
        })
        .await;
    }

    /// Waits until all calls received meet a condition.
    pub async fn until_calls(&self, what: &str, condition: impl Fn(&[Call]) -> bool) {
        let mut calls = self.script.calls.subscribe();
        within(what, calls.wait_for(|calls| condition(calls)))
            .await
            .unwrap();
    }

    pub async fn reply(&self, call: &Call, result: Value) {
        self.send_text(json!({ "id": call.id, "result": result }).to_string())
            .await;
    }

    pub async fn reply_error(&self, call: &Call, error: Value) {
        self.send_text(json!({ "id": call.id, "error": error }).to_string())
            .await;
    }

    pub async fn send_event(&self, name: &str, params: Value) {
        self.send_text(json!({ "method": name, "params": params }).to_string())
            .await;
    }

    /// Sends a debugger event of a tab.
    pub async fn send_cdp_event(&self, tab: i64, method: &str, params: Value) {
        let params = json!({ "tabId": tab, "method": method, "params": params });
        self.send_event("cdpEvent", params).await;
    }

    /// Sends a debugger event of a child target, by its session.
    pub async fn send_child_event(&self, tab: i64, child: &str, method: &str, params: Value) {
        let params =
            json!({ "tabId": tab, "method": method, "params": params, "childSessionId": child });
        self.send_event("cdpEvent", params).await;
    }

    pub async fn send_text(&self, text: impl Into<String>) {
        self.send_message(Message::text(text.into())).await;
    }

    /// Ignores failures: a test that expects the connection to end uses `wait_for_close`.
    pub async fn send_message(&self, message: Message) {
        let _ = within("send a message", self.outgoing.send(message)).await;
    }

    /// Waits until the relay closes the connection, and returns the code and reason of its close
    /// frame.
    pub async fn wait_for_close(self) -> Option<(u16, String)> {
        within("the relay closes the extension's connection", self.link)
            .await
            .unwrap()
    }

    /// Drops the connection without a close frame, like a service worker that is killed.
    pub async fn drop_connection(self) {
        self.link.abort();
        let _ = self.link.await;
    }
}

/// How many of these calls have this name.
fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

async fn run(
    socket: Socket,
    script: Arc<Script>,
    mut to_send: mpsc::Receiver<Message>,
    hold: mpsc::UnboundedSender<Call>,
) -> Option<(u16, String)> {
    let (mut sink, mut stream) = socket.split();
    let mut behavior = script.behavior.subscribe();
    loop {
        let reads = *behavior.borrow_and_update() != Behavior::Stalled;
        let message = tokio::select! {
            biased;
            Ok(()) = behavior.changed() => continue,
            message = stream.next(), if reads => match message {
                Some(Ok(Message::Text(text))) => script.reply_to(&text, &hold).map(Message::text),
                Some(Ok(Message::Close(frame))) => return link::code_and_reason(frame),
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return None,
            },
            message = to_send.recv() => Some(message?),
        };
        if let Some(message) = message {
            // If sending fails, reading returns the reason.
            let _ = sink.send(message).await;
        }
    }
}

impl Script {
    /// Records a call and returns the reply to it, unless the test holds it.
    fn reply_to(&self, text: &str, hold: &mpsc::UnboundedSender<Call>) -> Option<String> {
        if *self.behavior.borrow() == Behavior::Silent {
            return None;
        }
        let Some(call) = read_call(text) else {
            return self.on_notification(text);
        };
        self.calls.send_modify(|calls| calls.push(call.clone()));
        if self.held.lock().unwrap().contains(&call.name) {
            let _ = hold.send(call);
            return None;
        }
        let result = match call.name.as_str() {
            "listTabs" => json!({ "tabs": self.tabs }),
            "Page.getFrameTree" => {
                json!({ "frameTree": { "frame": { "id": target_of(call.tab.unwrap()), "url": "https://example.com/" } } })
            }
            "attachTab" | "detachTab" | "activateTab" | "closeTab" => json!({}),
            // Lets a test see which request a reply belongs to.
            _ => json!({ "echo": call.name, "params": call.params() }),
        };
        Some(json!({ "id": call.id, "result": result }).to_string())
    }
}

impl Script {
    /// A message without an id: a ping, or a status for the popup.
    fn on_notification(&self, text: &str) -> Option<String> {
        let mut message: Value = serde_json::from_str(text).unwrap();
        if message["method"] == "ping" {
            return Some(json!({ "method": "pong" }).to_string());
        }
        assert_eq!(message["method"], "status", "{message}");
        self.status.send_replace(message["params"].take());
        None
    }
}

/// Returns `None` for a message without an id.
fn read_call(text: &str) -> Option<Call> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        id: Option<u64>,
        method: String,
        #[serde(borrow)]
        params: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Command<'a> {
        tab_id: Option<i64>,
        method: Option<String>,
        #[serde(borrow)]
        params: Option<&'a RawValue>,
        child_session_id: Option<String>,
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).unwrap();
    let outer = envelope.params.map_or("{}", RawValue::get);
    let command: Command<'_> = serde_json::from_str(outer).unwrap();
    Some(Call {
        id: envelope.id?,
        name: command.method.unwrap_or(envelope.method),
        tab: command.tab_id,
        child: command.child_session_id,
        params: command.params.map_or(outer, RawValue::get).to_owned(),
    })
}
