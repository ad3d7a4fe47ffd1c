//! A reply that consists mostly of one long string, such as a screenshot.
//!
//! Checking that a text is JSON costs more than everything else that the relay does with it. A
//! string without escapes is checked here, many bytes at a time, and the general parser checks the
//! text without the string's contents. The text is valid if, and only if, both are.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Shorter replies are not worth it.
const MIN_LENGTH: usize = 64 << 10;
/// How many strings before the long one are looked at.
const MAX_STRINGS: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub struct LongReply<'a> {
    pub id: u64,
    pub result: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skeleton<'a> {
    id: u64,
    #[serde(borrow)]
    result: &'a RawValue,
}

impl<'a> LongReply<'a> {
    /// `None` for any other frame, which then takes the general path.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() < MIN_LENGTH || !text.starts_with(r#"{"id":"#) {
            return None;
        }
        let long = find_long_string(text)?;
        let skeleton = [text.get(..long.start)?, text.get(long.end..)?].concat();
        let Skeleton { id, result } = serde_json::from_str(&skeleton).ok()?;
        // `result` is a slice of `skeleton`, so the distance between the two pointers is its offset.
        let start = result.get().as_ptr() as usize - skeleton.as_ptr() as usize;
        let end = start + result.get().len();
        if !(start..end).contains(&long.start) {
            return None;
        }
        let result = text.get(start..end + long.len())?;
        Some(Self { id, result })
    }
}

/// The contents of a string that is at least half of the text and has no escapes. Outside of a
/// string, JSON has no quotes, so they can be found without parsing the rest.
fn find_long_string(text: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for _ in 0..MAX_STRINGS {
        let start = at + text.get(at..)?.find('"')? + 1;
        let end = start + plain_length(text.as_bytes().get(start..)?);
        if text.as_bytes().get(end) != Some(&b'"') {
            return None;
        }
        if end - start >= text.len() / 2 {
            return Some(start..end);
        }
        at = end + 1;
    }
    None
}

/// How many bytes there are before a quote, a backslash or a control character, which must not
/// occur in a string.
fn plain_length(bytes: &[u8]) -> usize {
    let special =
        |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    // Without branches inside a chunk, this becomes vector instructions.
    let is_plain = |chunk: &[u8; 64]| {
        let found = chunk.iter().map(|byte| special(*byte));
        found.fold(0, |any, found| any | found) == 0
    };
    let (chunks, _) = bytes.as_chunks();
    let length = chunks.iter().take_while(|chunk| is_plain(chunk)).count() * 64;
    let rest = bytes.get(length..).unwrap_or_default();
    length + rest.iter().take_while(|byte| special(**byte) == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> String {
        "QmFzZTY0IHRleHQ+".repeat(MIN_LENGTH / 8)
    }

    #[test]
    fn result_is_kept_byte_for_byte() {
        let long = long();
        for result in [
            format!(r#"{{"data":"{long}"}}"#),
            format!(r#"{{"result":{{"type":"string", "value" : "ä{long}€"}},"x":[1,"\n"]}}"#),
            format!(r#""{long}""#),
        ] {
            let text = format!(r#"{{"id":17,"result":{result}}}"#);
            let result = result.as_str();
            assert_eq!(
                LongReply::parse(&text),
                Some(LongReply { id: 17, result }),
                "{}",
                result.get(..40).unwrap_or_default()
            );
        }
    }

    #[test]
    fn everything_else_takes_the_general_path() {
        let long = long();
        for text in [
            r#"{"id":1,"result":{"data":"short"}}"#.to_owned(),
            // Invalid JSON, within the long string and around it.
            format!(r#"{{"id":1,"result":{{"data":"{long}"}}"#),
            format!(r#"{{"id":1,"result":{{"data":"{long}}}}}"#),
            format!(r#"{{"id":1,"result":{{"data":"{long}",}}}}"#),
            format!("{{\"id\":1,\"result\":{{\"data\":\"{long}\n{long}{long}\"}}}}"),
            format!("{{\"id\":1,\"result\":{{\"data\":\"{long}\0\"}}}}"),
            format!(r#"{{"id":1,"result":{{"data":"{long}\x"}}}}"#),
            format!(r#"{{"id":1,"result":{{"data""{long}"}}}}"#),
            format!(r#"{{"id":1,"result":{{"data":nul"{long}"}}}}"#),
            format!(r#"{{"id":1,"result":1,"result":"{long}"}}"#),
            format!(r#"{{"id":1,"result":1}}"{long}""#),
            // Other messages.
            format!(r#"{{"id":1,"error":"{long}"}}"#),
            format!(r#"{{"id":"1","result":"{long}"}}"#),
            format!(r#"{{"id":1,"result":{{}},"{long}":1}}"#),
            format!(r#"[{{"id":1,"result":"{long}"}}]"#),
            // Escapes.
            format!(r#"{{"id":1,"result":{{"data":"{long}\n"}}}}"#),
        ] {
            assert_eq!(LongReply::parse(&text), None);
        }
    }

    #[test]
    fn plain_length_ends_at_every_special_byte_and_at_no_other() {
        for position in [0, 1, 63, 64, 100, 127, 128, 200] {
            for byte in 0..=u8::MAX {
                let mut bytes = [b'x'; 201];
                bytes[position] = byte;
                let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                let length = if is_special { position } else { 201 };
                assert_eq!(plain_length(&bytes), length, "{byte} at {position}");
            }
        }
    }
}
