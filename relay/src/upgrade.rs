//! The handshake: how an HTTP request becomes a WebSocket (RFC 6455, section 4.2).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sha1::{Digest as _, Sha1};
use tokio::net::TcpStream;

use crate::guard::{Refusal, refusal};
use crate::websocket::{self, Reader, Writer};

/// A request that asks for a WebSocket, and can have it.
pub struct Upgrade {
    accept: HeaderValue,
    connection: OnUpgrade,
}

impl Upgrade {
    /// Answers the request, and runs the socket when the answer is out.
    pub fn run<F: Future<Output = ()> + Send + 'static>(
        self,
        max_message: usize,
        run: impl FnOnce(Reader, Writer) -> F + Send + 'static,
    ) -> Response {
        tokio::spawn(async move {
            let Ok(upgraded) = self.connection.await else {
                return;
            };
            // What hyper was given is a TCP stream, so that is what it gives back.
            let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else {
                return;
            };
            let (reader, writer) =
                websocket::split(parts.io.into_inner(), &parts.read_buf, max_message);
            run(reader, writer).await;
        });
        let headers = [
            (header::CONNECTION, HeaderValue::from_static("upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let accept = accept(&parts.headers).ok_or_else(|| {
            refusal(
                StatusCode::UPGRADE_REQUIRED,
                &format!(
                    "{} is a WebSocket, and this request does not ask for one",
                    parts.uri.path()
                ),
            )
        })?;
        let connection = parts.extensions.remove::<OnUpgrade>();
        let connection = connection.ok_or_else(|| {
            refusal(
                StatusCode::UPGRADE_REQUIRED,
                "this connection cannot become a WebSocket",
            )
        })?;
        Ok(Self { accept, connection })
    }
}

/// The answer to the request's key; `None` when it does not ask for a WebSocket.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let names = |name: HeaderName, word: &str| {
        let values = headers.get_all(name);
        values
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| {
                value
                    .split(',')
                    .any(|one| one.trim().eq_ignore_ascii_case(word))
            })
    };
    let asks = names(header::CONNECTION, "upgrade")
        && names(header::UPGRADE, "websocket")
        && names(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| asks)?;
    let digest = Sha1::new_with_prefix(key.as_bytes())
        .chain_update(GUID)
        .finalize();
    HeaderValue::from_str(&STANDARD.encode(digest)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn the_key_of_the_rfc_gets_the_answer_of_the_rfc() {
        let request = [
            (header::CONNECTION, "keep-alive, Upgrade"),
            (header::UPGRADE, "websocket"),
            (header::SEC_WEBSOCKET_VERSION, "13"),
            (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        assert_eq!(
            accept(&headers(&request)).unwrap(),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        for missing in 0..request.len() {
            let mut some = request.to_vec();
            some.remove(missing);
            assert_eq!(accept(&headers(&some)), None);
        }
    }
}
