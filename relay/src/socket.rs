//! One open WebSocket: what it says goes to the hub, what waits in its outbox goes out, until either end is done.

use tokio::sync::mpsc::error::TrySendError;

use crate::hub::{HubSender, ToHub};
use crate::outbox::{Drain, Outbox};
use crate::websocket::{Fault, Message, Reader, Writer};

const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED_DATA: u16 = 1003;
const INVALID_PAYLOAD: u16 = 1007;
const MESSAGE_TOO_BIG: u16 = 1009;

/// Runs a socket to its end. It is not read while the hub's inbox is full, which is how a flood is slowed down.
pub async fn run(
    socket: (Reader, Writer),
    outbox: &Outbox,
    drain: Drain,
    hub: &HubSender,
    on_text: impl Fn(String) -> ToHub,
) {
    let (mut reader, writer) = socket;
    let read = async {
        let (code, reason) = loop {
            match reader.next().await {
                Ok(Message::Text(text)) => {
                    tracing::trace!(text, "read");
                    // The hub outlives every link; when it does not, the relay is stopping.
                    if let Err(TrySendError::Full(message)) = hub.try_send(on_text(text)) {
                        let _ = hub.send(message).await;
                    }
                }
                Ok(Message::Ping(payload)) => outbox.pong(payload),
                Ok(Message::Pong) => {}
                Ok(Message::Binary) => {
                    break (
                        UNSUPPORTED_DATA,
                        "only text messages are understood here".to_owned(),
                    );
                }
                Ok(Message::Close(code)) => break (code, String::new()),
                Err(Fault::Gone(_)) => return,
                Err(fault @ Fault::Protocol(_)) => break (PROTOCOL_ERROR, fault.to_string()),
                Err(fault @ Fault::NotUtf8) => break (INVALID_PAYLOAD, fault.to_string()),
                Err(fault @ Fault::TooLarge) => break (MESSAGE_TOO_BIG, fault.to_string()),
            }
        };
        // Nothing more is read, though more may be coming; the writer says its last words.
        outbox.abort(code, &reason);
        std::future::pending::<()>().await;
    };
    // The writer's end is the link's end: it has said its last words, or nobody hears them.
    tokio::select! {
        () = read => {}
        () = drain.run(writer) => {}
    }
}
