//! Passes messages between a client's pipe and a browser's WebSocket, until one of them leaves. Each
//! direction waits for its receiver, so nothing piles up here.
//!
//! Only `Browser.close` is not passed on: the client would close a browser that it did not launch.

use std::io;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tabwire_core::cdp::{self, Request};
use tokio_tungstenite::tungstenite::Message;

use super::client_pipe::{ClientPipe, MessageReader, MessageWriter};
use super::join::{MAX_MESSAGE, Socket};
use crate::error::Error;

/// Returns when the client has left, or has asked the browser to close. A browser that leaves is an
/// error.
pub async fn bridge(client: ClientPipe, socket: Socket) -> Result<(), Error> {
    let (from_client, mut to_client) = client.open(MAX_MESSAGE)?;
    let (to_browser, from_browser) = socket.split();
    let last_reply = tokio::select! {
        left = pass_requests(from_client, to_browser) => left?,
        ended = pass_messages(from_browser, &mut to_client) => return ended,
    };
    if let Some(reply) = last_reply {
        to_client.send(&reply).await?;
    }
    Ok(())
}

/// Returns when the client has left, with the reply if it asked the browser to close.
async fn pass_requests(
    mut from: MessageReader,
    mut to: SplitSink<Socket, Message>,
) -> Result<Option<String>, Error> {
    while let Some(text) = from.next().await? {
        if let Some(reply) = reply_to_close(&text) {
            return Ok(Some(reply));
        }
        if to.send(Message::text(text)).await.is_err() {
            // The other direction knows why the browser left.
            return std::future::pending().await;
        }
    }
    let _ = to.close().await;
    Ok(None)
}

/// The reply to `Browser.close`. `None` for everything else.
fn reply_to_close(text: &str) -> Option<String> {
    let request = Request::parse(text).ok()?;
    (request.method == "Browser.close").then(|| cdp::reply(request.id, None, "{}"))
}

/// Returns when the client has left. Fails when the browser has, with the reason.
async fn pass_messages(mut from: SplitStream<Socket>, to: &mut MessageWriter) -> Result<(), Error> {
    let gone = |reason: &str| {
        Err(Error::PipeBrowserGone {
            reason: reason.to_owned(),
        })
    };
    loop {
        match from.next().await {
            Some(Ok(Message::Text(text))) => match to.send(&text).await {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                sent => sent?,
            },
            Some(Ok(Message::Close(Some(frame)))) if !frame.reason.is_empty() => {
                return gone(&frame.reason);
            }
            Some(Ok(Message::Close(_))) | None => return gone("It closed the connection."),
            // Pings are answered by the library.
            Some(Ok(_)) => {}
            Some(Err(error)) => return gone(&format!("{error}.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_only_requests_to_close() {
        let close = r#"{"id":7,"method":"Browser.close"}"#;
        assert_eq!(
            reply_to_close(close).as_deref(),
            Some(r#"{"id":7,"result":{}}"#)
        );
        for other in [
            r#"{"id":7,"method":"Browser.closeTarget"}"#,
            r#"{"id":7,"method":"Runtime.evaluate","params":{"expression":"Browser.close"}}"#,
            "Browser.close",
        ] {
            assert_eq!(reply_to_close(other), None, "{other}");
        }
    }
}
