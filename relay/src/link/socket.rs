//! Runs one open WebSocket: forwards its messages to the hub and writes its outbox, until either
//! end closes.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::error::TrySendError;

use super::outbox::{Drain, Outbox};
use super::websocket::{Message, ReadError, Reader, Writer};
use crate::hub::{HubSender, ToHub};

// WebSocket close codes.
const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED_DATA: u16 = 1003;
const INVALID_PAYLOAD: u16 = 1007;
const MESSAGE_TOO_BIG: u16 = 1009;

/// Returns when the connection is closed.
pub async fn run<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    (mut reader, writer): (Reader<R>, Writer<W>),
    outbox: &Outbox,
    drain: Drain,
    hub: &HubSender,
    to_hub: impl Fn(String) -> ToHub,
) {
    let read = async {
        let Some((code, reason)) = read(&mut reader, outbox, hub, to_hub).await else {
            return;
        };
        // The writer ends the connection, after the close frame.
        outbox.abort(code, &reason);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = read => {}
        () = drain.run(writer) => {}
    }
}

/// Reads until the connection has to be closed, and returns the code and the reason. `None`: the
/// connection is lost.
async fn read<R: AsyncRead + Unpin>(
    reader: &mut Reader<R>,
    outbox: &Outbox,
    hub: &HubSender,
    to_hub: impl Fn(String) -> ToHub,
) -> Option<(u16, String)> {
    let error = loop {
        match reader.next().await {
            Ok(Message::Text(text)) => {
                tracing::trace!(text, "message received");
                // Nothing is read while the hub's inbox is full. This slows down a peer that floods
                // the relay.
                if let Err(TrySendError::Full(message)) = hub.try_send(to_hub(text)) {
                    // The hub ends only with the relay.
                    let _ = hub.send(message).await;
                }
            }
            Ok(Message::Ping(payload)) => outbox.pong(payload),
            Ok(Message::Pong) => {}
            Ok(Message::Close(code)) => return Some((code, String::new())),
            Err(error) => break error,
        }
    };
    close_after(&error)
}

/// How to close the connection after a message that cannot be read. `None`: the connection is lost.
pub fn close_after(error: &ReadError) -> Option<(u16, String)> {
    let code = match error {
        ReadError::Disconnected(_) => return None,
        ReadError::Protocol(_) => PROTOCOL_ERROR,
        ReadError::Binary => UNSUPPORTED_DATA,
        ReadError::InvalidUtf8 => INVALID_PAYLOAD,
        ReadError::TooLarge | ReadError::OutOfMemory => MESSAGE_TOO_BIG,
    };
    Some((code, error.to_string()))
}
