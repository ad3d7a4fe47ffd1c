//! What both ends of the relay, or of the pipe, have in common.

use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

pub type Socket = WebSocketStream<TcpStream>;

pub async fn open(port: u16, path: &str, origin: Option<&str>) -> anyhow::Result<Socket> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request()?;
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse()?);
    }
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
    Ok(socket)
}

pub fn text(text: String) -> Message {
    Message::Text(text.into())
}
