//! Checks requests with arbitrary headers. What is accepted must be a handshake, and must have the
//! right response.
#[allow(dead_code, unused_imports)]
#[path = "../../relay/src/link/handshake.rs"]
mod handshake;

use arbitrary::{Arbitrary, Unstructured};
use axum::http::{HeaderName, HeaderValue, Method, Request, Version};

#[derive(Arbitrary, Debug)]
struct Input {
    is_head: bool,
    is_http_10: bool,
    headers: Vec<Header>,
}

#[derive(Arbitrary, Debug)]
enum Header {
    Connection(Value),
    Upgrade(Value),
    Version(Value),
    Key(Value),
    KeyOf([u8; 16]),
}

#[derive(Arbitrary, Debug)]
enum Value {
    Expected,
    Any(Vec<u8>),
}

impl Header {
    fn parts(&self) -> (&'static str, Vec<u8>) {
        use base64::Engine as _;
        let (name, expected, value) = match self {
            Self::Connection(value) => ("connection", "Upgrade", value),
            Self::Upgrade(value) => ("upgrade", "websocket", value),
            Self::Version(value) => ("sec-websocket-version", "13", value),
            Self::Key(value) => ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==", value),
            Self::KeyOf(bytes) => {
                let key = base64::engine::general_purpose::STANDARD.encode(bytes);
                return ("sec-websocket-key", key.into_bytes());
            }
        };
        match value {
            Value::Expected => (name, expected.as_bytes().to_vec()),
            Value::Any(bytes) => (name, bytes.clone()),
        }
    }
}

pub fn run(data: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(data)) else {
        return;
    };
    let mut request = Request::new(());
    if input.is_head {
        *request.method_mut() = Method::HEAD;
    }
    if input.is_http_10 {
        *request.version_mut() = Version::HTTP_10;
    }
    for header in &input.headers {
        let (name, value) = header.parts();
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            let name = HeaderName::from_static(name);
            request.headers_mut().append(name, value);
        }
    }
    let (request, ()) = request.into_parts();
    let Ok(accept) = handshake::accept(&request) else {
        return;
    };
    assert!(!input.is_head && !input.is_http_10);
    // 20 bytes in base64.
    assert_eq!(accept.len(), 28);
    for (name, count) in [("sec-websocket-version", 1), ("sec-websocket-key", 1)] {
        assert_eq!(request.headers.get_all(name).iter().count(), count);
    }
    assert_eq!(request.headers["sec-websocket-version"], "13");
    let key = request.headers["sec-websocket-key"].as_bytes();
    assert_eq!(key.len(), 24);
    assert!(key.ends_with(b"=="));
}
