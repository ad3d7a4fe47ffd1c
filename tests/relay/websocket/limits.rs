//! Cases about the size of messages. `--max-message-mib` is the limit for clients, and for
//! extensions that have proven who they are.

use super::frame::{CONTINUATION, FINAL, Length, TEXT, frame, header, ping, text};
use super::{Case, Closed, Delivered, Outcome, Pong, add};

pub const MAX_MESSAGE_MIB: &str = "1";
const MAX_MESSAGE: usize = 1 << 20;

const TOO_BIG: Outcome = Closed(1009);

pub fn add_limits(cases: &mut Vec<Case>) {
    for length in [64 << 10, (64 << 10) + 1, MAX_MESSAGE] {
        let bytes = text(vec![b'x'; length]);
        let delivered = &[Delivered];
        add(cases, format!("text of {length} bytes"), bytes, delivered);
        let (first, last) = (vec![b'x'; length - 1], b"x");
        let bytes = [frame(TEXT, &first), frame(FINAL | CONTINUATION, last)].concat();
        let name = format!("fragments of {length} bytes");
        add(cases, name, bytes, delivered);
    }
    // Only the header is sent: too much is rejected before it arrives.
    for length in [MAX_MESSAGE + 1, 256 << 20, 1 << 32, (1 << 63) - 1] {
        let bytes = header(FINAL | TEXT, Length::U64, length as u64);
        add(cases, format!("text of {length} bytes"), bytes, &[TOO_BIG]);
    }
    for length in [1, 100, MAX_MESSAGE] {
        let next = header(CONTINUATION, Length::shortest(length), length as u64);
        let bytes = [frame(TEXT, &vec![b'x'; MAX_MESSAGE]), next].concat();
        let name = format!("{length} bytes more than the limit in a fragment");
        add(cases, name, bytes, &[TOO_BIG]);
    }
    let bytes = [
        frame(TEXT, b""),
        frame(CONTINUATION, b"").repeat(5_000),
        ping(b""),
    ]
    .concat();
    add(cases, "5,000 empty fragments", bytes, &[Pong(Vec::new())]);
}
