//! Raw HTTP over a plain socket, so that a test controls every byte of a request.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::within;

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub async fn connect(port: u16) -> TcpStream {
    within(
        "open a TCP connection",
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)),
    )
    .await
    .unwrap()
}

pub async fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> Response {
    request(port, "GET", path, headers).await
}

/// Sends one request without a body. `Host` is the relay's address unless `headers` has its own.
pub async fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    exchange(port, &head(port, method, path, headers)).await.1
}

/// Requests a WebSocket. An accepted one stays open until the stream is dropped.
pub async fn upgrade(port: u16, path: &str, headers: &[(&str, &str)]) -> (TcpStream, Response) {
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

/// The head of a request, including the blank line that ends it.
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

/// Sends these bytes and reads one response.
pub async fn exchange(port: u16, bytes: impl AsRef<[u8]>) -> (TcpStream, Response) {
    let mut stream = connect(port).await;
    let bytes = bytes.as_ref();
    stream.write_all(bytes).await.unwrap();
    // The response to HEAD has no body, although it has a length.
    let has_body = !bytes.starts_with(b"HEAD ");
    let reading = read_response(&mut stream, has_body);
    let response = within("read an HTTP response", reading).await;
    (stream, response)
}

/// Reads no byte more than the response: a WebSocket's first message may follow it.
async fn read_response(stream: &mut TcpStream, has_body: bool) -> Response {
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\n") {
        read_more(stream, &mut received, 1).await;
    }
    let body_start = received.len();
    let head = String::from_utf8_lossy(&received).to_lowercase();
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .filter(|_| has_body)
        .map_or(0, |length| length.parse().unwrap());
    while received.len() < body_start + length {
        let missing = body_start + length - received.len();
        read_more(stream, &mut received, missing).await;
    }
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("the response has a status");
    Response {
        status,
        body: String::from_utf8_lossy(&received[body_start..body_start + length]).into_owned(),
        head,
    }
}

async fn read_more(stream: &mut TcpStream, received: &mut Vec<u8>, most: usize) {
    let mut limited = stream.take(most as u64);
    assert_ne!(
        limited.read_buf(received).await.unwrap(),
        0,
        "closed before the response was complete: {:?}",
        String::from_utf8_lossy(received)
    );
}

/// Reads until the other end closes the connection.
pub async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut received = Vec::new();
    // A reset ends the connection as well.
    let _ = within(
        "wait for the end of the connection",
        stream.read_to_end(&mut received),
    )
    .await;
    received
}
