//! The debugging port of a browser, as far as the relay needs it to open a WebSocket.

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_async;

use crate::ends::Socket;

const MAX_HEAD: usize = 4 << 10;

pub struct DebuggingPort {
    port: u16,
    sockets: mpsc::UnboundedReceiver<Socket>,
}

impl DebuggingPort {
    pub async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (sender, sockets) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, sender.clone()));
            }
        });
        Ok(Self { port, sockets })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The first WebSocket that the relay opens.
    pub async fn socket(mut self) -> anyhow::Result<Socket> {
        self.sockets.recv().await.context("no WebSocket")
    }
}

async fn serve(
    mut stream: TcpStream,
    port: u16,
    sockets: mpsc::UnboundedSender<Socket>,
) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = [0; MAX_HEAD];
    let length = stream.peek(&mut head).await?;
    if head.starts_with(b"GET /devtools/") {
        let _ = sockets.send(accept_async(stream).await?);
        return Ok(());
    }
    if !head.starts_with(b"GET /json/") {
        bail!("unexpected request");
    }
    stream
        .read_exact(head.get_mut(..length).unwrap_or_default())
        .await?;
    let url = format!("ws://127.0.0.1:{port}/devtools/browser/1");
    let body =
        serde_json::json!({ "Browser": "Chrome/1", "webSocketDebuggerUrl": url }).to_string();
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    Ok(stream.write_all(response.as_bytes()).await?)
}
