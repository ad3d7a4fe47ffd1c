//! Writes arbitrary messages, in arbitrary steps, and reads them back.
#[allow(dead_code, unused_imports)]
#[path = "../../relay/src/link/websocket/mod.rs"]
mod websocket;

use arbitrary::{Arbitrary, Unstructured};
use tokio::io::{AsyncReadExt as _, duplex};
use websocket::{Close, Outgoing, Writer};

#[derive(Arbitrary, Debug)]
enum Step {
    Text(String),
    /// This many kilobytes.
    LargeText(u8),
    Pong(Vec<u8>),
    Close(u16, String),
    /// A flush that is dropped as soon as it has to wait.
    DroppedFlush,
}

/// The opcode and the payload.
type Frame = (u8, Vec<u8>);

/// What the step writes, and what must arrive.
fn message(step: &Step) -> Option<(Outgoing, Frame)> {
    Some(match step {
        Step::Text(text) => (Outgoing::Text(text.clone()), (1, text.clone().into_bytes())),
        Step::LargeText(size) => {
            let text = "x".repeat(usize::from(*size) << 10);
            (Outgoing::Text(text.clone()), (1, text.into_bytes()))
        }
        Step::Pong(payload) => {
            let payload: Vec<u8> = payload.iter().copied().take(125).collect();
            (Outgoing::Pong(payload.clone()), (10, payload))
        }
        Step::Close(code, reason) => {
            let mut end = reason.len().min(123);
            while !reason.is_char_boundary(end) {
                end -= 1;
            }
            let payload = [&code.to_be_bytes(), &reason.as_bytes()[..end]].concat();
            (Outgoing::Close(Close::new(*code, reason)), (8, payload))
        }
        Step::DroppedFlush => return None,
    })
}

fn parse(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let [first, length, rest @ ..] = bytes {
        assert_eq!(first & 0xF0, 0x80, "final, without reserved bits");
        let (length, rest) = match length {
            126 => {
                let (length, rest) = rest.split_first_chunk().unwrap();
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            127 => {
                let (length, rest) = rest.split_first_chunk().unwrap();
                (usize::try_from(u64::from_be_bytes(*length)).unwrap(), rest)
            }
            length => (usize::from(*length), rest),
        };
        let (payload, rest) = rest.split_at(length);
        frames.push((first & 0x0F, payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty());
    frames
}

pub fn run(data: &[u8]) {
    let Ok(steps) = Vec::<Step>::arbitrary_take_rest(Unstructured::new(data)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (mut client, server) = duplex(777);
    let mut expected = Vec::new();
    let write = async {
        let mut writer = Writer::new(server);
        for step in &steps {
            let Some((outgoing, frame)) = message(step) else {
                tokio::select! {
                    biased;
                    flushed = writer.flush() => flushed.unwrap(),
                    () = std::future::ready(()) => {}
                }
                continue;
            };
            if writer.is_full() {
                writer.flush().await.unwrap();
            }
            writer.put(outgoing);
            expected.push(frame);
        }
        writer.flush().await.unwrap();
    };
    let mut received = Vec::new();
    runtime.block_on(async {
        let ((), read) = tokio::join!(write, client.read_to_end(&mut received));
        read.unwrap();
    });
    assert!(parse(&received) == expected);
}
