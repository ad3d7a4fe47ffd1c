//! Feeds lines of text to the core as a client's messages. `$0` and `$1` in them stand for the client's
//! sessions, and an empty line for the replies of the browser.

use super::relay::Relay;

pub fn run(data: &[u8]) {
    let mut relay = Relay::new();
    for line in String::from_utf8_lossy(data).lines() {
        if line.is_empty() {
            relay.answer_all();
        } else {
            let text = with_sessions(line, &relay.sessions);
            relay.send(&text);
        }
    }
    relay.finish();
}

pub fn with_sessions(line: &str, sessions: &[String]) -> String {
    let session = |n: usize| sessions.get(n).map_or("", String::as_str);
    line.replace("$0", session(0)).replace("$1", session(1))
}
