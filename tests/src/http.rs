//! HTTP by hand over a plain socket: every byte of the request is the test's.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::within;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub async fn connect(port: u16) -> TcpStream {
    within(
        "a TCP connection",
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)),
    )
    .await
    .unwrap()
}

pub async fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> Answer {
    request(port, "GET", path, headers).await
}

/// One request. `Host` is the right one unless a header says otherwise.
pub async fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    exchange(port, &head(port, method, path, headers)).await.1
}

/// Asks for a WebSocket; the stream stays open while it is kept.
pub async fn upgrade(port: u16, path: &str, headers: &[(&str, &str)]) -> (TcpStream, Answer) {
    let websocket = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    exchange(
        port,
        &head(port, "GET", path, &[&websocket, headers].concat()),
    )
    .await
}

pub fn head(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        let _ = write!(text, "Host: 127.0.0.1:{port}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text + "\r\n"
}

/// Sends these bytes and reads one answer.
pub async fn exchange(port: u16, bytes: impl AsRef<[u8]>) -> (TcpStream, Answer) {
    let mut stream = connect(port).await;
    stream.write_all(bytes.as_ref()).await.unwrap();
    let answer = within("an HTTP answer", read_answer(&mut stream)).await;
    (stream, answer)
}

async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut read = Vec::new();
    let end = loop {
        if let Some(at) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        assert_ne!(
            stream.read_buf(&mut read).await.unwrap(),
            0,
            "closed in the head: {:?}",
            String::from_utf8_lossy(&read)
        );
    };
    let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    while read.len() < end + length {
        assert_ne!(
            stream.read_buf(&mut read).await.unwrap(),
            0,
            "closed in the body: {head}"
        );
    }
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    Answer {
        status,
        body: String::from_utf8_lossy(&read[end..end + length]).into_owned(),
        head,
    }
}

/// The bytes that come until the other end closes.
pub async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    // A connection that is reset is as closed as one that is shut down.
    let _ = within("the end of a connection", stream.read_to_end(&mut read)).await;
    read
}
