//! Cases about the size of messages: `--max-message-mib` for clients, 64 KiB for the first message
//! of the extension.

use super::frame::{CONTINUATION, FINAL, Length, TEXT, frame, header, ping, text};
use super::{Case, Closed, Delivered, Outcome, Pong, add};

pub const MAX_MESSAGE_MIB: &str = "1";
const MAX_MESSAGE: usize = 1 << 20;
const MAX_FIRST_MESSAGE: usize = 64 << 10;

const TOO_BIG: Outcome = Closed(1009);

pub fn add_limits(cases: &mut Vec<Case>) {
    for length in [MAX_FIRST_MESSAGE, MAX_FIRST_MESSAGE + 1, MAX_MESSAGE] {
        let bytes = text(vec![b'x'; length]);
        add_sized(cases, format!("text of {length} bytes"), bytes, length);
        let (first, last) = (vec![b'x'; length - 1], b"x");
        let bytes = [frame(TEXT, &first), frame(FINAL | CONTINUATION, last)].concat();
        add_sized(cases, format!("fragments of {length} bytes"), bytes, length);
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

fn add_sized(cases: &mut Vec<Case>, name: String, bytes: Vec<u8>, length: usize) {
    add(cases, name, bytes, &[Delivered]);
    if length > MAX_FIRST_MESSAGE
        && let Some(case) = cases.last_mut()
    {
        case.expected_on_extension = Some(vec![TOO_BIG]);
    }
}
