//! Connects to a browser that is running already: through the relay, or through the debugging port
//! of the browser that has the client's profile open.

use std::net::Ipv4Addr;
use std::path::Path;

use axum::http::HeaderValue;
use serde::Deserialize;
use tabwire_home::{Token, cdp_url};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WebSocketError, http};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::browser::profile::{self, ActivePort};
use crate::direct::{self, BrowserUrl};
use crate::error::Error;
use crate::link::client_link::CLIENT_NAME;

pub type Socket = WebSocketStream<TcpStream>;

/// As much as the relay accepts by default.
pub const MAX_MESSAGE: usize = 256 << 20;

/// Connects to a browser of the relay on this port, which must own the home: it is sent the token.
pub async fn relay(port: u16, token: &Token, browser: Option<&str>) -> Result<Socket, Error> {
    let mut request = request(&cdp_url(port, token, browser))?;
    let name = HeaderValue::from_static("tabwire pipe");
    request.headers_mut().insert(CLIENT_NAME, name);
    connect(port, request).await
}

/// Connects to the browser that has this profile open. `None` if no browser has.
pub async fn open_profile(profile: &Path) -> Result<Option<Socket>, Error> {
    let Some(pid) = profile::open_by(profile) else {
        return Ok(None);
    };
    let in_use = || Error::PipeProfileInUse {
        profile: profile.to_owned(),
        pid,
    };
    let ActivePort { port, path } = profile::active_port(profile).ok_or_else(in_use)?;
    if !direct::is_browser(BrowserUrl { port }, &path).await {
        return Err(in_use());
    }
    let request = request(&format!("ws://127.0.0.1:{port}{path}"))?;
    let socket = connect(port, request).await?;
    // Another user's program may have taken the port of a browser that ended.
    direct::check_owner(socket.get_ref()).map_err(|_| in_use())?;
    Ok(Some(socket))
}

fn request(url: &str) -> Result<Request, Error> {
    url.into_client_request().map_err(failed)
}

async fn connect(port: u16, request: Request) -> Result<Socket, Error> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    // Messages are small and each is awaited.
    stream.set_nodelay(true)?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let connected = client_async_with_config(request, stream, Some(config)).await;
    connected.map(|(socket, _)| socket).map_err(failed)
}

/// The relay's error message, if it refused the connection.
fn failed(error: WebSocketError) -> Error {
    let reason = match &error {
        WebSocketError::Http(response) => explanation(response),
        _ => None,
    };
    Error::Relay(reason.unwrap_or_else(|| format!("Cannot connect to the browser: {error}.")))
}

fn explanation(response: &http::Response<Option<Vec<u8>>>) -> Option<String> {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let body = response.body().as_deref()?;
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    Some(refusal.error)
}
