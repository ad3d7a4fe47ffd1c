//! A scripted extension with a number of tabs. It replies to calls as a browser would, and sends
//! events on demand.

use std::borrow::Cow;

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tabwire_tests::{EXTENSION_ID, Installation, introduction, origin};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::ends::{Socket, open, text};

/// The only tab that is used.
const TAB: i64 = 1000;
/// Chrome's id of the tab's default context.
const REAL_CONTEXT: i64 = 3;
const SCREENSHOT: usize = 4 << 20;

#[derive(Clone, Copy)]
pub enum Event {
    /// The relay forwards it as it is.
    Plain,
    /// Contains the id of an execution context, which the relay may have to translate.
    NamingContext,
}

impl Event {
    fn text(self) -> String {
        let filler = "x".repeat(150);
        let (method, params) = match self {
            Self::Plain => (
                "Network.dataReceived",
                json!({ "requestId": "1000.1", "timestamp": 1.5, "dataLength": 10, "url": filler }),
            ),
            Self::NamingContext => (
                "Runtime.consoleAPICalled",
                json!({ "type": "log", "args": [{ "type": "string", "value": filler }], "executionContextId": REAL_CONTEXT, "timestamp": 1.5 }),
            ),
        };
        event(method, &params)
    }
}

fn event(method: &str, params: &serde_json::Value) -> String {
    let params = json!({ "tabId": TAB, "method": method, "params": params });
    json!({ "method": "cdpEvent", "params": params }).to_string()
}

/// Disconnects when it is dropped.
pub struct Extension {
    floods: mpsc::UnboundedSender<(Event, usize)>,
}

impl Extension {
    /// Connects the browser of this installation, with this many tabs.
    pub async fn connect_to_relay(
        port: u16,
        installation: &Installation,
        tabs: usize,
    ) -> anyhow::Result<Self> {
        let socket = open_proven(port, installation).await?;
        Ok(Self::start(socket, tabs))
    }

    pub async fn connect_to_pipe(port: u16) -> anyhow::Result<Self> {
        Ok(Self::start(open(port, "/", None).await?, 0))
    }

    /// Plays a browser behind a debugging port, whose commands and replies look the same.
    pub fn behind_port(socket: Socket) -> Self {
        Self::start(socket, 0)
    }

    fn start(socket: Socket, tabs: usize) -> Self {
        let (floods, requested) = mpsc::unbounded_channel();
        let screenshot = format!(r#"{{"data":"{}"}}"#, "A".repeat(SCREENSHOT));
        let script = Script {
            socket,
            tabs,
            screenshot,
        };
        tokio::spawn(async move {
            if let Err(error) = script.run(requested).await {
                eprintln!("The scripted extension failed: {error:#}");
            }
        });
        Self { floods }
    }

    /// Sends this many events, each in its own frame and system call, as Chrome's WebSocket does.
    pub fn flood(&self, event: Event, count: usize) {
        let _ = self.floods.send((event, count));
    }
}

/// A socket on which the browser of this installation has proven who it is, and introduced itself.
pub async fn open_proven(port: u16, installation: &Installation) -> anyhow::Result<Socket> {
    let mut socket = open_unproven(port).await?;
    let address = format!("127.0.0.1:{port}");
    let hello = installation.hello(&next_text(&mut socket).await?, &address, false);
    socket.send(text(hello.message.to_string())).await?;
    installation.check_answer(&hello, &address, &next_text(&mut socket).await?);
    socket.send(text(introduction().to_string())).await?;
    Ok(socket)
}

pub async fn open_unproven(port: u16) -> anyhow::Result<Socket> {
    open(port, "/extension", Some(&origin(EXTENSION_ID))).await
}

pub async fn next_text(socket: &mut Socket) -> anyhow::Result<String> {
    let message = socket
        .next()
        .await
        .context("The relay has disconnected")??;
    Ok(message.into_text()?.to_string())
}

/// A call in the extension protocol. Through the pipe, it is a CDP command.
#[derive(Deserialize)]
struct Call<'a> {
    id: Option<i64>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Command<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// The CDP method of a `cdpCommand`, otherwise the call's own.
    fn method(&self) -> anyhow::Result<Cow<'a, str>> {
        Ok(match (self.method.as_ref(), self.params) {
            ("cdpCommand", Some(params)) => {
                serde_json::from_str::<Command<'a>>(params.get())?.method
            }
            _ => self.method.clone(),
        })
    }
}

/// The task behind `Extension`.
struct Script {
    socket: Socket,
    tabs: usize,
    screenshot: String,
}

impl Script {
    async fn run(
        mut self,
        mut floods: mpsc::UnboundedReceiver<(Event, usize)>,
    ) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                frame = self.socket.next() => {
                    let Some(Ok(frame)) = frame else { return Ok(()) };
                    if let Message::Text(frame) = frame {
                        self.on_frame(&frame).await?;
                    }
                }
                flood = floods.recv() => {
                    let Some((event, count)) = flood else { return Ok(()) };
                    let event = Utf8Bytes::from(event.text());
                    for _ in 0..count {
                        self.socket.send(Message::Text(event.clone())).await?;
                    }
                }
            }
        }
    }

    /// A frame contains one call or several.
    async fn on_frame(&mut self, frame: &str) -> anyhow::Result<()> {
        let calls: Vec<Call<'_>> = if frame.starts_with('[') {
            serde_json::from_str(frame)?
        } else {
            vec![serde_json::from_str(frame)?]
        };
        for call in calls {
            self.on_call(&call).await?;
        }
        Ok(())
    }

    async fn on_call(&mut self, call: &Call<'_>) -> anyhow::Result<()> {
        let Some(id) = call.id else {
            // Only a ping has no id.
            return self.send(r#"{"method":"pong"}"#.to_owned()).await;
        };
        let method = call.method()?;
        if method == "Runtime.enable" {
            let aux = json!({ "isDefault": true, "type": "default", "frameId": target_id(TAB) });
            let context = json!({ "id": REAL_CONTEXT, "uniqueId": "1.2", "origin": "", "name": "", "auxData": aux });
            let params = json!({ "context": context });
            self.send(event("Runtime.executionContextCreated", &params))
                .await?;
        }
        let result = self.result_of(&method);
        self.send(format!(r#"{{"id":{id},"result":{result}}}"#))
            .await
    }

    fn result_of(&self, method: &str) -> Cow<'_, str> {
        match method {
            "listTabs" => tab_list(self.tabs).into(),
            "Page.captureScreenshot" => self.screenshot.as_str().into(),
            "Page.getFrameTree" => format!(
                r#"{{"frameTree":{{"frame":{{"id":"{}","loaderId":"L","url":"about:blank"}}}}}}"#,
                target_id(TAB)
            )
            .into(),
            "Runtime.evaluate" => {
                r#"{"result":{"type":"number","value":42,"description":"42"}}"#.into()
            }
            _ => "{}".into(),
        }
    }

    async fn send(&mut self, message: String) -> anyhow::Result<()> {
        Ok(self.socket.send(text(message)).await?)
    }
}

fn tab_list(count: usize) -> String {
    let tab = |number: i64| {
        json!({
            "tabId": TAB + number,
            "url": format!("https://example.com/some/path/of/a/page?number={number}"),
            "status": "complete",
            "title": format!("A page that is open in tab {number}"),
            "targetId": target_id(TAB + number),
            "windowId": 1,
            "attached": false,
        })
    };
    let numbers = 0..i64::try_from(count).unwrap_or_default();
    json!({ "tabs": numbers.map(tab).collect::<Vec<_>>() }).to_string()
}

fn target_id(tab: i64) -> String {
    format!("{tab:032X}")
}
