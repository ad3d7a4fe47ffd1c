//! Reads arbitrary bytes as WebSocket frames. The result must not depend on how the bytes are
//! split, and must agree with tokio-websockets.
#[allow(dead_code, unused_imports)]
#[path = "../../relay/src/link/websocket/mod.rs"]
mod websocket;

use arbitrary::{Arbitrary, Unstructured};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_websockets::{CloseCode, Limits, ServerBuilder};
use websocket::{Message, ReadError, Reader};

const MAX_MESSAGE: usize = 1_000;

#[derive(Arbitrary, Debug)]
struct Input {
    frames: Vec<Frame>,
    /// How many bytes each read returns.
    pieces: Vec<u8>,
}

/// A frame that is valid more often than random bytes are.
#[derive(Arbitrary, Debug)]
enum Frame {
    Masked {
        first: u8,
        mask: [u8; 4],
        payload: Vec<u8>,
    },
    Text {
        is_first: bool,
        is_final: bool,
        payload: String,
    },
    Raw(Vec<u8>),
}

impl Frame {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Masked {
                first,
                mask,
                payload,
            } => write_masked(out, *first, *mask, payload),
            Self::Text {
                is_first,
                is_final,
                payload,
            } => {
                let first = u8::from(*is_final) << 7 | u8::from(*is_first);
                write_masked(out, first, [0; 4], payload.as_bytes());
            }
            Self::Raw(bytes) => out.extend(bytes),
        }
    }
}

fn write_masked(out: &mut Vec<u8>, first: u8, mask: [u8; 4], payload: &[u8]) {
    out.push(first);
    match u8::try_from(payload.len()) {
        Ok(length @ 0..126) => out.push(0x80 | length),
        _ => {
            out.push(0xFE);
            out.extend((payload.len() as u16).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b));
}

/// Returns the bytes in pieces.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = usize::from(*self.sizes.next().unwrap_or(&255)).max(1);
        let size = size.min(self.bytes.len()).min(out.remaining());
        let (piece, rest) = self.bytes.split_at(size);
        out.put_slice(piece);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}

/// What the other library writes is not looked at.
impl AsyncWrite for Pieces<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Debug, PartialEq)]
enum End {
    Closed(u16),
    Protocol,
    InvalidUtf8,
    TooLarge,
    Disconnected,
    Binary,
}

#[derive(Debug, PartialEq)]
enum Event {
    Text(String),
    Ping(Vec<u8>),
    Pong,
}

async fn read_ours(bytes: &[u8], sizes: &[u8]) -> (Vec<Event>, End) {
    let stream = Pieces {
        bytes,
        sizes: sizes.iter().cycle(),
    };
    let mut reader = Reader::new(stream, &[], MAX_MESSAGE);
    let mut events = Vec::new();
    loop {
        events.push(match reader.next().await {
            Ok(Message::Text(text)) => {
                assert!(text.len() <= MAX_MESSAGE);
                Event::Text(text)
            }
            Ok(Message::Ping(payload)) => {
                assert!(payload.len() <= 125);
                Event::Ping(payload)
            }
            Ok(Message::Pong) => Event::Pong,
            Ok(Message::Close(code)) => return (events, End::Closed(code)),
            Err(error) => return (events, end(&error)),
        });
    }
}

fn end(error: &ReadError) -> End {
    match error {
        ReadError::Disconnected(_) => End::Disconnected,
        ReadError::Protocol(_) => End::Protocol,
        ReadError::InvalidUtf8 => End::InvalidUtf8,
        ReadError::Binary => End::Binary,
        ReadError::TooLarge => End::TooLarge,
        ReadError::OutOfMemory => panic!("{error}"),
    }
}

async fn read_theirs(bytes: &[u8]) -> (Vec<Event>, End) {
    let stream = Pieces {
        bytes,
        sizes: [].iter().cycle(),
    };
    let limits = Limits::default().max_payload_len(Some(MAX_MESSAGE));
    let mut socket = ServerBuilder::new().limits(limits).serve(stream);
    let mut events = Vec::new();
    loop {
        events.push(match socket.next().await {
            Some(Ok(message)) if message.is_binary() => return (events, End::Binary),
            Some(Ok(message)) if message.is_ping() => Event::Ping(message.into_payload().to_vec()),
            Some(Ok(message)) if message.is_pong() => Event::Pong,
            Some(Ok(message)) if message.is_text() => {
                // Not `as_text`: version 0.13.3 accepts an incomplete character before an empty last
                // fragment.
                match String::from_utf8(message.into_payload().to_vec()) {
                    Ok(text) => Event::Text(text),
                    Err(_) => return (events, End::InvalidUtf8),
                }
            }
            Some(Ok(message)) => match message.as_close() {
                Some((CloseCode::NO_STATUS_RECEIVED, _)) => return (events, End::Closed(1000)),
                Some((code, _)) => return (events, End::Closed(code.into())),
                None => unreachable!("every other opcode was handled"),
            },
            Some(Err(error)) => return (events, their_end(&error)),
            None => return (events, End::Disconnected),
        });
    }
}

fn their_end(error: &tokio_websockets::Error) -> End {
    use tokio_websockets::Error;
    use tokio_websockets::proto::ProtocolError;
    match error {
        Error::Protocol(ProtocolError::InvalidUtf8) => End::InvalidUtf8,
        Error::Protocol(_) => End::Protocol,
        Error::PayloadTooLong { .. } => End::TooLarge,
        _ => End::Disconnected,
    }
}

/// Where the two libraries may differ, and both are right.
fn agree(ours: &(Vec<Event>, End), theirs: &(Vec<Event>, End)) -> bool {
    if ours.1 == End::Binary {
        // We stop at the header of a binary message, they at its end.
        return theirs.0.starts_with(&ours.0);
    }
    if let End::Closed(1016..=2999 | 1004..=1006 | 1015) = theirs.1 {
        // They accept codes that are not assigned yet.
        return ours.0 == theirs.0 && ours.1 == End::Protocol;
    }
    let both_failed = |a: &End| matches!(a, End::Protocol | End::InvalidUtf8 | End::TooLarge);
    // Of several errors in one frame, either may be found first.
    ours.0 == theirs.0 && (ours.1 == theirs.1 || both_failed(&ours.1) && both_failed(&theirs.1))
}

pub fn run(data: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(data)) else {
        return;
    };
    let mut bytes = Vec::new();
    for frame in &input.frames {
        frame.write(&mut bytes);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let whole = read_ours(&bytes, &[]).await;
        let split = read_ours(&bytes, &input.pieces).await;
        assert_eq!(whole, split, "{bytes:x?}");
        // Completes a header at the end: they reject some before they are complete.
        bytes.extend([0; 14]);
        let (ours, theirs) = (read_ours(&bytes, &[]).await, read_theirs(&bytes).await);
        assert!(agree(&ours, &theirs), "{bytes:x?}: {ours:?}, {theirs:?}");
    });
}
