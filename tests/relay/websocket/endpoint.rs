//! Runs one case against one of the relay's two addresses.

use tabwire_tests::{EXTENSION_ID, Installation, Relay, http, introduction, origin, within};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::frame::{self, CLOSE, PONG, TEXT, read_frame, text};
use super::{Case, Closed, Delivered, Ended, Outcome, Pong};

/// How `/extension` closes after a message that is no JSON.
const POLICY_VIOLATION: u16 = 1008;
const NORMAL: u16 = 1000;

pub struct Endpoint {
    pub port: u16,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    /// `None` for `/cdp`.
    installation: Option<Installation>,
}

/// The next message, which must be text.
async fn next_text(stream: &mut TcpStream) -> String {
    let (opcode, payload) = read_frame(stream).await.expect("a message");
    assert_eq!(opcode, TEXT);
    String::from_utf8(payload).unwrap()
}

impl Endpoint {
    pub fn client(relay: &Relay) -> Self {
        Self {
            port: relay.port,
            path: relay.cdp_path(),
            headers: Vec::new(),
            installation: None,
        }
    }

    pub fn extension(relay: &Relay) -> Self {
        Self {
            port: relay.port,
            path: "/extension".to_owned(),
            headers: vec![("Origin", origin(EXTENSION_ID))],
            installation: Some(relay.installation()),
        }
    }

    pub async fn open(&self) -> TcpStream {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let (mut stream, response) = http::upgrade(self.port, &self.path, &headers).await;
        assert_eq!(response.status, 101, "{response:?}");
        // A reset at the end leaves no socket in TIME_WAIT, of which there could be thousands.
        stream.set_zero_linger().unwrap();
        if let Some(installation) = &self.installation {
            self.prove(&mut stream, installation).await;
        }
        stream
    }

    /// The cases are about a connection that has proven who it is.
    async fn prove(&self, stream: &mut TcpStream, installation: &Installation) {
        let address = format!("127.0.0.1:{}", self.port);
        let hello = installation.hello(&next_text(stream).await, &address, false);
        let message = text(hello.message.to_string());
        stream.write_all(&message).await.unwrap();
        installation.check_answer(&hello, &address, &next_text(stream).await);
        let message = text(introduction().to_string());
        stream.write_all(&message).await.unwrap();
    }

    /// Describes the failure, if there is one.
    pub async fn run(&self, case: &Case) -> Option<String> {
        let expected = self.expected(case);
        let mut stream = self.open().await;
        // The relay may close the connection before it has read everything.
        let _ = stream.write_all(&case.bytes).await;
        if expected == [Ended] {
            stream.shutdown().await.unwrap();
        }
        let mut outcomes = within(&case.name, self.outcomes(&mut stream, &expected)).await;
        outcomes.sort();
        (outcomes != expected).then(|| {
            let (path, name) = (&self.path[..4], &case.name);
            format!("{path} {name}: {outcomes:?} instead of {expected:?}")
        })
    }

    /// Sorted, because replies and pongs come from different tasks.
    fn expected(&self, case: &Case) -> Vec<Outcome> {
        let mut expected = case.expected.clone();
        if self.installation.is_some() && expected.contains(&Delivered) {
            expected = vec![Closed(POLICY_VIOLATION)];
        }
        expected.sort();
        expected
    }

    /// Waits for as many outcomes as expected, then closes the connection to see that nothing else
    /// follows.
    async fn outcomes(&self, stream: &mut TcpStream, expected: &[Outcome]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while outcomes.len() < expected.len() {
            match self.next_outcome(stream).await {
                // Pongs that have not been written yet are dropped when the relay closes the
                // connection.
                Some(Pong(_)) if expected == [Closed(POLICY_VIOLATION)] => {}
                outcome => outcomes.extend(outcome),
            }
            if matches!(outcomes.last(), Some(Closed(_) | Ended)) {
                return outcomes;
            }
        }
        let _ = stream.write_all(&frame::close(NORMAL, b"")).await;
        loop {
            match self.next_outcome(stream).await {
                Some(Closed(NORMAL) | Ended) => return outcomes,
                extra => outcomes.extend(extra),
            }
        }
    }

    /// `None` for a text that is no reply: the relay sends calls to the extension at any time.
    async fn next_outcome(&self, stream: &mut TcpStream) -> Option<Outcome> {
        let Some((opcode, payload)) = read_frame(stream).await else {
            return Some(Ended);
        };
        match opcode {
            TEXT if self.installation.is_some() => None,
            TEXT => Some(Delivered),
            PONG => Some(Pong(payload)),
            CLOSE => {
                let (code, reason) = payload.split_first_chunk().expect("a status code");
                assert!(std::str::from_utf8(reason).is_ok(), "{reason:x?}");
                assert!(read_frame(stream).await.is_none(), "a frame after close");
                Some(Closed(u16::from_be_bytes(*code)))
            }
            _ => panic!("unexpected opcode {opcode}"),
        }
    }
}
