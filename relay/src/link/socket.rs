//! Runs one open WebSocket: forwards its messages to the hub and writes its outbox, until either
//! end closes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

use super::outbox::{Drain, Outbox};
use super::websocket::{Message, ReadError, Reader, Writer};
use crate::hub::{ToHub, ToInbox};

// WebSocket close codes.
const GOING_AWAY: u16 = 1001;
const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED_DATA: u16 = 1003;
const INVALID_PAYLOAD: u16 = 1007;
const MESSAGE_TOO_BIG: u16 = 1009;

/// How long to wait for a peer to close its end.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(2);

/// How a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The peer closed it in an orderly way.
    ByPeer,
    /// It ended without a close frame, or the peer broke the protocol.
    Failed,
    /// The relay closed it.
    ByRelay,
}

/// Returns when the connection is closed, with the socket if the peer may not know of it yet.
/// `silence`: how long the peer may be silent.
pub async fn run<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    (mut reader, mut writer): (Reader<R>, Writer<W>),
    (outbox, drain): (&Outbox, Drain),
    silence: Option<Duration>,
    hub: &ToInbox,
    to_hub: impl Fn(String) -> ToHub,
) -> (Ended, Option<(Reader<R>, Writer<W>)>) {
    let has_received = reader.has_received();
    let mut ended = Ended::ByRelay;
    let read = async {
        let read = read(&mut reader, &has_received, outbox, hub, to_hub);
        let Some((code, reason)) = read.await else {
            ended = Ended::Failed;
            return;
        };
        ended = if reason.is_empty() {
            Ended::ByPeer
        } else {
            Ended::Failed
        };
        // The writer ends the connection, after the close frame.
        outbox.abort(code, &reason);
        std::future::pending::<()>().await;
    };
    let watch_silence = async {
        match silence {
            Some(silence) => until_silent(&has_received, outbox, silence).await,
            None => std::future::pending().await,
        }
        let seconds = silence.unwrap_or_default().as_secs();
        let reason =
            format!("Nothing was received for {seconds} seconds, not even an answer to a ping.");
        outbox.abort(GOING_AWAY, &reason);
        std::future::pending::<()>().await;
    };
    let is_closing = tokio::select! {
        () = read => false,
        () = watch_silence => false,
        close_written = drain.run(&mut writer) => close_written,
    };
    if ended == Ended::ByRelay && !is_closing && !outbox.is_aborted() {
        ended = Ended::Failed;
    }
    let peer_knows = ended == Ended::ByPeer;
    let closing = (is_closing && !peer_knows).then_some((reader, writer));
    (ended, closing)
}

/// Lets the peer read why its connection was closed. If it is still writing when the socket is
/// closed, the system drops what it has not read yet.
pub async fn finish<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    (mut reader, mut writer): (Reader<R>, Writer<W>),
) {
    let close = async {
        if writer.shutdown().await.is_ok() {
            reader.skip_to_end().await;
        }
    };
    let _ = timeout(CLOSING_TIMEOUT, close).await;
}

/// Pings a silent peer. Returns when it has not answered.
async fn until_silent(has_received: &AtomicBool, outbox: &Outbox, silence: Duration) {
    /// A peer is pinged halfway.
    const CHECKS: u32 = 4;
    let mut silent_checks = 0;
    while silent_checks < CHECKS {
        sleep(silence / CHECKS).await;
        silent_checks += 1;
        if has_received.swap(false, Ordering::Relaxed) | outbox.has_been_read() {
            silent_checks = 0;
        } else if silent_checks == CHECKS / 2 {
            outbox.ping();
        }
    }
}

/// Reads until the connection has to be closed, and returns the code and the reason, which is empty if
/// the peer has closed it. `None`: the connection is lost.
async fn read<R: AsyncRead + Unpin>(
    reader: &mut Reader<R>,
    has_received: &AtomicBool,
    outbox: &Outbox,
    hub: &ToInbox,
    to_hub: impl Fn(String) -> ToHub,
) -> Option<(u16, String)> {
    let error = loop {
        match reader.next().await {
            Ok(Message::Text(text)) => {
                tracing::trace!(text, "message received");
                if outbox.is_aborted() {
                    // A client that was disconnected must not do anything else in the browser.
                    continue;
                }
                // Nothing is read while the link's queue is full. This slows down a peer that floods
                // the relay. The hub ends only with the relay.
                let _ = hub.send(to_hub(text)).await;
                has_received.store(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::inbox;
    use crate::link::outbox::outbox;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
    use tokio::time::Instant;

    const SILENCE: Duration = Duration::from_secs(15);
    const PING: [u8; 2] = [0x89, 0];
    const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

    /// Runs a socket until it is closed, and returns why, and after how long.
    async fn run_beside(peer: impl AsyncFnOnce(DuplexStream)) -> (Option<String>, Duration) {
        let (there, here) = duplex(1 << 16);
        let (read, write) = split(here);
        let socket = (Reader::new(read, &[], 1 << 20), Writer::new(write));
        let (outbox, drain) = outbox(1 << 20);
        let (hub, _inbox) = inbox();
        let link = hub.for_client();
        let started = Instant::now();
        let run = run(socket, (&outbox, drain), Some(SILENCE), &link, |_| {
            ToHub::StatusChanged
        });
        tokio::select! {
            _ = run => {}
            () = peer(there) => {}
        }
        (outbox.abort_reason(), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn silent_peer_is_pinged_and_then_disconnected() {
        let (reason, took) = run_beside(async |mut peer| {
            let mut received = Vec::new();
            let _ = peer.read_to_end(&mut received).await;
            assert!(received.starts_with(&PING));
            std::future::pending::<()>().await;
        })
        .await;
        assert!(reason.unwrap().contains("an answer to a ping"));
        assert!(took <= SILENCE + Duration::from_secs(5), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_answers_pings_stays_connected() {
        let (reason, took) = run_beside(async |mut peer| {
            for _ in 0..100 {
                let mut ping = [0; 2];
                peer.read_exact(&mut ping).await.unwrap();
                assert_eq!(ping, PING);
                peer.write_all(&PONG).await.unwrap();
            }
        })
        .await;
        assert_eq!(reason, None);
        assert!(took > SILENCE * 40, "{took:?}");
    }
}
