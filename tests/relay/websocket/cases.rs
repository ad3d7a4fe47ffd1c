//! Cases about the layout of frames, control frames and fragments.

use super::frame::{
    BINARY, CLOSE, CONTINUATION, FINAL, Length, PING, PONG, TEXT, close, fragments, frame,
    frame_with, header, ping, text, unmasked_frame,
};
use super::{Case, Closed, Delivered, Ended, Outcome, Pong, add};

const PROTOCOL_ERROR: Outcome = Closed(1002);
const UNSUPPORTED_DATA: Outcome = Closed(1003);

const OPCODES: [(&str, u8); 6] = [
    ("continuation", CONTINUATION),
    ("text", TEXT),
    ("binary", BINARY),
    ("close", CLOSE),
    ("ping", PING),
    ("pong", PONG),
];

/// RFC 6455, section 5.2: reserved bits, opcodes, masks.
pub fn add_headers(cases: &mut Vec<Case>) {
    for (name, opcode) in OPCODES {
        for bits in 1..8 {
            let bytes = frame(FINAL | (bits << 4) | opcode, b"");
            let name = format!("{name} with reserved bits {bits:03b}");
            add(cases, name, bytes, &[PROTOCOL_ERROR]);
        }
        for payload in ["", "xy"] {
            let bytes = unmasked_frame(FINAL | opcode, payload.as_bytes());
            let name = format!("unmasked {name} of {} bytes", payload.len());
            add(cases, name, bytes, &[PROTOCOL_ERROR]);
        }
    }
    for opcode in (3..8).chain(11..16) {
        for fin in [0, FINAL] {
            let name = format!("opcode {opcode}, first byte {:02x}", fin | opcode);
            add(cases, name, frame(fin | opcode, b""), &[PROTOCOL_ERROR]);
        }
    }
    for payload in ["", "binary"] {
        for fin in [0, FINAL] {
            let name = format!("binary message, first byte {:02x}", fin | BINARY);
            let bytes = frame(fin | BINARY, payload.as_bytes());
            add(cases, name, bytes, &[UNSUPPORTED_DATA]);
        }
    }
    let whole = text("truncated");
    for length in 1..whole.len() {
        let name = format!("connection ends after {length} bytes of a frame");
        add(cases, name, whole[..length].to_vec(), &[Ended]);
    }
}

/// RFC 6455, section 5.2: the length must be encoded in as few bytes as possible.
pub fn add_lengths(cases: &mut Vec<Case>) {
    for length in [
        0, 1, 2, 3, 4, 5, 124, 125, 126, 127, 128, 1_000, 65_534, 65_535,
    ] {
        let name = format!("text of {length} bytes");
        add(cases, name, text(vec![b'x'; length]), &[Delivered]);
    }
    for (encoding, lengths) in [
        (Length::U16, [0, 1, 2, 124, 125].as_slice()),
        (Length::U64, &[0, 1, 125, 126, 127, 65_535]),
    ] {
        for length in lengths {
            for (name, first) in [
                ("text", FINAL | TEXT),
                ("first fragment", TEXT),
                ("ping", FINAL | PING),
                ("pong", FINAL | PONG),
                ("close", FINAL | CLOSE),
            ] {
                let name = format!("{name} of {length} bytes, encoded as {encoding:?}");
                let bytes = frame_with(first, encoding, &vec![b'x'; *length]);
                add(cases, name, bytes, &[PROTOCOL_ERROR]);
            }
        }
    }
    for length in [1 << 63, u64::MAX] {
        let name = format!("length {length:x}");
        let bytes = header(FINAL | TEXT, Length::U64, length);
        add(cases, name, bytes, &[PROTOCOL_ERROR]);
    }
}

/// RFC 6455, section 5.5: pings and pongs.
pub fn add_control_frames(cases: &mut Vec<Case>) {
    for length in [0, 1, 2, 3, 4, 5, 8, 124, 125] {
        let payload: Vec<u8> = (0..length).map(|byte| byte ^ 0xFF).collect();
        let bytes = ping(&payload);
        let name = format!("ping of {length} bytes");
        add(cases, name, bytes.clone(), &[Pong(payload.clone())]);
        let bytes = [frame(FINAL | PONG, &payload), bytes].concat();
        let name = format!("unsolicited pong of {length} bytes, then a ping");
        add(cases, name, bytes, &[Pong(payload)]);
    }
    let frames: Vec<u8> = (0..10).flat_map(|number| ping(&[number])).collect();
    let pongs: Vec<Outcome> = (0..10).map(|number| Pong(vec![number])).collect();
    add(cases, "ten pings", frames, &pongs);
    let bytes = [text("x"), ping(b"1"), text("y"), ping(b"2")].concat();
    let expected = [Delivered, Delivered, Pong(b"1".into()), Pong(b"2".into())];
    add(cases, "pings between messages", bytes, &expected);
    for (name, opcode) in OPCODES.into_iter().filter(|(_, opcode)| *opcode >= CLOSE) {
        for length in [126, 127, 65_535] {
            let bytes = frame(FINAL | opcode, &vec![b'x'; length]);
            let name = format!("{name} of {length} bytes");
            add(cases, name, bytes, &[PROTOCOL_ERROR]);
        }
        for payload in ["", "xy"] {
            let bytes = [frame(opcode, payload.as_bytes()), ping(b"")].concat();
            let name = format!("fragmented {name} of {} bytes", payload.len());
            add(cases, name, bytes, &[PROTOCOL_ERROR]);
        }
    }
}

/// RFC 6455, section 7.4: status codes.
pub fn add_close_frames(cases: &mut Vec<Case>) {
    const VALID: [u16; 17] = [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000,
        4001, 4999,
    ];
    const INVALID: [u16; 16] = [
        0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2999, 5000, 9999, 32_768, 65_535,
    ];
    for code in VALID {
        let name = format!("close with {code}");
        add(cases, name, close(code, b""), &[Closed(code)]);
        let name = format!("close with {code} and a reason");
        add(
            cases,
            name,
            close(code, "Tschüß".as_bytes()),
            &[Closed(code)],
        );
    }
    for code in INVALID {
        let name = format!("close with {code}");
        add(cases, name, close(code, b"x"), &[PROTOCOL_ERROR]);
    }
    let empty = frame(FINAL | CLOSE, b"");
    add(cases, "close without a code", empty, &[Closed(1000)]);
    let half = frame(FINAL | CLOSE, &[3]);
    add(cases, "close with half a code", half, &[PROTOCOL_ERROR]);
    for length in [122, 123] {
        let name = format!("close with a reason of {length} bytes");
        add(
            cases,
            name,
            close(1000, &vec![b'x'; length]),
            &[Closed(1000)],
        );
    }
    for (name, reason) in [("invalid", b"\xFF".as_slice()), ("incomplete", b"x\xC3")] {
        let name = format!("close with a reason that is {name} UTF-8");
        add(cases, name, close(1000, reason), &[Closed(1007)]);
    }
    for (name, after) in [
        ("a message", text("x")),
        ("a ping", ping(b"x")),
        ("another close", close(1001, b"")),
        ("garbage", vec![0xFF; 20]),
    ] {
        let name = format!("{name} after close");
        let bytes = [close(1000, b""), after].concat();
        add(cases, name, bytes, &[Closed(1000)]);
    }
}

/// RFC 6455, section 5.4: fragmentation.
pub fn add_fragments(cases: &mut Vec<Case>) {
    for (name, parts) in [
        ("two fragments", ["fragm", "ented"].as_slice()),
        ("an empty first fragment", &["", "text"]),
        ("an empty last fragment", &["text", ""]),
        ("an empty fragment in the middle", &["te", "", "xt"]),
        ("empty fragments only", &["", "", ""]),
        ("many fragments", &["x"; 200]),
    ] {
        add(cases, name, fragments(parts), &[Delivered]);
    }
    let (start, end) = (frame(TEXT, b"start"), frame(FINAL | CONTINUATION, b"end"));
    let middle = frame(CONTINUATION, b"middle");
    for (name, between) in [
        ("a ping", ping(b"?")),
        ("two pings", [ping(b"?"), ping(b"?")].concat()),
    ] {
        let pongs = vec![Pong(b"?".into()); between.len() / ping(b"?").len()];
        let name = format!("{name} between fragments");
        let bytes = [start.clone(), between, middle.clone(), end.clone()].concat();
        add(cases, name, bytes, &[vec![Delivered], pongs].concat());
    }
    let pong = frame(FINAL | PONG, b"");
    let bytes = [start.clone(), pong, end.clone()].concat();
    add(cases, "a pong between fragments", bytes, &[Delivered]);
    let bytes = [start.clone(), close(1001, b"")].concat();
    add(cases, "close between fragments", bytes, &[Closed(1001)]);
    let invalid = [
        ("a last fragment without a first", end.clone()),
        ("a fragment without a first", middle.clone()),
        (
            "a text inside a message",
            [start.clone(), text("x")].concat(),
        ),
        (
            "a first fragment inside a message",
            [start.clone(), start.clone()].concat(),
        ),
        (
            "a binary inside a message",
            [start.clone(), frame(FINAL | BINARY, b"x")].concat(),
        ),
        (
            "an unmasked fragment",
            [start.clone(), unmasked_frame(FINAL, b"x")].concat(),
        ),
        (
            "a reserved bit in a fragment",
            [start.clone(), frame(0xC0, b"x")].concat(),
        ),
    ];
    for (name, bytes) in invalid {
        add(cases, name, bytes, &[PROTOCOL_ERROR]);
    }
    add(cases, "connection ends between fragments", start, &[Ended]);
}
