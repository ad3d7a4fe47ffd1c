//! Upgrades an HTTP request to a WebSocket, or refuses it. Which requests get here is the guard's
//! decision.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::OwnedSemaphorePermit;

use super::handshake::{self, Invalid};
use super::socket;
use super::websocket;
use crate::http::guard::refusal;
use crate::http::listener::{PlaceOf, WebSocketPlaces};

pub type Reader = websocket::Reader<OwnedReadHalf>;
pub type Writer = websocket::Writer<OwnedWriteHalf>;

/// A valid handshake of a client.
pub struct Upgrade {
    accept: HeaderValue,
    connection: OnUpgrade,
    /// Kept as long as the socket.
    place: OwnedSemaphorePermit,
}

/// A valid handshake of an extension, whose place no client can take.
pub struct ExtensionUpgrade(pub Upgrade);

impl Upgrade {
    /// Returns the response, and runs the socket once it has been sent. `run` returns the socket if
    /// the peer may not know yet that it is closed.
    pub fn run<F: Future<Output = Option<(Reader, Writer)>> + Send + 'static>(
        self,
        max_message: usize,
        run: impl FnOnce(Reader, Writer) -> F + Send + 'static,
    ) -> Response {
        tokio::spawn(async move {
            let _place = self.place;
            let Ok(upgraded) = self.connection.await else {
                return;
            };
            // The listener serves TCP streams only.
            let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else {
                return;
            };
            let (read, write) = parts.io.into_inner().into_split();
            let reader = Reader::new(read, &parts.read_buf, max_message);
            if let Some(closing) = run(reader, Writer::new(write)).await {
                socket::finish(closing).await;
            }
        });
        let headers = [
            (header::CONNECTION, HeaderValue::from_static("upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
    }

    fn accept(parts: &mut Parts, place_of: PlaceOf) -> Result<Self, Box<Response>> {
        let accept = match handshake::accept(parts) {
            Ok(accept) => accept,
            Err(Invalid::NotAWebSocket) => {
                return Err(Box::new(upgrade_required(parts.uri.path())));
            }
            Err(Invalid::Key) => {
                let error = "Sec-WebSocket-Key must be 16 bytes in base64.";
                return Err(Box::new(
                    refusal(StatusCode::BAD_REQUEST, error).into_response(),
                ));
            }
        };
        let Some(connection) = parts.extensions.remove::<OnUpgrade>() else {
            return Err(Box::new(upgrade_required(parts.uri.path())));
        };
        let Some(place) = WebSocketPlaces::take(&parts.extensions, place_of) else {
            let error = "Too many WebSockets are open. Close one, then try again.";
            return Err(Box::new(
                refusal(StatusCode::SERVICE_UNAVAILABLE, error).into_response(),
            ));
        };
        Ok(Self {
            accept,
            connection,
            place,
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        Self::accept(parts, PlaceOf::Client).map_err(|refused| *refused)
    }
}

impl<S: Sync> FromRequestParts<S> for ExtensionUpgrade {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let accepted = Upgrade::accept(parts, PlaceOf::Extension);
        accepted.map(Self).map_err(|refused| *refused)
    }
}

fn upgrade_required(path: &str) -> Response {
    let error = format!("{path} is a WebSocket. Connect to it with version 13 of the protocol.");
    let headers = [
        (header::CONNECTION, "upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
    ];
    (headers, refusal(StatusCode::UPGRADE_REQUIRED, &error)).into_response()
}
