//! Checks a WebSocket handshake (RFC 6455, section 4.2.1) and computes the key of the response. It
//! only looks at the request.

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Version, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY_LENGTH: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The request is not a handshake, or is one for another version of the protocol.
    NotAWebSocket,
    Key,
}

/// Returns the value of `Sec-WebSocket-Accept`.
pub fn accept(request: &Parts) -> Result<HeaderValue, Invalid> {
    let is_handshake = request.method == Method::GET
        && request.version == Version::HTTP_11
        && has_token(request, header::CONNECTION, "upgrade")
        && has_token(request, header::UPGRADE, "websocket")
        && only_value(request, header::SEC_WEBSOCKET_VERSION).is_some_and(|value| value == "13");
    if !is_handshake {
        return Err(Invalid::NotAWebSocket);
    }
    let key = only_value(request, header::SEC_WEBSOCKET_KEY)
        .filter(|key| is_valid_key(key.as_bytes()))
        .ok_or(Invalid::Key)?;
    let digest = Sha1::new_with_prefix(key.as_bytes())
        .chain_update(GUID)
        .finalize();
    HeaderValue::from_str(&STANDARD.encode(digest)).map_err(|_| Invalid::Key)
}

/// The value of a header that must not be repeated.
fn only_value(request: &Parts, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = request.headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Whether a header, which may be repeated, lists this token.
fn has_token(request: &Parts, name: HeaderName, token: &str) -> bool {
    let values = request.headers.get_all(name);
    values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|listed| listed.trim().eq_ignore_ascii_case(token))
}

fn is_valid_key(key: &[u8]) -> bool {
    STANDARD
        .decode(key)
        .is_ok_and(|bytes| bytes.len() == KEY_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handshake of the RFC, with `Connection` as browsers send it.
    const HANDSHAKE: [(HeaderName, &str); 4] = [
        (header::CONNECTION, "keep-alive, Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn request(headers: &[(HeaderName, &str)]) -> Parts {
        let mut request = axum::http::Request::new(()).into_parts().0;
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).unwrap();
            request.headers.append(name.clone(), value);
        }
        request
    }

    #[test]
    fn computes_the_key_of_the_rfc() {
        assert_eq!(
            accept(&request(&HANDSHAKE)).unwrap(),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn requires_each_header() {
        for missing in 0..HANDSHAKE.len() {
            let mut headers = HANDSHAKE.to_vec();
            let (name, _) = headers.remove(missing);
            let expected = if name == header::SEC_WEBSOCKET_KEY {
                Invalid::Key
            } else {
                Invalid::NotAWebSocket
            };
            assert_eq!(accept(&request(&headers)), Err(expected), "{name}");
        }
    }
}
