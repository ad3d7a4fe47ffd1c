//! A scripted extension: it greets, answers pings and what any browser would answer, and leaves to the test what the test
//! holds back. Everything it is asked is written down.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::link::{self, Socket};
use crate::{Relay, until, within};

/// The id that the relay knows without being told.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// One call of the relay.
#[derive(Debug, Clone)]
pub struct Call {
    pub id: u64,
    /// `attachTab`, `cdpCommand`, …; for the latter the CDP method instead.
    pub name: String,
    pub tab: Option<i64>,
    /// The child session that a command is for.
    pub child: Option<String>,
    /// The parameters as they came; of a command, the CDP parameters.
    pub params: String,
}

impl Call {
    pub fn params(&self) -> Value {
        serde_json::from_str(&self.params).unwrap()
    }
}

/// What the test and the link share.
#[derive(Default)]
struct Script {
    /// Calls by name that the test answers itself.
    held: BTreeSet<String>,
    /// Says nothing any more, as a service worker that hangs.
    mute: bool,
    /// Reads nothing any more, as a process that is stopped.
    deaf: bool,
    calls: Vec<Call>,
}

pub struct ScriptedExtension {
    script: Arc<Mutex<Script>>,
    outgoing: mpsc::Sender<Message>,
    held_calls: mpsc::UnboundedReceiver<Call>,
    waiting: Vec<Call>,
    /// Ends with how the link ended.
    link: JoinHandle<Option<(u16, String)>>,
}

impl ScriptedExtension {
    /// Greets and lists these tabs; returns when the relay knows them.
    pub async fn connect(relay: &Relay, tabs: &[Value]) -> Self {
        let extension = Self::open(relay, EXTENSION_ID, tabs).await;
        extension.greet().await;
        until("the extension is known", async || {
            (relay.get("/").await["extension"] == true).then_some(())
        })
        .await;
        extension
    }

    /// Connects and says nothing by itself.
    pub async fn open(relay: &Relay, id: &str, tabs: &[Value]) -> Self {
        let origin = format!("chrome-extension://{id}");
        // The slot of one that has just gone may not be free yet; an extension tries again, as the real one does.
        let socket = until("the extension's slot", async || {
            match link::open(relay.port, "/extension", &[("Origin", &origin)]).await {
                Ok(socket) => Some(socket),
                Err(409) => None,
                Err(status) => panic!("/extension was refused: {status}"),
            }
        })
        .await;
        let script = Arc::new(Mutex::new(Script::default()));
        // Short, so that what a test sends waits in the socket and not here.
        let (outgoing, to_send) = mpsc::channel(4);
        let (hold, held_calls) = mpsc::unbounded_channel();
        let link = tokio::spawn(run(socket, tabs.to_vec(), script.clone(), to_send, hold));
        Self {
            script,
            outgoing,
            held_calls,
            waiting: Vec::new(),
            link,
        }
    }

    pub async fn greet(&self) {
        let hello = json!({
            "protocol": 1, "version": "0.1.0", "browser": "Chrome/156.0.8078.79", "userAgent": "Mozilla/5.0 (scripted)", "installId": "test",
        });
        self.event("hello", hello).await;
    }

    /// From now on the test answers this call, by the name of a call or of a CDP method.
    pub fn hold(&self, name: &str) {
        self.script.lock().unwrap().held.insert(name.to_owned());
    }

    /// Stops answering pings and calls; the socket stays open.
    pub fn mute(&self) {
        self.script.lock().unwrap().mute = true;
    }

    /// Stops reading; the socket stays open.
    pub fn deafen(&self) {
        self.script.lock().unwrap().deaf = true;
    }

    /// The next call of this name that is held back.
    pub async fn held_call(&mut self, name: &str) -> Call {
        if let Some(at) = self.waiting.iter().position(|call| call.name == name) {
            return self.waiting.remove(at);
        }
        let finding = async {
            while let Some(call) = self.held_calls.recv().await {
                if call.name == name {
                    return call;
                }
                self.waiting.push(call);
            }
            panic!("{name}: the link has ended");
        };
        within(name, finding).await
    }

    /// Everything asked so far, by name.
    pub fn calls(&self, name: &str) -> Vec<Call> {
        self.script
            .lock()
            .unwrap()
            .calls
            .iter()
            .filter(|call| call.name == name)
            .cloned()
            .collect()
    }

    /// The names of all calls so far, in order.
    pub fn call_names(&self) -> Vec<String> {
        self.script
            .lock()
            .unwrap()
            .calls
            .iter()
            .map(|call| call.name.clone())
            .collect()
    }

    pub async fn until_called(&self, name: &str, times: usize) {
        until(&format!("{name} is called {times} times"), async || {
            (self.calls(name).len() >= times).then_some(())
        })
        .await;
    }

    pub async fn answer(&self, call: &Call, result: Value) {
        self.send_text(json!({ "id": call.id, "result": result }).to_string())
            .await;
    }

    pub async fn fail(&self, call: &Call, error: Value) {
        self.send_text(json!({ "id": call.id, "error": error }).to_string())
            .await;
    }

    pub async fn event(&self, name: &str, params: Value) {
        self.send_text(json!({ "method": name, "params": params }).to_string())
            .await;
    }

    /// A debugger event of a tab.
    pub async fn cdp_event(&self, tab: i64, method: &str, params: Value) {
        self.event(
            "cdpEvent",
            json!({ "tabId": tab, "method": method, "params": params }),
        )
        .await;
    }

    /// A debugger event of a target below a tab.
    pub async fn child_event(&self, tab: i64, child: &str, method: &str, params: Value) {
        self.event(
            "cdpEvent",
            json!({ "tabId": tab, "method": method, "params": params, "childSessionId": child }),
        )
        .await;
    }

    pub async fn send_text(&self, text: impl Into<String>) {
        self.send_message(Message::text(text.into())).await;
    }

    pub async fn send_message(&self, message: Message) {
        // When the link has ended, nobody hears it; tests ask for that with `closed`.
        let _ = within("a message is sent", self.outgoing.send(message)).await;
    }

    /// Waits until the relay closes.
    pub async fn closed(self) -> Option<(u16, String)> {
        within("the relay closes the extension's link", self.link)
            .await
            .unwrap()
    }

    /// Goes without a word, as a service worker that is killed.
    pub async fn vanish(self) {
        self.link.abort();
        let _ = self.link.await;
    }
}

async fn run(
    socket: Socket,
    tabs: Vec<Value>,
    script: Arc<Mutex<Script>>,
    mut to_send: mpsc::Receiver<Message>,
    hold: mpsc::UnboundedSender<Call>,
) -> Option<(u16, String)> {
    let (mut sink, mut stream) = socket.split();
    loop {
        let deaf = script.lock().unwrap().deaf;
        let answer = tokio::select! {
            message = stream.next(), if !deaf => match message {
                Some(Ok(Message::Text(text))) => on_text(&text, &tabs, &script, &hold).map(Message::text),
                Some(Ok(Message::Close(frame))) => return link::close_of(frame),
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return None,
            },
            message = to_send.recv() => match message {
                Some(message) => Some(message),
                None => return None,
            },
        };
        if let Some(answer) = answer {
            // After a failure the reader says how the link ended.
            let _ = sink.send(answer).await;
        }
    }
}

fn on_text(
    text: &str,
    tabs: &[Value],
    script: &Mutex<Script>,
    hold: &mpsc::UnboundedSender<Call>,
) -> Option<String> {
    let mut script = script.lock().unwrap();
    let call = match read_call(text) {
        _ if script.mute => return None,
        Some(call) => call,
        None => return Some(json!({ "method": "pong" }).to_string()),
    };
    script.calls.push(call.clone());
    if script.held.contains(&call.name) {
        let _ = hold.send(call);
        return None;
    }
    let result = match call.name.as_str() {
        "listTabs" => json!({ "tabs": tabs }),
        "Page.getFrameTree" => {
            json!({ "frameTree": { "frame": { "id": target_of(call.tab.unwrap()), "url": "https://example.com/" } } })
        }
        "attachTab" | "detachTab" | "activateTab" | "closeTab" => json!({}),
        // So that a test can see from the answer which question it belongs to.
        _ => json!({ "echo": call.name, "params": call.params() }),
    };
    Some(json!({ "id": call.id, "result": result }).to_string())
}

/// `None` for a ping, the one message without an id.
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

/// A tab as the extension lists it.
pub fn tab(id: i64) -> Value {
    json!({
        "tabId": id, "targetId": target_of(id), "url": format!("https://example.com/{id}"), "title": format!("Tab {id}"), "status": "complete",
    })
}

/// The DevTools target id of the tab of this number.
pub fn target_of(tab: i64) -> String {
    format!("{:032X}", 0xAB00 + tab)
}
