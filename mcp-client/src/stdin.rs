//! What an agent says on stdin, line by line, before the SDK reads it. The SDK drops a line that it cannot read, and the agent
//! would wait for its answer for ever. So half a character, which JavaScript writes as an escape, becomes the sign for one
//! that is lost, and any other such line a request that is answered with the reason.

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

/// The method of the request that stands for a line which cannot be read; `reason` is its parameter.
pub const UNREADABLE: &str = "tabwire/unreadable";
/// As long as the SDK takes them.
const LONGEST_LINE: usize = 16 << 20;
const BUFFER: usize = 64 << 10;

/// The same, without what the SDK would drop.
pub fn readable(agent: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin {
    let (mut to_sdk, from_agent) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let mut agent = BufReader::new(agent);
        while let Ok(Some(line)) = next_line(&mut agent).await {
            if to_sdk.write_all(&line).await.is_err() {
                break;
            }
        }
    });
    from_agent
}

async fn next_line(agent: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    (&mut *agent).take(LONGEST_LINE as u64).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() < LONGEST_LINE || line.ends_with(b"\n") {
        return Ok(Some(made_readable(line)));
    }
    skip_line(agent).await?;
    Ok(Some(refusal(&line, &format!("a line may have {} MiB at most", LONGEST_LINE >> 20))))
}

async fn skip_line(agent: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<()> {
    loop {
        let bytes = agent.fill_buf().await?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (is_last, length) = (end.is_some() || bytes.is_empty(), end.map_or(bytes.len(), |end| end + 1));
        agent.consume(length);
        if is_last {
            return Ok(());
        }
    }
}

fn made_readable(line: Vec<u8>) -> Vec<u8> {
    let Err(error) = serde_json::from_slice::<Value>(&line) else { return line };
    let mended = without_half_characters(&line);
    if serde_json::from_slice::<Value>(&mended).is_ok() {
        return mended;
    }
    refusal(&line, &error.to_string())
}

/// Nothing, if the line does not say which answer somebody waits for.
fn refusal(line: &[u8], reason: &str) -> Vec<u8> {
    let Some(id) = id_in(line) else { return Vec::new() };
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": UNREADABLE, "params": { "reason": reason } }).to_string();
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

/// The `id` of the message, as far as a line that is not JSON lets one see it.
fn id_in(line: &[u8]) -> Option<Value> {
    let (mut depth, mut key, mut index) = (0_usize, None, 0);
    while let Some(byte) = line.get(index) {
        index += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let text = text_from(line.get(index..)?);
                index += text.len() + 1;
                key = Some(text);
            }
            b':' if depth == 1 && key == Some(b"id") => {
                let value = line.get(index..)?.trim_ascii_start();
                let length = match value.strip_prefix(b"\"") {
                    Some(text) => text_from(text).len() + 2,
                    None => value.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(value.len()),
                };
                return serde_json::from_slice(value.get(..length)?).ok().filter(|id: &Value| id.is_string() || id.is_number());
            }
            _ => {}
        }
    }
    None
}

/// What stands before the quote that ends a text.
fn text_from(rest: &[u8]) -> &[u8] {
    let mut is_escaped = false;
    let end = rest.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
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
        assert_eq!(read(line), r#"{"id":1,"code":"\ud83d\ude00 \ufffd \\ud83d \\\ufffd \u00e4"}"#);
        let readable = r#"{"id":1,"code":"\ud83d\ude00"}"#;
        assert_eq!(read(readable), readable);
    }

    #[test]
    fn whoever_waits_for_an_answer_to_what_cannot_be_read_gets_one() {
        let deep = format!(r#"{{"params":{}1{},"id":"seven"}}"#, "[".repeat(200), "]".repeat(200));
        for (line, id) in [
            (r#"{"id": 7, "params": {"timeout": 1e999}}"#, json!(7)),
            (r#"{"method":"x\"id\":3","params":{"id":4,"a":1e999},"id":5}"#, json!(5)),
            (r#"{"id":8,"broken"#, json!(8)),
            (&deep, json!("seven")),
        ] {
            let request: Value = serde_json::from_str(&read(line)).unwrap();
            assert_eq!((&request["id"], request["method"].as_str()), (&id, Some(UNREADABLE)), "{line}");
        }
        assert_eq!(read("no message at all"), "");
        assert_eq!(read(r#"{"method":"notified","broken"#), "");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
        let long = format!("{{\"id\":1,\"code\":\"{}\"}}\n{{\"id\":2}}\n", "x".repeat(LONGEST_LINE));
        let mut all = String::new();
        readable(std::io::Cursor::new(long.into_bytes())).read_to_string(&mut all).await.unwrap();
        let lines: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["id"], lines[0]["method"].as_str(), &lines[1]), (&json!(1), Some(UNREADABLE), &json!({ "id": 2 })));
    }
}
