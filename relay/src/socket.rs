//! One open WebSocket: what it says goes to the hub, what waits in its outbox goes out, until either end is done.

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use futures_util::StreamExt as _;

use crate::hub::{HubSender, ToHub};
use crate::outbox::{Drain, LAST_WORDS, Outbox};

/// Runs a socket to its end. It is not read while the hub's inbox is full, which is how a flood is slowed down.
pub async fn run(socket: WebSocket, outbox: &Outbox, drain: Drain, hub: &HubSender, on_text: impl Fn(Utf8Bytes) -> ToHub) {
    const UNSUPPORTED_DATA: u16 = 1003;
    const MESSAGE_TOO_BIG: u16 = 1009;
    let (sink, mut stream) = socket.split();
    let read = async {
        while let Some(message) = stream.next().await {
            match message {
                Ok(Message::Text(text)) => {
                    // The hub outlives every link; when it does not, the relay is stopping.
                    let _ = hub.send(on_text(text)).await;
                }
                Ok(Message::Binary(_)) => {
                    outbox.abort(UNSUPPORTED_DATA, "only text messages are understood here");
                    return std::future::pending().await;
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_)) => {
                    // Reading on is what sends the answer to a close.
                    let _ = tokio::time::timeout(LAST_WORDS, stream.next()).await;
                    return;
                }
                Err(error) if is_too_big(&error) => {
                    // The rest of the message is still coming; it is not read, and the writer says why.
                    outbox.abort(MESSAGE_TOO_BIG, "the message is larger than this relay takes; see --max-message-mib");
                    return std::future::pending().await;
                }
                Err(_) => return,
            }
        }
    };
    // The writer's end is the link's end: it has said its last words, or nobody hears them.
    tokio::select! {
        () = read => {}
        () = drain.run(sink) => {}
    }
}

fn is_too_big(error: &axum::Error) -> bool {
    use std::error::Error as _;
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    source.contains("too long") || source.contains("too big")
}
