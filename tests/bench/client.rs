//! A bare CDP client, which prepares every tab as Playwright does.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::ends::{Socket, open, text};

const WORLD: &str = "__playwright_utility_world_page@0123456789abcdef";
const AUTO_ATTACH: &str = r#"{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}"#;

pub struct Client {
    socket: Socket,
    last_id: u64,
    /// The end of every command to the tab: its session. Through the pipe, as many bytes without a
    /// meaning.
    tail: String,
    /// The context that evaluations name.
    context: i64,
}

/// A message to the client.
#[derive(Deserialize)]
struct Received<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: String,
    target_info: TargetInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetInfo {
    target_id: String,
}

#[derive(Deserialize)]
struct ContextCreated {
    context: ExecutionContext,
}

#[derive(Deserialize)]
struct ExecutionContext {
    id: i64,
}

impl Client {
    /// Connects, prepares every tab as Playwright does, and wakes the first one.
    pub async fn connect_to_relay(cdp_url: &str) -> anyhow::Result<Self> {
        let (port, path) = split_url(cdp_url)?;
        let mut client = Self {
            socket: open(port, &path, None).await?,
            last_id: 0,
            tail: String::new(),
            context: 0,
        };
        let attached = client.attach_to_all().await?;
        for tab in &attached {
            client.prepare(tab).await?;
        }
        let first = attached.first().context("no tab")?;
        client.tail = tail(&first.session_id);
        client.round_trip().await?;
        Ok(client)
    }

    pub async fn connect_to_pipe(port: u16) -> anyhow::Result<Self> {
        Self::connect_without_tabs(port, "/").await
    }

    /// Connects to a relay that passes messages as they are.
    pub async fn connect_to_direct(cdp_url: &str) -> anyhow::Result<Self> {
        let (port, path) = split_url(cdp_url)?;
        Self::connect_without_tabs(port, &path).await
    }

    async fn connect_without_tabs(port: u16, path: &str) -> anyhow::Result<Self> {
        let mut client = Self {
            socket: open(port, path, None).await?,
            last_id: 0,
            tail: tail(&"0".repeat(32)),
            context: 1 << 30,
        };
        client.round_trip().await?;
        Ok(client)
    }

    async fn attach_to_all(&mut self) -> anyhow::Result<Vec<Attached>> {
        // If the extension has not listed its tabs yet, the relay waits for the list before it
        // replies.
        let id = self.send("Target.setAutoAttach", AUTO_ATTACH, "}").await?;
        let mut attached = Vec::new();
        loop {
            let frame = self.receive().await?;
            let received: Received<'_> = serde_json::from_str(&frame)?;
            match (received.method.as_deref(), received.params) {
                (Some("Target.attachedToTarget"), Some(params)) => {
                    attached.push(serde_json::from_str(params.get())?);
                }
                _ if received.id == Some(id) => return Ok(attached),
                _ => {}
            }
        }
    }

    /// Sends the init commands, and waits for the last reply.
    async fn prepare(&mut self, tab: &Attached) -> anyhow::Result<()> {
        let tail = tail(&tab.session_id);
        let mut last = 0;
        for (method, params) in init_commands(&tab.target_info.target_id) {
            last = self.send(method, &params, &tail).await?;
        }
        loop {
            let frame = self.receive().await?;
            let received: Received<'_> = serde_json::from_str(&frame)?;
            if let (Some("Runtime.executionContextCreated"), Some(params), 0) =
                (received.method.as_deref(), received.params, self.context)
            {
                let created: ContextCreated = serde_json::from_str(params.get())?;
                self.context = created.context.id;
            }
            if received.id == Some(last) {
                return Ok(());
            }
        }
    }

    /// Returns how long one evaluation takes.
    pub async fn round_trip(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let params = format!(
            r#"{{"expression":"document.querySelectorAll('a').length * 6","contextId":{},"returnByValue":true}}"#,
            self.context
        );
        self.call("Runtime.evaluate", &params).await?;
        Ok(started.elapsed())
    }

    /// Takes a screenshot and returns its size in bytes.
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
            match frame.strip_prefix(&start) {
                Some(rest) if rest.starts_with(r#""error""#) => bail!("{method}: {frame}"),
                Some(_) => return Ok(frame.len()),
                None => {}
            }
        }
    }

    pub async fn receive_events(&mut self, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            self.receive().await?;
        }
        Ok(())
    }

    async fn send(&mut self, method: &str, params: &str, tail: &str) -> anyhow::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        let command = format!(r#"{{"id":{id},"method":"{method}","params":{params}{tail}"#);
        self.socket.send(text(command)).await?;
        Ok(id)
    }

    async fn receive(&mut self) -> anyhow::Result<Utf8Bytes> {
        loop {
            match self.socket.next().await.context("disconnected")?? {
                Message::Text(text) => return Ok(text),
                Message::Close(frame) => bail!("closed: {frame:?}"),
                _ => {}
            }
        }
    }
}

/// The port and the path.
fn split_url(cdp_url: &str) -> anyhow::Result<(u16, String)> {
    let (port, path) = cdp_url
        .strip_prefix("ws://127.0.0.1:")
        .and_then(|rest| rest.split_once('/'))
        .context("not a CDP URL")?;
    Ok((port.parse()?, format!("/{path}")))
}

fn tail(session: &str) -> String {
    format!(r#","sessionId":"{session}"}}"#)
}

/// The init commands of Playwright 1.65.
fn init_commands(target: &str) -> [(&'static str, Cow<'static, str>); 12] {
    let script = json!({ "source": "", "worldName": WORLD }).to_string();
    let world = json!({ "frameId": target, "grantUniveralAccess": true, "worldName": WORLD });
    [
        ("Page.enable", "{}".into()),
        ("Page.getFrameTree", "{}".into()),
        ("Log.enable", "{}".into()),
        (
            "Page.setLifecycleEventsEnabled",
            r#"{"enabled":true}"#.into(),
        ),
        ("Runtime.enable", "{}".into()),
        ("Page.addScriptToEvaluateOnNewDocument", script.into()),
        ("Network.enable", "{}".into()),
        ("Target.setAutoAttach", AUTO_ATTACH.into()),
        (
            "Emulation.setFocusEmulationEnabled",
            r#"{"enabled":true}"#.into(),
        ),
        (
            "Emulation.setEmulatedMedia",
            r#"{"media":"","features":[]}"#.into(),
        ),
        ("Page.createIsolatedWorld", world.to_string().into()),
        ("Runtime.runIfWaitingForDebugger", "{}".into()),
    ]
}
