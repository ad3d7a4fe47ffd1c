//! Asking a local relay about itself over HTTP: the responses, and the request that fetches them.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::control::{Ownership, Refusal, RefusalKind};
use crate::open_port::OpenPortReport;
use crate::token::Token;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Launching a browser takes a while.
const ACTION_TIMEOUT: Duration = Duration::from_secs(40);
const MAX_RESPONSE: u64 = 4 << 20;

/// The response to `GET /`: counts, nothing private. A reader needs only `extension`; the rest may
/// be missing.
#[derive(Debug, Serialize, Deserialize)]
pub struct RelayStatus {
    #[serde(default)]
    pub status: String,
    /// `single-active` or `multi-client`.
    #[serde(default)]
    pub mode: String,
    pub extension: bool,
    /// How many browsers are connected.
    #[serde(default)]
    pub browsers: usize,
    /// Whether the relay launches a browser when a client needs one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub launches: bool,
    #[serde(default)]
    pub targets: usize,
    #[serde(default)]
    pub clients: usize,
    /// The port that needs no token, while it is open.
    #[serde(default, rename = "openPort", skip_serializing_if = "Option::is_none")]
    pub open_port: Option<OpenPortReport>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// The response to `GET /client-slot`. A reader needs only `busy`; the rest may be missing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotReport {
    #[serde(default)]
    pub mode: String,
    pub busy: bool,
    pub active_client_id: Option<String>,
    /// Milliseconds since 1970, as in JavaScript.
    pub connected_at: Option<u64>,
    #[serde(default)]
    pub clients: usize,
    /// What the browser is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The clients, in the order in which they connected.
    #[serde(default)]
    pub connected: Vec<ClientReport>,
}

/// A connected client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientReport {
    pub id: String,
    /// What the client calls itself.
    pub name: String,
    /// The name of its process. Known only on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    pub connected_at: u64,
    /// `None` if the relay does not know, because the browser has a debugging port of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tabs_in_use: Option<usize>,
    /// Only for whoever has the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tabs: Option<Vec<TabInUse>>,
}

/// What people call this client, with its process if that is known.
impl fmt::Display for ClientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match (&self.program, self.pid) {
            (Some(program), Some(pid)) => write!(f, " ({program}, process {pid})"),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TabInUse {
    /// The target id of its page.
    pub id: String,
    pub url: String,
    pub title: String,
}

/// A browser that has connected, in the response to `GET /browsers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserReport {
    pub name: String,
    pub product: String,
    /// Where its own debugging port is, if it is used through that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The extension's version. Empty unless it is connected.
    #[serde(default)]
    pub extension: String,
    pub connected: bool,
    /// Whether the user has stopped all clients, until they choose Resume in the extension's popup.
    #[serde(default, skip_serializing_if = "is_false")]
    pub paused: bool,
    /// Whether the relay launches it when a client needs it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub launches: bool,
    /// `None` for a browser that the user has opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    pub tabs: usize,
    pub clients: Vec<ClientReport>,
}

/// As `get_json`, for what only clients may see. Never call this for a relay that does not own the
/// home: it would be sent the token.
pub async fn get_json_with_token<T: DeserializeOwned>(
    port: u16,
    path: &str,
    token: &Token,
) -> io::Result<T> {
    let request = Request {
        method: "GET",
        path,
        token: Some(token),
        body: "",
    };
    fetch(port, &request, RESPONSE_TIMEOUT).await
}

/// Asks a relay to do something. As for `get_json_with_token`, it must own the home.
pub async fn post_json<T: DeserializeOwned>(
    port: u16,
    path: &str,
    token: &Token,
    body: &str,
) -> io::Result<T> {
    let request = Request {
        method: "POST",
        path,
        token: Some(token),
        body,
    };
    fetch(port, &request, ACTION_TIMEOUT).await
}

/// Fetches JSON from a relay on this machine. A relay sends short responses with a length, so a
/// full HTTP client would be more than this needs.
pub async fn get_json<T: DeserializeOwned>(port: u16, path: &str) -> io::Result<T> {
    let request = Request {
        method: "GET",
        path,
        token: None,
        body: "",
    };
    fetch(port, &request, RESPONSE_TIMEOUT).await
}

struct Request<'a> {
    method: &'a str,
    path: &'a str,
    token: Option<&'a Token>,
    /// JSON.
    body: &'a str,
}

impl Request<'_> {
    fn text(&self, port: u16) -> String {
        let Self {
            method, path, body, ..
        } = self;
        let token = self.token.map(Token::reveal);
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{}Connection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
            token.unwrap_or_default()
        )
    }
}

fn unfinished(port: u16) -> String {
    format!(
        "The relay on port {port} has ended, or is not a relay: it closed the connection without an answer. Run `tabwire logs` to see why, then try again."
    )
}

async fn fetch<T: DeserializeOwned>(
    port: u16,
    request: &Request<'_>,
    timeout: Duration,
) -> io::Result<T> {
    let exchange = exchange(port, request.text(port));
    let response = tokio::time::timeout(timeout, exchange).await;
    let response = response.map_err(|_| no_response(timeout))??;
    let (head, body) = response
        .split_once("\r\n\r\n")
        .ok_or_else(|| io::Error::other(unfinished(port)))?;
    if !head.starts_with("HTTP/1.1 200") {
        let kind = if head.starts_with("HTTP/1.1 401") {
            io::ErrorKind::PermissionDenied
        } else {
            io::ErrorKind::Other
        };
        return Err(io::Error::new(kind, refusal(head, body)));
    }
    Ok(serde_json::from_str(body)?)
}

fn no_response(timeout: Duration) -> io::Error {
    let text = format!("no response within {} seconds", timeout.as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// What a relay says is wrong, or else the status line.
fn refusal(head: &str, body: &str) -> Refusal {
    serde_json::from_str(body).unwrap_or_else(|_| Refusal {
        error: head.lines().next().unwrap_or_default().to_owned(),
        kind: RefusalKind::default(),
    })
}

async fn exchange(port: u16, request: String) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream
        .take(MAX_RESPONSE)
        .read_to_string(&mut response)
        .await?;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn relay_that_does_not_respond_is_reported_with_the_time() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let request = Request {
            method: "GET",
            path: "/",
            token: None,
            body: "",
        };
        let timeout = Duration::from_millis(50);
        let fetched = fetch::<RelayStatus>(port, &request, timeout).await;
        let error = fetched.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "no response within 0.05 seconds");
    }
}
