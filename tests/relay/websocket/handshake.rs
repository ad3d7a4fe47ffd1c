//! The handshake (RFC 6455, section 4.2), as a table of requests that both addresses must accept or
//! refuse.

use tabwire_tests::{Relay, http, until};
use tokio::io::AsyncWriteExt as _;

use super::endpoint::Endpoint;

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=";

/// The value of one header of the handshake, and the status of the response.
const VALUES: [(&str, &str, u16); 41] = [
    ("Connection", "Upgrade", 101),
    ("Connection", "upgrade", 101),
    ("Connection", "UPGRADE", 101),
    ("Connection", "keep-alive, Upgrade", 101),
    ("Connection", "Upgrade,keep-alive", 101),
    ("Connection", "keep-alive,  upgrade , x", 101),
    ("Connection", "close", 426),
    ("Connection", "keep-alive", 426),
    ("Connection", "Upgraded", 426),
    ("Connection", "not-upgrade", 426),
    ("Connection", "", 426),
    ("Upgrade", "websocket", 101),
    ("Upgrade", "WebSocket", 101),
    ("Upgrade", "WEBSOCKET", 101),
    ("Upgrade", "h2c, websocket", 101),
    ("Upgrade", "h2c", 426),
    ("Upgrade", "websocket2", 426),
    ("Upgrade", "web socket", 426),
    ("Upgrade", "", 426),
    ("Sec-WebSocket-Version", "13", 101),
    ("Sec-WebSocket-Version", "0", 426),
    ("Sec-WebSocket-Version", "7", 426),
    ("Sec-WebSocket-Version", "8", 426),
    ("Sec-WebSocket-Version", "12", 426),
    ("Sec-WebSocket-Version", "14", 426),
    ("Sec-WebSocket-Version", "013", 426),
    ("Sec-WebSocket-Version", "13, 8", 426),
    ("Sec-WebSocket-Version", "thirteen", 426),
    ("Sec-WebSocket-Version", "", 426),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==", 101),
    ("Sec-WebSocket-Key", "/+/+/+/+/+/+/+/+/+/+/w==", 101),
    ("Sec-WebSocket-Key", "", 400),
    ("Sec-WebSocket-Key", "x", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZR==", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZSE=", 400),
    ("Sec-WebSocket-Key", "dGhl IHNhbXBsZSBub25jZQ==", 400),
    ("Sec-WebSocket-Key", "-_-_-_-_-_-_-_-_-_-_-w==", 400),
    (
        "Sec-WebSocket-Key",
        "====================================",
        400,
    ),
];

/// Repeated headers, and the status of the response.
const REPEATED: [(&str, u16); 5] = [
    (KEY, 400),
    ("Sec-WebSocket-Version: 13", 426),
    ("Sec-WebSocket-Version: 8", 426),
    ("Connection: keep-alive", 101),
    ("Upgrade: h2c", 101),
];

struct Request {
    start: &'static str,
    headers: Vec<String>,
    status: u16,
}

fn handshake_headers() -> Vec<String> {
    let headers = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        KEY,
    ];
    headers.map(str::to_owned).to_vec()
}

fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    let mut add = |start, headers, status| {
        requests.push(Request {
            start,
            headers,
            status,
        });
    };
    for (name, value, status) in VALUES {
        let mut headers = handshake_headers();
        headers.retain(|header| !header.starts_with(&format!("{name}:")));
        headers.push(format!("{name}: {value}"));
        add("GET {} HTTP/1.1", headers, status);
    }
    for (header, status) in REPEATED {
        let mut headers = handshake_headers();
        headers.push(header.to_owned());
        add("GET {} HTTP/1.1", headers, status);
    }
    for missing in 0..4 {
        let mut headers = handshake_headers();
        let is_key = headers.remove(missing) == KEY;
        add("GET {} HTTP/1.1", headers, if is_key { 400 } else { 426 });
    }
    for (start, status) in [
        ("GET {} HTTP/1.1", 101),
        ("GET {} HTTP/1.0", 426),
        ("POST {} HTTP/1.1", 405),
        ("PUT {} HTTP/1.1", 405),
        ("OPTIONS {} HTTP/1.1", 405),
    ] {
        add(start, handshake_headers(), status);
    }
    // Nothing is negotiated, and an offer is no reason to refuse.
    for offer in [
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        "Sec-WebSocket-Protocol: chat, superchat",
    ] {
        let mut headers = handshake_headers();
        headers.push(offer.to_owned());
        add("GET {} HTTP/1.1", headers, 101);
    }
    requests
}

impl Request {
    fn head(&self, endpoint: &Endpoint) -> String {
        let start = self.start.replace("{}", &endpoint.path);
        let host = format!("Host: 127.0.0.1:{}", endpoint.port);
        let own = endpoint
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<String> = [start, host]
            .into_iter()
            .chain(own)
            .chain(self.headers.iter().cloned())
            .collect();
        lines.join("\r\n") + "\r\n\r\n"
    }
}

async fn check(endpoint: &Endpoint, request: &Request) {
    let (head, status) = (request.head(endpoint), request.status);
    // The slot may still be taken by the request before this one.
    let (_stream, response) = until("get a slot", async || {
        Some(http::exchange(endpoint.port, &head).await)
            .filter(|(_, response)| response.status != 409)
    })
    .await;
    assert_eq!(response.status, status, "{head}{response:?}");
    let has = |line: &str| response.head.lines().any(|other| other == line);
    match status {
        101 => {
            assert!(has("upgrade: websocket"), "{response:?}");
            assert!(has("connection: upgrade"), "{response:?}");
            assert!(!response.head.contains("sec-websocket-extensions"));
            assert!(!response.head.contains("sec-websocket-protocol"));
            if head.contains(KEY) {
                assert!(has(ACCEPT), "{response:?}");
            }
        }
        426 => {
            assert!(has("sec-websocket-version: 13"), "{response:?}");
            assert!(has("upgrade: websocket"), "{response:?}");
        }
        _ => assert!(!has("upgrade: websocket"), "{response:?}"),
    }
}

#[tokio::test]
async fn both_addresses_accept_valid_handshakes_only() {
    let mut relay = Relay::start(&[]).await;
    for endpoint in [Endpoint::client(&relay), Endpoint::extension(&relay)] {
        for request in requests() {
            check(&endpoint, &request).await;
        }
    }
    assert!(relay.is_alive().await);
}

/// The response to HEAD has no body, although it has a length.
#[tokio::test]
async fn both_addresses_refuse_a_handshake_with_head() {
    let relay = Relay::start(&[]).await;
    for endpoint in [Endpoint::client(&relay), Endpoint::extension(&relay)] {
        let request = Request {
            start: "HEAD {} HTTP/1.1",
            headers: handshake_headers(),
            status: 426,
        };
        let mut stream = http::connect(relay.port).await;
        let head = request.head(&endpoint);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let response = http::read_to_end(&mut stream).await;
        assert!(response.starts_with(b"HTTP/1.1 426 "), "{response:?}");
    }
}
