//! Connections to a browser's debugging port: what it serves over HTTP, and the address of its
//! WebSocket. Never connects to another machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::url::BrowserUrl;
use crate::http::peer::{Peer, Refused};

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// A list of many tabs with icons in their addresses takes a few MiB.
const MAX_RESPONSE: usize = 64 << 20;

/// Why a port cannot be used. Completes the sentence "No browser can be used at …: …"
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    #[error("{0}")]
    Owner(String),
    #[error("it did not respond within {} seconds", RESPONSE_TIMEOUT.as_secs())]
    Timeout,
    #[error("it is not a browser's debugging port ({0})")]
    NotABrowser(String),
}

/// The response to `/json/version`.
#[derive(Debug, Clone, Deserialize)]
pub struct Version {
    #[serde(rename = "Browser")]
    pub product: String,
    #[serde(rename = "webSocketDebuggerUrl")]
    websocket_url: String,
}

impl Version {
    /// The path of the browser's WebSocket. Its host is not used: it is the port that was asked.
    pub fn websocket_path(&self) -> Option<&str> {
        let rest = self.websocket_url.strip_prefix("ws://")?;
        rest.find('/').and_then(|at| rest.get(at..))
    }
}

pub async fn connect(url: BrowserUrl) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, url.port)).await?;
    // Messages are small and each is awaited.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Another user's program may have taken the port of a browser that ended. Call this when the port
/// has responded: the kernel names no owner before it has accepted the connection.
pub fn check_owner(stream: &TcpStream) -> Result<(), Fault> {
    let peer = Peer::identify(stream.local_addr()?, stream.peer_addr()?);
    peer.map_err(|refused| Fault::Owner(refused.to_string()))?;
    Ok(())
}

/// As `check_owner`, for a connection that may have been closed after its response, so that its owner
/// is unknown.
fn check_not_foreign(own: SocketAddr, peer: SocketAddr) -> Result<(), Fault> {
    match Peer::identify(own, peer) {
        Err(refused @ Refused::OtherUser(_)) => Err(Fault::Owner(refused.to_string())),
        _ => Ok(()),
    }
}

pub async fn version(url: BrowserUrl) -> Result<Version, Fault> {
    let body = get(url, "/json/version").await?;
    let not_a_browser = |reason: String| Fault::NotABrowser(reason);
    let version: Version =
        serde_json::from_slice(&body).map_err(|error| not_a_browser(error.to_string()))?;
    match version.websocket_path() {
        Some(_) => Ok(version),
        None => Err(not_a_browser("its WebSocket has no address".to_owned())),
    }
}

/// Whether the browser at this port has this path for its WebSocket.
pub async fn is_browser(url: BrowserUrl, websocket_path: &str) -> bool {
    let version = version(url).await;
    version.is_ok_and(|version| version.websocket_path() == Some(websocket_path))
}

/// The body of a successful response.
pub async fn get(url: BrowserUrl, path: &str) -> Result<Bytes, Fault> {
    timeout(RESPONSE_TIMEOUT, fetch(url, path))
        .await
        .map_err(|_| Fault::Timeout)?
}

async fn fetch(url: BrowserUrl, path: &str) -> Result<Bytes, Fault> {
    let not_a_browser = |error: hyper::Error| Fault::NotABrowser(error.to_string());
    let stream = connect(url).await?;
    let (own, peer) = (stream.local_addr()?, stream.peer_addr()?);
    let stream = TokioIo::new(stream);
    let (mut sender, connection) = http1::handshake(stream).await.map_err(not_a_browser)?;
    // Ends with the sender.
    tokio::spawn(connection);
    let request = Request::get(path)
        .header(header::HOST, format!("127.0.0.1:{}", url.port))
        .body(Body::empty())
        .map_err(|error| Fault::NotABrowser(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(not_a_browser)?;
    check_not_foreign(own, peer)?;
    let status = response.status();
    if status != StatusCode::OK {
        return Err(Fault::NotABrowser(format!("{path} returned {status}")));
    }
    to_bytes(Body::new(response.into_body()), MAX_RESPONSE)
        .await
        .map_err(|error| Fault::NotABrowser(error.to_string()))
}
