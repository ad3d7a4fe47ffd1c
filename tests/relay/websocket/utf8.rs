//! Cases about UTF-8 in text messages: whole, split inside characters, and invalid.

use super::frame::{CONTINUATION, FINAL, TEXT, fragments, frame, text, unfinished_frame};
use super::{Case, Closed, Delivered, Outcome, add};

const INVALID_PAYLOAD: Outcome = Closed(1007);

const VALID: [&str; 18] = [
    "κόσμε",
    "Hello-µ@ßöäüàá-UTF-8!!",
    "日本語",
    "🙂👨‍👩‍👧",
    "\u{0}",
    "\u{7F}",
    "\u{80}",
    "\u{7FF}",
    "\u{800}",
    "\u{FFF}",
    "\u{1000}",
    "\u{D7FF}",
    "\u{E000}",
    "\u{FEFF}",
    "\u{FFFD}",
    "\u{FFFF}",
    "\u{10000}",
    "\u{10FFFF}",
];

/// Wrong from the last byte on, whatever follows.
const INVALID: [&[u8]; 31] = [
    b"\x80",
    b"\xBF",
    b"\x80\xBF",
    b"\xC0",
    b"\xC1",
    b"\xC2\x20",
    b"\xC2\xC0",
    b"\xC3\x28",
    b"\xDF\x7F",
    b"\xE0\x80",
    b"\xE0\x9F",
    b"\xE0\xA0\x20",
    b"\xE1\x20",
    b"\xE1\x80\xC0",
    b"\xEC\x41",
    b"\xED\xA0",
    b"\xED\xAF",
    b"\xED\xB0",
    b"\xED\xBF",
    b"\xEF\xBF\x20",
    b"\xF0\x80",
    b"\xF0\x8F",
    b"\xF0\x90\x20",
    b"\xF0\x90\x80\x20",
    b"\xF4\x90",
    b"\xF5",
    b"\xF8\x88\x80\x80\x80",
    b"\xFC\x84\x80\x80\x80\x80",
    b"\xFE",
    b"\xFF",
    b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xED\xA0\x80\x65\x64",
];

/// Valid so far, but the character is not complete.
const INCOMPLETE: [&[u8]; 9] = [
    b"\xC2",
    b"\xDF",
    b"\xE0\xA0",
    b"\xE1",
    b"\xED\x9F",
    b"\xEF\xBF",
    b"\xF0",
    b"\xF0\x90\x80",
    b"\xF4\x8F",
];

fn single_bytes(bytes: &[u8]) -> Vec<u8> {
    fragments(&bytes.chunks(1).collect::<Vec<_>>())
}

pub fn add_valid(cases: &mut Vec<Case>) {
    for valid in VALID {
        let name = valid.escape_unicode();
        add(cases, format!("{name}"), text(valid), &[Delivered]);
        let bytes = single_bytes(valid.as_bytes());
        add(cases, format!("{name} in fragments"), bytes, &[Delivered]);
    }
    let split = "ab日".as_bytes();
    let bytes = fragments(&[&split[..3], b"", b"", &split[3..]]);
    let name = "empty fragments inside a character";
    add(cases, name, bytes, &[Delivered]);
}

pub fn add_invalid(cases: &mut Vec<Case>) {
    for invalid in INVALID {
        let name = format!("{invalid:x?}");
        add(cases, name.clone(), text(invalid), &[INVALID_PAYLOAD]);
        let bytes = text([b"before ", invalid, b" after"].concat());
        add(
            cases,
            format!("{name} in a text"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        // The message is not finished: it is rejected as soon as the bytes arrive.
        let bytes = unfinished_frame(FINAL | TEXT, 10_000, invalid);
        add(
            cases,
            format!("{name} in an unfinished frame"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        let bytes = frame(TEXT, invalid);
        add(
            cases,
            format!("{name} in a first fragment"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        let bytes = [frame(TEXT, b"ok"), frame(CONTINUATION, invalid)].concat();
        add(
            cases,
            format!("{name} in a fragment"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        let bytes = single_bytes(invalid);
        add(
            cases,
            format!("{name} in fragments of a byte"),
            bytes,
            &[INVALID_PAYLOAD],
        );
    }
    for incomplete in INCOMPLETE {
        let name = format!("{incomplete:x?}, incomplete");
        add(cases, name.clone(), text(incomplete), &[INVALID_PAYLOAD]);
        let bytes = single_bytes(incomplete);
        add(
            cases,
            format!("{name}, in fragments"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        let bytes = fragments(&[incomplete, b""]);
        add(
            cases,
            format!("{name}, then an empty last fragment"),
            bytes,
            &[INVALID_PAYLOAD],
        );
        let bytes = [frame(TEXT, incomplete), frame(CONTINUATION, b"x")].concat();
        add(
            cases,
            format!("{name}, then a letter"),
            bytes,
            &[INVALID_PAYLOAD],
        );
    }
}
