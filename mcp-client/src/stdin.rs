//! What an agent says on stdin, line by line, before the SDK reads it. The SDK drops a line that it cannot read, and the agent
//! would wait for its answer for ever. So half a character, which JavaScript writes as an escape, becomes the sign for one
//! that is lost, and any other such line of a usual length a request that is answered with the reason.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};

/// The method of the request that stands for a line which cannot be read; `reason` is its parameter.
pub const UNREADABLE: &str = "tabwire/unreadable";
/// Longer ones, which no agent says by mistake, are passed on unread: to keep them here too would take too much memory.
const LOOKED_AT: usize = 1 << 20;
/// As long as the SDK takes them.
const LONGEST_LINE: usize = 16 << 20;
/// Larger ones would leave the allocator with memory that it gives back to nobody.
const BUFFER: usize = 8 << 10;
/// How far from the beginning or the end of a message its id is looked for.
const LOOKED_FOR_ID: usize = 200;
/// Some programs begin all that they write with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The same, without what the SDK would drop.
pub fn readable(agent: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin {
    let (mut to_sdk, from_agent) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let mut agent = BufReader::new(agent);
        while let Ok(true) = pass_line(&mut agent, &mut to_sdk).await {}
    });
    from_agent
}

/// Gives whether there may be more.
async fn pass_line(
    agent: &mut (impl AsyncBufRead + Unpin),
    to_sdk: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<bool> {
    let mut line = Vec::new();
    read_up_to(LOOKED_AT, agent, &mut line).await?;
    if line.len() < LOOKED_AT || line.ends_with(b"\n") {
        let is_there = !line.is_empty();
        to_sdk.write_all(&made_readable(line)).await?;
        return Ok(is_there);
    }
    to_sdk.write_all(&line).await?;
    let (mut length, mut end, mut part) = (line.len(), Vec::new(), Vec::new());
    loop {
        part.clear();
        read_up_to(BUFFER, agent, &mut part).await?;
        to_sdk.write_all(&part).await?;
        length += part.len();
        end.extend_from_slice(&part);
        end.drain(..end.len().saturating_sub(LOOKED_FOR_ID));
        if part.is_empty() || part.ends_with(b"\n") {
            break;
        }
    }
    if length > LONGEST_LINE {
        to_sdk
            .write_all(&refusal(
                &[&end, &line],
                &format!("a line may have {} MiB at most", LONGEST_LINE >> 20),
            ))
            .await?;
    }
    Ok(true)
}

/// A line, or what comes of it first.
async fn read_up_to(
    most: usize,
    agent: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<()> {
    agent
        .take(most as u64)
        .read_until(b'\n', line)
        .await
        .map(drop)
}

fn made_readable(line: Vec<u8>) -> Vec<u8> {
    let read = |line: &[u8]| {
        serde_json::from_slice::<Value>(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line))
    };
    let Err(error) = read(&line) else { return line };
    let mended = without_half_characters(&line);
    if read(&mended).is_ok() {
        return mended;
    }
    refusal(&[&line], &error.to_string())
}

/// Nothing, if these parts of the line do not say which answer somebody waits for.
fn refusal(parts: &[&[u8]], reason: &str) -> Vec<u8> {
    let Some(id) = parts.iter().find_map(|part| id_in(part)) else {
        return Vec::new();
    };
    let mut request =
        json!({ "jsonrpc": "2.0", "id": id, "method": UNREADABLE, "params": { "reason": reason } })
            .to_string();
    request.push('\n');
    request.into_bytes()
}

/// Each escape that is one half of a character, without the other beside it, as U+FFFD.
fn without_half_characters(line: &[u8]) -> Vec<u8> {
    let code_at = |rest: &[u8]| {
        let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, ..] = rest {
        let length = match (code_at(rest), rest.get(6..).and_then(code_at)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.extend_from_slice(b"\\ufffd");
                rest = rest.get(6..).unwrap_or_default();
                continue;
            }
            _ if *first == b'\\' => 2,
            _ => 1,
        };
        let (copied, left) = rest.split_at(length.min(rest.len()));
        mended.extend_from_slice(copied);
        rest = left;
    }
    mended
}

/// The `id` of the message, as far as a line that is not JSON lets one see it: where it is at its beginning or at its end, as
/// every client has it. Within a text there are no quotes without a backslash.
fn id_in(line: &[u8]) -> Option<Value> {
    const KEY: &[u8] = b"\"id\":";
    let at = |place: usize| {
        let value = line.get(place + KEY.len()..)?;
        let end = value
            .iter()
            .position(|byte| matches!(byte, b',' | b'}'))
            .unwrap_or(value.len());
        serde_json::from_slice(value.get(..end)?)
            .ok()
            .filter(|id: &Value| id.is_string() || id.is_number())
    };
    let is_key = |place: &usize| line.get(*place..).is_some_and(|rest| rest.starts_with(KEY));
    let (mut first, mut last) = (
        0..line.len().min(LOOKED_FOR_ID),
        line.len().saturating_sub(LOOKED_FOR_ID)..line.len(),
    );
    last.rfind(is_key)
        .and_then(at)
        .or_else(|| first.find(is_key).and_then(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        String::from_utf8(made_readable(line.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn half_a_character_is_mended_and_whole_ones_are_kept() {
        let line = r#"{"id":1,"code":"\ud83d\ude00 \ud83d \\ud83d \\\ude00 \u00e4"}"#;
        assert_eq!(
            read(line),
            r#"{"id":1,"code":"\ud83d\ude00 \ufffd \\ud83d \\\ufffd \u00e4"}"#
        );
        for readable in [r#"{"id":1,"code":"\ud83d\ude00"}"#, "\u{feff}{\"id\":1}"] {
            assert_eq!(read(readable), readable);
        }
    }

    #[test]
    fn whoever_waits_for_an_answer_to_what_cannot_be_read_gets_one() {
        let deep = format!(
            r#"{{"params":{}1{},"id":"seven"}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for (line, id) in [
            (r#"{"id": 7, "params": {"timeout": 1e999}}"#, json!(7)),
            (
                r#"{"method":"x\"id\":3","params":{"a":1e999},"id":5}"#,
                json!(5),
            ),
            (r#"{"id":8,"broken"#, json!(8)),
            (&deep, json!("seven")),
        ] {
            let request: Value = serde_json::from_str(&read(line)).unwrap();
            assert_eq!(
                (&request["id"], request["method"].as_str()),
                (&id, Some(UNREADABLE)),
                "{line}"
            );
        }
        assert_eq!(read("no message at all"), "");
        assert_eq!(read(r#"{"method":"notified","broken"#), "");
    }

    #[tokio::test]
    async fn long_lines_pass_and_one_that_the_sdk_drops_is_refused_after_it() {
        let message = |id: i64, length: usize| {
            format!("{{\"code\":\"{}\",\"id\":{id}}}\n", "x".repeat(length))
        };
        let said = [
            message(1, LOOKED_AT),
            message(2, LONGEST_LINE),
            message(3, 1),
        ];
        let mut all = String::new();
        readable(std::io::Cursor::new(said.concat().into_bytes()))
            .read_to_string(&mut all)
            .await
            .unwrap();
        let lines: Vec<&str> = all.split_inclusive('\n').collect();
        assert!([lines[0], lines[1], lines[3]] == said);
        let refused: Value = serde_json::from_str(lines[2]).unwrap();
        assert_eq!(
            (&refused["id"], refused["method"].as_str()),
            (&json!(2), Some(UNREADABLE))
        );
    }
}
