//! Asking a local relay about itself over HTTP: the responses that need no token, and the request
//! that fetches them.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_RESPONSE: u64 = 64 << 10;

/// The response to `GET /`: counts, nothing private. A reader needs only `extension`; the rest may
/// be missing.
#[derive(Debug, Serialize, Deserialize)]
pub struct RelayStatus {
    #[serde(default)]
    pub status: String,
    pub extension: bool,
    #[serde(default)]
    pub targets: usize,
    #[serde(default)]
    pub clients: usize,
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
}

/// Fetches JSON from a relay on this machine. A relay sends short responses with a length, so a
/// full HTTP client would be more than this needs.
pub async fn get_json<T: DeserializeOwned>(port: u16, path: &str) -> io::Result<T> {
    let response = tokio::time::timeout(RESPONSE_TIMEOUT, get(port, path)).await??;
    let (head, body) = response
        .split_once("\r\n\r\n")
        .ok_or_else(|| io::Error::other("not an HTTP response"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(io::Error::other(head.lines().next().unwrap_or_default()));
    }
    Ok(serde_json::from_str(body)?)
}

async fn get(port: u16, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream
        .take(MAX_RESPONSE)
        .read_to_string(&mut response)
        .await?;
    Ok(response)
}
