//! The two ends that stand around the relay, or around the pipe: an extension that answers by a script, and a bare client.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

type Socket = WebSocketStream<TcpStream>;

/// The origin of a scripted extension; the relay is told to let it in.
pub const EXTENSION_ID: &str = "benchbenchbenchbenchbenchbenchbe";
/// The tab that is used; the others are only there.
const TAB: i64 = 1000;
/// Chrome's number of the tab's default context.
const REAL_CONTEXT: i64 = 3;
const SCREENSHOT: usize = 4 << 20;

async fn open(port: u16, path: &str, origin: Option<&str>) -> anyhow::Result<Socket> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request()?;
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse()?);
    }
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    Ok(client_async_with_config(request, stream, Some(config))
        .await?
        .0)
}

// ---- the extension ----

/// Which event is sent in a flood.
#[derive(Clone, Copy)]
pub enum Event {
    /// One that the relay has nothing to do with.
    Plain,
    /// One that names an execution context, whose number the relay may have to translate.
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
        json!({ "method": "cdpEvent", "params": { "tabId": TAB, "method": method, "params": params } }).to_string()
    }
}

/// The extension's end. It lives as long as its handle.
pub struct Extension {
    floods: mpsc::UnboundedSender<(Event, usize)>,
}

impl Extension {
    /// Connects, says hello and has this many tabs.
    pub async fn connect_to_relay(port: u16, tabs: usize) -> anyhow::Result<Self> {
        let mut socket = open(
            port,
            "/extension",
            Some(&format!("chrome-extension://{EXTENSION_ID}")),
        )
        .await?;
        let hello = json!({ "protocol": 1, "version": "0", "browser": "Chrome/1.0", "userAgent": "bench", "installId": "bench" });
        socket
            .send(text(
                json!({ "method": "hello", "params": hello }).to_string(),
            ))
            .await?;
        Ok(Self::start(socket, tabs))
    }

    pub async fn connect_to_pipe(port: u16) -> anyhow::Result<Self> {
        Ok(Self::start(open(port, "/", None).await?, 0))
    }

    fn start(socket: Socket, tabs: usize) -> Self {
        let (floods, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            if let Err(error) = run(socket, tabs, asked).await {
                eprintln!("the extension's end: {error:#}");
            }
        });
        Self { floods }
    }

    /// Sends this many events, each in a frame and a system call of its own, as Chrome's WebSocket does.
    pub fn flood(&self, event: Event, count: usize) {
        let _ = self.floods.send((event, count));
    }
}

/// A call in the extension's protocol, or a bare CDP request where only the pipe is between.
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

async fn run(
    mut socket: Socket,
    tabs: usize,
    mut asked: mpsc::UnboundedReceiver<(Event, usize)>,
) -> anyhow::Result<()> {
    let screenshot = format!(r#"{{"data":"{}"}}"#, "A".repeat(SCREENSHOT));
    loop {
        tokio::select! {
            frame = socket.next() => {
                let Some(Ok(frame)) = frame else { return Ok(()) };
                let Message::Text(frame) = frame else { continue };
                let calls: Vec<Call<'_>> = if frame.starts_with('[') { serde_json::from_str(&frame)? } else { vec![serde_json::from_str(&frame)?] };
                for call in calls {
                    answer(&mut socket, &call, tabs, &screenshot).await?;
                }
            }
            flood = asked.recv() => {
                let Some((event, count)) = flood else { return Ok(()) };
                let event = Utf8Bytes::from(event.text());
                for _ in 0..count {
                    socket.send(Message::Text(event.clone())).await?;
                }
            }
        }
    }
}

async fn answer(
    socket: &mut Socket,
    call: &Call<'_>,
    tabs: usize,
    screenshot: &str,
) -> anyhow::Result<()> {
    let Some(id) = call.id else {
        // The only call without an id.
        socket.send(text(r#"{"method":"pong"}"#.to_owned())).await?;
        return Ok(());
    };
    let method = match (call.method.as_ref(), call.params) {
        ("cdpCommand", Some(params)) => serde_json::from_str::<Command<'_>>(params.get())?.method,
        _ => call.method.clone(),
    };
    let result = match method.as_ref() {
        "listTabs" => tab_list(tabs),
        "Page.captureScreenshot" => screenshot.to_owned(),
        "Page.getFrameTree" => format!(
            r#"{{"frameTree":{{"frame":{{"id":"{}","loaderId":"L","url":"about:blank"}}}}}}"#,
            target_id(TAB)
        ),
        "Runtime.evaluate" => {
            r#"{"result":{"type":"number","value":42,"description":"42"}}"#.to_owned()
        }
        _ => "{}".to_owned(),
    };
    if method == "Runtime.enable" {
        let aux = json!({ "isDefault": true, "type": "default", "frameId": target_id(TAB) });
        let context = json!({ "id": REAL_CONTEXT, "uniqueId": "1.2", "origin": "", "name": "", "auxData": aux });
        let params = json!({ "tabId": TAB, "method": "Runtime.executionContextCreated", "params": { "context": context } });
        socket
            .send(text(
                json!({ "method": "cdpEvent", "params": params }).to_string(),
            ))
            .await?;
    }
    socket
        .send(text(format!(r#"{{"id":{id},"result":{result}}}"#)))
        .await?;
    Ok(())
}

fn tab_list(count: usize) -> String {
    let tab = |number: i64| {
        json!({
            "tabId": TAB + number, "url": format!("https://example.com/some/path/of/a/page?number={number}"), "status": "complete",
            "title": format!("A page that is open in tab {number}"), "targetId": target_id(TAB + number), "windowId": 1, "attached": false,
        })
    };
    json!({ "tabs": (0..i64::try_from(count).unwrap_or_default()).map(tab).collect::<Vec<_>>() })
        .to_string()
}

fn target_id(tab: i64) -> String {
    format!("{tab:032X}")
}

fn text(text: String) -> Message {
    Message::Text(text.into())
}

// ---- the client ----

pub struct Client {
    socket: Socket,
    last_id: u64,
    /// How commands to the tab end: with its session, or where only the pipe is between, with as many bytes.
    tail: String,
    /// The context that evaluations name.
    context: i64,
}

/// What a client sees as it connects.
#[derive(Deserialize)]
struct Seen<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Client {
    /// Connects and prepares every tab as Playwright does, then wakes the first with an evaluation.
    pub async fn connect_to_relay(cdp_url: &str) -> anyhow::Result<Self> {
        let (address, path) = cdp_url
            .strip_prefix("ws://127.0.0.1:")
            .and_then(|rest| rest.split_once('/'))
            .context("not a CDP URL")?;
        let socket = open(address.parse()?, &format!("/{path}"), None).await?;
        let mut client = Self {
            socket,
            last_id: 0,
            tail: String::new(),
            context: 0,
        };
        let sessions = client.attach_to_all().await?;
        for (session, target) in &sessions {
            client.prepare(session, target).await?;
        }
        client.tail = format!(
            r#","sessionId":"{}"}}"#,
            sessions.first().context("no tab")?.0
        );
        client.round_trip().await?;
        Ok(client)
    }

    pub async fn connect_to_pipe(port: u16) -> anyhow::Result<Self> {
        let tail = format!(r#","sessionId":"{}"}}"#, "0".repeat(32));
        let mut client = Self {
            socket: open(port, "/", None).await?,
            last_id: 0,
            tail,
            context: 1 << 30,
        };
        client.round_trip().await?;
        Ok(client)
    }

    /// Every tab's session and target.
    async fn attach_to_all(&mut self) -> anyhow::Result<Vec<(String, String)>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached {
            session_id: String,
            target_info: Info,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Info {
            target_id: String,
        }
        // The first client of a relay may come before the extension has listed its tabs; then it is held until it has.
        let id = self
            .send(
                "Target.setAutoAttach",
                r#"{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}"#,
                "}",
            )
            .await?;
        let mut sessions = Vec::new();
        loop {
            let frame = self.receive().await?;
            let seen: Seen<'_> = serde_json::from_str(&frame)?;
            match (seen.method.as_deref(), seen.params) {
                (Some("Target.attachedToTarget"), Some(params)) => {
                    let attached: Attached = serde_json::from_str(params.get())?;
                    sessions.push((attached.session_id, attached.target_info.target_id));
                }
                _ if seen.id == Some(id) => return Ok(sessions),
                _ => {}
            }
        }
    }

    /// The init commands of Playwright 1.65.
    async fn prepare(&mut self, session: &str, target: &str) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        struct Created {
            context: Context,
        }
        #[derive(Deserialize)]
        struct Context {
            id: i64,
        }
        let world =
            r#"{"source":"","worldName":"__playwright_utility_world_page@0123456789abcdef"}"#;
        let isolated = json!({ "frameId": target, "grantUniveralAccess": true, "worldName": "__playwright_utility_world_page@0123456789abcdef" });
        let isolated = isolated.to_string();
        let commands = [
            ("Page.enable", "{}"),
            ("Page.getFrameTree", "{}"),
            ("Log.enable", "{}"),
            ("Page.setLifecycleEventsEnabled", r#"{"enabled":true}"#),
            ("Runtime.enable", "{}"),
            ("Page.addScriptToEvaluateOnNewDocument", world),
            ("Network.enable", "{}"),
            (
                "Target.setAutoAttach",
                r#"{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}"#,
            ),
            ("Emulation.setFocusEmulationEnabled", r#"{"enabled":true}"#),
            (
                "Emulation.setEmulatedMedia",
                r#"{"media":"","features":[]}"#,
            ),
            ("Page.createIsolatedWorld", isolated.as_str()),
            ("Runtime.runIfWaitingForDebugger", "{}"),
        ];
        let tail = format!(r#","sessionId":"{session}"}}"#);
        let mut last = 0;
        for (method, params) in commands {
            last = self.send(method, params, &tail).await?;
        }
        loop {
            let frame = self.receive().await?;
            let seen: Seen<'_> = serde_json::from_str(&frame)?;
            if let (Some("Runtime.executionContextCreated"), Some(params), 0) =
                (seen.method.as_deref(), seen.params, self.context)
            {
                self.context = serde_json::from_str::<Created>(params.get())?.context.id;
            }
            if seen.id == Some(last) {
                return Ok(());
            }
        }
    }

    /// One evaluation, from sending it to its answer.
    pub async fn round_trip(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let params = format!(
            r#"{{"expression":"document.querySelectorAll('a').length * 6","contextId":{},"returnByValue":true}}"#,
            self.context
        );
        self.call("Runtime.evaluate", &params).await?;
        Ok(started.elapsed())
    }

    /// One screenshot; tells its size in bytes.
    pub async fn screenshot(&mut self) -> anyhow::Result<usize> {
        self.call("Page.captureScreenshot", r#"{"format":"png"}"#)
            .await
    }

    async fn call(&mut self, method: &str, params: &str) -> anyhow::Result<usize> {
        let tail = std::mem::take(&mut self.tail);
        let id = self.send(method, params, &tail).await?;
        self.tail = tail;
        let start = format!(r#"{{"id":{id},"#);
        loop {
            let frame = self.receive().await?;
            if frame.starts_with(&start) {
                if frame
                    .get(start.len()..)
                    .is_some_and(|rest| rest.starts_with(r#""error""#))
                {
                    bail!("{method}: {frame}");
                }
                return Ok(frame.len());
            }
        }
    }

    /// Waits for this many frames.
    pub async fn receive_events(&mut self, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            self.receive().await?;
        }
        Ok(())
    }

    async fn send(&mut self, method: &str, params: &str, tail: &str) -> anyhow::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.socket
            .send(text(format!(
                r#"{{"id":{id},"method":"{method}","params":{params}{tail}"#
            )))
            .await?;
        Ok(id)
    }

    async fn receive(&mut self) -> anyhow::Result<Utf8Bytes> {
        loop {
            match self
                .socket
                .next()
                .await
                .context("the connection was closed")??
            {
                Message::Text(text) => return Ok(text),
                Message::Close(frame) => bail!("the connection was closed: {frame:?}"),
                _ => {}
            }
        }
    }
}
