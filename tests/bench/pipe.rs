//! What the relay is compared with: a server that forwards frames between two WebSockets without
//! reading them. It has one thread, and is written with axum and tokio-tungstenite as their
//! documentation suggests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const MAX_MESSAGE: usize = 256 << 20;

/// Where the first socket of a pair waits for the second.
type Waiting = Arc<Mutex<Option<oneshot::Sender<WebSocket>>>>;

/// Serves `/` and connects sockets in pairs. Writes its port to the file `port` in its home.
pub async fn run() -> anyhow::Result<()> {
    let home = PathBuf::from(std::env::var_os("TABWIRE_HOME").context("no home")?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let waiting = Waiting::default();
    let upgrade = move |upgrade: WebSocketUpgrade| {
        let waiting = waiting.clone();
        async move {
            upgrade
                .max_message_size(MAX_MESSAGE)
                .max_frame_size(MAX_MESSAGE)
                .on_upgrade(|socket| pair(socket, waiting))
        }
    };
    let routes = Router::new().route("/", get(upgrade));
    std::fs::write(home.join("port.new"), port.to_string())?;
    std::fs::rename(home.join("port.new"), home.join("port"))?;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, routes).await?)
}

async fn pair(socket: WebSocket, waiting: Waiting) {
    let first = waiting.lock().ok().and_then(|mut waiting| waiting.take());
    if let Some(first) = first {
        let _ = first.send(socket);
        return;
    }
    let (sender, other) = oneshot::channel();
    if let Ok(mut waiting) = waiting.lock() {
        *waiting = Some(sender);
    }
    if let Ok(other) = other.await {
        let ((to_one, from_one), (to_other, from_other)) = (socket.split(), other.split());
        tokio::join!(forward(from_one, to_other), forward(from_other, to_one));
    }
}

async fn forward(mut from: SplitStream<WebSocket>, mut to: SplitSink<WebSocket, Message>) {
    while let Some(Ok(message)) = from.next().await {
        if to.send(message).await.is_err() {
            return;
        }
    }
}
