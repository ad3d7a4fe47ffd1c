//! Who may use the open port: programs of the relay's own user, and no web page, extension or other user.

use serde_json::json;
use tabwire_tests::{Client, ScriptedExtension, http, origin, tab, target_of};
use tokio::io::AsyncWriteExt as _;

use super::{close_port, open_port};
#[cfg(target_os = "linux")]
use crate::peers::{AS_NOBODY, assert_status, is_root, request_from, start_as_nobody};
use crate::setup::{MULTI_CLIENT, start_relay};

#[tokio::test]
async fn serves_nothing_else() {
    let (relay, _extension) = start_relay(&["--debug-http"], &[1]).await;
    let port = open_port(&relay, &[]);
    let cdp = relay.cdp_path();
    for path in [
        "/",
        "/client-slot",
        "/browsers",
        &cdp,
        "/extension",
        "/nothing",
    ] {
        assert_eq!(http::get(port, path, &[]).await.status, 404, "{path}");
    }
    for path in [&cdp, "/extension"] {
        let (_, response) = http::upgrade(port, path, &[]).await;
        assert_eq!(response.status, 404, "{path}");
    }
    let bearer = format!("Bearer {}", relay.token());
    for path in ["/launch", "/stop", "/restart", "/command", "/open-port"] {
        let headers = [("Content-Length", "0"), ("Authorization", &bearer)];
        let response = http::request(port, "POST", path, &headers).await;
        assert_eq!(response.status, 405, "{path}");
    }
}

/// What browsers add to the requests of pages and extensions, as measured in Chromium.
fn marks_of_browsers(port: u16) -> Vec<Vec<(&'static str, String)>> {
    let mark = |name: &'static str, value: &str| vec![(name, value.to_owned())];
    vec![
        mark("Origin", "null"),
        mark("Origin", "https://example.com"),
        mark("Origin", &format!("http://127.0.0.1:{port}")),
        mark("Origin", &origin(tabwire_tests::EXTENSION_ID)),
        mark("Sec-Fetch-Site", "cross-site"),
        mark("Sec-Fetch-Site", "same-site"),
        mark("Sec-Fetch-Site", "same-origin"),
        mark("Sec-Fetch-Site", "none"),
        mark("Sec-Fetch-Dest", "image"),
        mark("Host", &format!("rebound.example:{port}")),
        mark("Host", "rebound.example"),
        mark("Host", &format!("127.0.0.1.rebound.example:{port}")),
        mark("Host", "127.0.0.1:19222"),
    ]
}

#[tokio::test]
async fn refuses_pages_and_extensions_everywhere() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let id = target_of(1);
    for mark in marks_of_browsers(port) {
        let headers: Vec<(&str, &str)> = mark.iter().map(|(k, v)| (*k, v.as_str())).collect();
        for (method, path) in [
            ("GET", "/json/list".to_owned()),
            ("GET", "/json/version".to_owned()),
            ("PUT", "/json/new?about:blank".to_owned()),
            ("GET", format!("/json/activate/{id}")),
            ("GET", format!("/json/close/{id}")),
            ("POST", format!("/json/close/{id}")),
            ("OPTIONS", "/json/new".to_owned()),
            ("GET", "/nothing".to_owned()),
        ] {
            let response = http::request(port, method, &path, &headers).await;
            assert_eq!(response.status, 403, "{method} {path} {mark:?}");
            assert!(!response.head.contains("access-control"), "{response:?}");
            assert!(response.head.contains("connection: close"), "{response:?}");
        }
        let path = format!("/devtools/page/{id}");
        let (_, response) = http::upgrade(port, &path, &headers).await;
        assert_eq!(response.status, 403, "{mark:?}");
    }
    assert_eq!(extension.call_names(), ["listTabs"]);
}

#[tokio::test]
async fn changes_nothing_for_methods_that_chrome_does_not_accept() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    for (method, path) in [
        ("GET", "/json/new?about:blank"),
        ("POST", "/json/new?about:blank"),
        ("DELETE", "/json/list"),
        ("OPTIONS", "/json/list"),
    ] {
        let headers = [("Content-Length", "0")];
        let response = http::request(port, method, path, &headers).await;
        assert_eq!(response.status, 405, "{method} {path}");
    }
    assert_eq!(extension.call_names(), ["listTabs"]);
}

#[tokio::test]
async fn accepts_what_programs_send() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let node = [("Sec-Fetch-Mode", "cors"), ("User-Agent", "node")];
    let chromedriver = [
        ("Sec-Fetch-Site", "none"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "empty"),
        ("User-Agent", "chromedriver"),
    ];
    for headers in [&[][..], &node, &chromedriver] {
        let response = http::get(port, "/json/list", headers).await;
        assert_eq!(response.status, 200, "{headers:?}");
    }
    // The WebSocket of chromedriver.
    let path = format!("/devtools/page/{}", target_of(1));
    let (_, response) = http::upgrade(port, &path, &[("Host", "127.0.0.1")]).await;
    assert_eq!(response.status, 101);
}

/// A connection that is kept alive must not outlive the port.
#[tokio::test]
async fn refuses_requests_on_connections_that_were_open_before_it_closed() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let head = http::head(port, "GET", "/json/list", &[]);
    let (mut stream, response) = http::exchange(port, &head).await;
    assert_eq!(response.status, 200);
    close_port(&relay);
    // The relay may have closed the connection, too.
    let _ = stream.write_all(head.as_bytes()).await;
    let received = http::read_to_end(&mut stream).await;
    let received = String::from_utf8_lossy(&received);
    assert!(
        received.is_empty() || received.starts_with("HTTP/1.1 403"),
        "{received}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn refuses_another_user_before_reading_anything() {
    if !is_root() {
        return;
    }
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    assert_status(&request_from(&[], port, "/json/version", &[]).await, 200);
    assert_eq!(
        request_from(AS_NOBODY, port, "/json/version", &[]).await,
        ""
    );
}

/// Unlike on the relay's own port: nothing that root's programs show proves that they mean well.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn refuses_root_if_another_user_runs_the_relay() {
    let Some(relay) = start_as_nobody().await else {
        return;
    };
    let body = r#"{"seconds":600,"port":0}"#;
    let request = format!(
        "{}{body}",
        http::head(
            relay.port,
            "POST",
            "/open-port",
            &[
                ("Authorization", &format!("Bearer {}", relay.token())),
                ("Content-Type", "application/json"),
                ("Content-Length", &body.len().to_string()),
            ],
        )
    );
    let (_, response) = http::exchange(relay.port, request).await;
    let port = response.json()["port"].as_u64().unwrap();
    let port = port.try_into().unwrap();
    let own = request_from(AS_NOBODY, port, "/json/version", &[]).await;
    // No browser is connected.
    assert_status(&own, 503);
    assert_eq!(request_from(&[], port, "/json/version", &[]).await, "");
}

/// Opens WebSockets and half-sent requests until the port takes no more.
async fn take_all_places(port: u16) -> Vec<tokio::net::TcpStream> {
    let mut taken = Vec::new();
    let page = format!("/devtools/page/{}", target_of(1));
    loop {
        let (stream, response) = http::upgrade(port, &page, &[]).await;
        taken.push(stream);
        if response.status != 101 {
            assert_eq!(response.status, 503, "{response:?}");
            break;
        }
        assert!(taken.len() < 2000, "there is no limit");
    }
    for _ in 0..500 {
        let mut stream = http::connect(port).await;
        let _ = stream.write_all(b"GET /json HTTP/1.1\r\nHost: 127").await;
        taken.push(stream);
    }
    taken
}

#[tokio::test]
async fn sockets_of_a_program_keep_neither_the_extension_nor_a_client_out() {
    let (mut relay, extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let port = open_port(&relay, &[]);
    let _taken = take_all_places(port).await;
    drop(extension);
    relay.until_extension(false).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let targets = client.ok("Target.getTargets", json!({})).await;
    assert_eq!(targets["targetInfos"][0]["targetId"], target_of(1));
    assert!(relay.is_alive().await);
}
