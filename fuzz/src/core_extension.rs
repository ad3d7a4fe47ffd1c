//! Feeds lines of text to the core as the extension's messages, while a client uses a page. `$` in them
//! stands for the id of the oldest call without a reply. An empty line is the next request of the client,
//! `+` a wait, and `!` an extension that connects again.

use super::core_client::with_sessions;
use super::relay::Relay;

/// What the client sends, in turn.
const REQUESTS: [&str; 6] = [
    r#"{"id":1,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":"$1"}"#,
    r#"{"id":2,"method":"Runtime.enable","sessionId":"$0"}"#,
    r#"{"id":3,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":"$0"}"#,
    r#"{"id":4,"method":"Page.getFrameTree","sessionId":"$1"}"#,
    r#"{"id":5,"method":"Target.createTarget","params":{"url":"about:blank"}}"#,
    r#"{"id":6,"method":"Fetch.enable","sessionId":"$1"}"#,
];

pub fn run(data: &[u8]) {
    let mut relay = Relay::new();
    let mut requests = REQUESTS.iter().cycle();
    for line in String::from_utf8_lossy(data).lines() {
        match line {
            "" => {
                let request = requests.next().unwrap_or(&REQUESTS[0]);
                relay.send(&with_sessions(request, &relay.sessions));
            }
            "+" => relay.wait(4),
            "!" => {
                relay.connect_extension();
                relay.answer_all();
            }
            line => {
                let id = relay.calls.front().map(|call| call["id"].to_string());
                let text = line.replace('$', id.as_deref().unwrap_or("0"));
                relay.calls.pop_front();
                relay.receive(&text);
            }
        }
    }
    relay.finish();
}
