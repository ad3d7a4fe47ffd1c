//! Opens a WebSocket to the relay, for either of its sides.

use futures_util::StreamExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::{http, within};

pub type Socket = WebSocketStream<TcpStream>;

/// Returns the HTTP status if the relay refuses the upgrade.
pub async fn open(port: u16, path: &str, headers: &[(&str, &str)]) -> Result<Socket, u16> {
    let mut request = format!("ws://127.0.0.1:{port}{path}")
        .into_client_request()
        .unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let stream = http::connect(port).await;
    stream.set_nodelay(true).unwrap();
    let opened = within(
        "open a WebSocket",
        tokio_tungstenite::client_async_with_config(request, stream, Some(config)),
    )
    .await;
    match opened {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The code and reason of a close frame.
pub fn code_and_reason(frame: Option<CloseFrame>) -> Option<(u16, String)> {
    frame.map(|frame| (frame.code.into(), frame.reason.to_string()))
}

/// Reads the next text message. Otherwise returns the code and reason of the close frame, if there
/// is one.
pub async fn read_text(socket: &mut Socket) -> Result<String, Option<(u16, String)>> {
    loop {
        match within("read a message", socket.next()).await {
            Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
            Some(Ok(Message::Close(frame))) => return Err(code_and_reason(frame)),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Err(None),
        }
    }
}
