//! Filters an agent's messages on stdin before the SDK parses them. The SDK drops a line that it
//! cannot parse, and the agent would wait for the response forever. So lone surrogates, which
//! JavaScript writes as escapes, are replaced by U+FFFD, and any other unparseable line becomes a
//! request that the server answers with the reason.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};

/// The method of the request that replaces an unparseable line. Its parameter is `reason`.
pub const UNPARSEABLE: &str = "tabwire/unparseable";
/// Longer lines are passed on unchecked: buffering them here as well would take too much memory.
const MAX_CHECKED_LINE: usize = 1 << 20;
/// The SDK's own limit.
const MAX_LINE: usize = 16 << 20;
/// Larger buffers would be kept by the allocator.
const BUFFER: usize = 8 << 10;
/// How far from the start or the end of a message its id is searched.
const ID_SEARCH_WINDOW: usize = 200;
/// Some programs start their output with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The same input, in lines that the SDK can parse.
pub fn parseable(agent: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin {
    let (mut to_sdk, from_agent) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let mut agent = BufReader::new(agent);
        while let Ok(true) = forward_line(&mut agent, &mut to_sdk).await {}
    });
    from_agent
}

/// Returns false at the end of the input.
async fn forward_line(
    agent: &mut (impl AsyncBufRead + Unpin),
    to_sdk: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<bool> {
    let mut line = Vec::new();
    read_up_to(MAX_CHECKED_LINE, agent, &mut line).await?;
    if line.len() < MAX_CHECKED_LINE || line.ends_with(b"\n") {
        let is_end = line.is_empty();
        to_sdk.write_all(&repair(line)).await?;
        return Ok(!is_end);
    }
    to_sdk.write_all(&line).await?;
    let (rest, tail) = forward_rest(agent, to_sdk).await?;
    if line.len() + rest > MAX_LINE {
        let reason = format!("a line may have at most {} MiB", MAX_LINE >> 20);
        to_sdk
            .write_all(&rejection(&[&tail, &line], &reason))
            .await?;
    }
    Ok(true)
}

/// Forwards a long line to its end. Returns its length and its last bytes.
async fn forward_rest(
    agent: &mut (impl AsyncBufRead + Unpin),
    to_sdk: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<(usize, Vec<u8>)> {
    let (mut length, mut tail, mut part) = (0, Vec::new(), Vec::new());
    loop {
        part.clear();
        read_up_to(BUFFER, agent, &mut part).await?;
        to_sdk.write_all(&part).await?;
        length += part.len();
        tail.extend_from_slice(&part);
        tail.drain(..tail.len().saturating_sub(ID_SEARCH_WINDOW));
        if part.is_empty() || part.ends_with(b"\n") {
            return Ok((length, tail));
        }
    }
}

/// Reads a line or the first `limit` bytes of it.
async fn read_up_to(
    limit: usize,
    agent: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<()> {
    agent
        .take(limit as u64)
        .read_until(b'\n', line)
        .await
        .map(drop)
}

fn repair(line: Vec<u8>) -> Vec<u8> {
    let parse = |line: &[u8]| {
        serde_json::from_slice::<Value>(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line))
    };
    let Err(error) = parse(&line) else {
        return line;
    };
    let repaired = replace_lone_surrogates(&line);
    if parse(&repaired).is_ok() {
        return repaired;
    }
    rejection(&[&line], &error.to_string())
}

/// Empty if no id is found in these parts of the line: in that case, nobody waits for a response.
fn rejection(parts: &[&[u8]], reason: &str) -> Vec<u8> {
    let Some(id) = parts.iter().find_map(|part| find_id(part)) else {
        return Vec::new();
    };
    let mut request =
        json!({ "jsonrpc": "2.0", "id": id, "method": UNPARSEABLE, "params": { "reason": reason } })
            .to_string();
    request.push('\n');
    request.into_bytes()
}

/// Replaces each escaped surrogate that has no partner by U+FFFD.
fn replace_lone_surrogates(line: &[u8]) -> Vec<u8> {
    let code_at = |rest: &[u8]| {
        let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut repaired = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, ..] = rest {
        let length = match (code_at(rest), rest.get(6..).and_then(code_at)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                repaired.extend_from_slice(b"\\ufffd");
                rest = rest.get(6..).unwrap_or_default();
                continue;
            }
            _ if *first == b'\\' => 2,
            _ => 1,
        };
        let (copied, left) = rest.split_at(length.min(rest.len()));
        repaired.extend_from_slice(copied);
        rest = left;
    }
    repaired
}

/// Finds the message's `id` without parsing it, near its start or its end, where every client
/// writes it. A match inside a string is impossible: quotes in there are escaped.
fn find_id(line: &[u8]) -> Option<Value> {
    const KEY: &[u8] = b"\"id\":";
    let id_at = |position: usize| {
        let value = line.get(position + KEY.len()..)?;
        let end = value
            .iter()
            .position(|byte| matches!(byte, b',' | b'}'))
            .unwrap_or(value.len());
        serde_json::from_slice(value.get(..end)?)
            .ok()
            .filter(|id: &Value| id.is_string() || id.is_number())
    };
    let is_key = |position: &usize| {
        line.get(*position..)
            .is_some_and(|rest| rest.starts_with(KEY))
    };
    let mut start = 0..line.len().min(ID_SEARCH_WINDOW);
    let mut end = line.len().saturating_sub(ID_SEARCH_WINDOW)..line.len();
    end.rfind(is_key)
        .and_then(id_at)
        .or_else(|| start.find(is_key).and_then(id_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(line: &str) -> String {
        String::from_utf8(repair(line.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn replaces_lone_surrogates_and_keeps_pairs() {
        let line = r#"{"id":1,"code":"\ud83d\ude00 \ud83d \\ud83d \\\ude00 \u00e4"}"#;
        assert_eq!(
            repaired(line),
            r#"{"id":1,"code":"\ud83d\ude00 \ufffd \\ud83d \\\ufffd \u00e4"}"#
        );
        for parseable in [r#"{"id":1,"code":"\ud83d\ude00"}"#, "\u{feff}{\"id\":1}"] {
            assert_eq!(repaired(parseable), parseable);
        }
    }

    #[test]
    fn rejects_unparseable_requests_by_their_id() {
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
            let request: Value = serde_json::from_str(&repaired(line)).unwrap();
            assert_eq!(
                (&request["id"], request["method"].as_str()),
                (&id, Some(UNPARSEABLE)),
                "{line}"
            );
        }
        assert_eq!(repaired("no message at all"), "");
        assert_eq!(repaired(r#"{"method":"notified","broken"#), "");
    }

    #[tokio::test]
    async fn forwards_long_lines_and_rejects_those_the_sdk_drops() {
        let message = |id: i64, length: usize| {
            format!("{{\"code\":\"{}\",\"id\":{id}}}\n", "x".repeat(length))
        };
        let sent = [
            message(1, MAX_CHECKED_LINE),
            message(2, MAX_LINE),
            message(3, 1),
        ];
        let mut received = String::new();
        parseable(std::io::Cursor::new(sent.concat().into_bytes()))
            .read_to_string(&mut received)
            .await
            .unwrap();
        let lines: Vec<&str> = received.split_inclusive('\n').collect();
        assert!([lines[0], lines[1], lines[3]] == sent);
        let rejected: Value = serde_json::from_str(lines[2]).unwrap();
        assert_eq!(
            (&rejected["id"], rejected["method"].as_str()),
            (&json!(2), Some(UNPARSEABLE))
        );
    }
}
