//! Access control: which hosts, origins, tokens and HTTP methods the relay accepts.

use serde_json::json;
use tabwire_tests::{EXTENSION_ID, Relay, ScriptedExtension, http, tab, target_of};

use crate::setup::start_relay;

const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";

fn extension_origin() -> String {
    format!("chrome-extension://{EXTENSION_ID}")
}

/// The status of a WebSocket request.
async fn upgrade_status(port: u16, path: &str, headers: &[(&str, &str)]) -> u16 {
    http::upgrade(port, path, headers).await.1.status
}

#[tokio::test]
async fn accepts_only_its_own_extension() {
    let relay = Relay::start(&[]).await;
    let own = extension_origin();
    let others = [
        "null".to_owned(),
        "https://example.com".to_owned(),
        "chrome-extension://".to_owned(),
        format!("chrome-extension://{OTHER_ID}"),
        format!("moz-extension://{EXTENSION_ID}"),
        format!("chrome-extension://{EXTENSION_ID}/"),
        format!("chrome-extension://{}", EXTENSION_ID.to_uppercase()),
        format!("chrome-extension://{EXTENSION_ID}x"),
        format!("http://127.0.0.1:{}", relay.port),
    ];
    for origin in &others {
        let (_, response) = http::upgrade(relay.port, "/extension", &[("Origin", origin)]).await;
        assert_eq!(response.status, 403, "{origin}");
        let error = &response.json()["error"];
        assert!(
            error.as_str().unwrap().contains("--extension-id"),
            "{error}"
        );
    }
    let two_origins = [("Origin", own.as_str()), ("Origin", "https://example.com")];
    for (headers, status) in [
        (&[][..], 403),
        (&two_origins, 400),
        (&[("Origin", own.as_str())], 101),
    ] {
        assert_eq!(
            upgrade_status(relay.port, "/extension", headers).await,
            status,
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn accepts_an_extension_id_from_the_command_line_as_well() {
    let relay = Relay::start(&["--extension-id", OTHER_ID]).await;
    for id in [OTHER_ID, EXTENSION_ID] {
        let installation = relay.installation();
        let extension = ScriptedExtension::open_as(&relay, &installation, id, &[tab(1)]).await;
        relay.until_extension(true).await;
        extension.drop_connection().await;
        relay.until_extension(false).await;
    }
}

#[tokio::test]
async fn rejects_clients_without_the_token() {
    let relay = Relay::start(&[]).await;
    let token = relay.token();
    for path in [
        "/cdp".to_owned(),
        "/cdp?".to_owned(),
        "/cdp?token".to_owned(),
        "/cdp?token=".to_owned(),
        "/cdp?token=wrong".to_owned(),
        format!("/cdp?token={token}x"),
        format!("/cdp?token={}", &token[1..]),
        format!("/cdp?token={}", token.to_lowercase()),
        format!("/cdp?xtoken={token}"),
    ] {
        let (_, response) = http::upgrade(relay.port, &path, &[]).await;
        assert_eq!(response.status, 401, "{path}");
        let error = response.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains("cdp-url") && !error.contains(&token),
            "{error}"
        );
    }
    for authorization in ["Bearer wrong", &format!("Basic {token}")] {
        let headers = [("Authorization", authorization)];
        assert_eq!(upgrade_status(relay.port, "/cdp", &headers).await, 401);
    }
    assert_eq!(relay.get("/").await["clients"], 0);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(upgrade_status(relay.port, "/cdp", &headers).await, 101);
}

#[tokio::test]
async fn rejects_clients_with_any_origin_even_with_the_token() {
    let relay = Relay::start(&[]).await;
    let path = relay.cdp_path();
    let own = format!("http://127.0.0.1:{}", relay.port);
    for origin in ["null", "", "https://example.com", &own, &extension_origin()] {
        let headers = [("Origin", origin)];
        assert_eq!(
            upgrade_status(relay.port, &path, &headers).await,
            403,
            "{origin}"
        );
    }
    assert_eq!(relay.get("/").await["clients"], 0);
}

#[tokio::test]
async fn rejects_other_hosts_on_every_route_and_upgrade() {
    let relay = Relay::start(&[]).await;
    let (port, cdp, origin) = (relay.port, relay.cdp_path(), extension_origin());
    let version = format!("/json/version?token={}", relay.token());
    for host in [
        &format!("example.com:{port}"),
        "127.0.0.1",
        &format!("127.0.0.1.example.com:{port}"),
        &format!("0.0.0.0:{port}"),
        "localhost:1",
    ] {
        let header = ("Host", host);
        for path in [
            "/",
            "/client-slot",
            "/json",
            "/json/list",
            &version,
            "/nothing",
            "//",
        ] {
            let response = http::get(port, path, &[header]).await;
            assert_eq!(response.status, 403, "{host} {path}");
        }
        assert_eq!(upgrade_status(port, &cdp, &[header]).await, 403, "{host}");
        let headers = [header, ("Origin", &origin)];
        assert_eq!(
            upgrade_status(port, "/extension", &headers).await,
            403,
            "{host}"
        );
    }
}

#[tokio::test]
async fn requires_exactly_one_own_host() {
    let relay = Relay::start(&[]).await;
    let port = relay.port;
    for request in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        &format!("GET http://example.com/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
    ] {
        let (_, response) = http::exchange(port, request).await;
        assert_eq!(response.status, 403, "{request}");
    }
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ] {
        let response = http::get(port, "/", &[("Host", &host)]).await;
        assert_eq!(response.status, 200, "{host}");
    }
}

#[tokio::test]
async fn refuses_repeated_headers_on_every_route_and_upgrade() {
    let relay = Relay::start(&[]).await;
    let (port, cdp, origin) = (relay.port, relay.cdp_path(), extension_origin());
    let (host, bearer) = (
        format!("127.0.0.1:{port}"),
        format!("Bearer {}", relay.token()),
    );
    for repeated in [
        [("Host", host.as_str()), ("Host", host.as_str())],
        [("Host", &host), ("Host", "example.com")],
        [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")],
        [
            ("Authorization", &bearer),
            ("Authorization", "Bearer wrong"),
        ],
        [("Origin", &origin), ("Origin", "https://example.com")],
    ] {
        for path in ["/", "/client-slot", "/json/list", "/nothing"] {
            let response = http::get(port, path, &repeated).await;
            assert_eq!(response.status, 400, "{path} {repeated:?}");
            let error = response.json()["error"].as_str().unwrap().to_owned();
            assert!(error.contains(&repeated[0].0.to_lowercase()), "{error}");
        }
        for path in [&cdp, "/extension"] {
            let status = upgrade_status(port, path, &repeated).await;
            assert_eq!(status, 400, "{path} {repeated:?}");
        }
    }
}

#[tokio::test]
async fn no_response_is_readable_by_another_site() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let (port, token) = (relay.port, relay.token());
    let page = ("Origin", "https://example.com");
    let cross_site = ("Sec-Fetch-Site", "cross-site");
    let preflight = [page, ("Access-Control-Request-Method", "GET")];
    for path in [
        "/",
        "/client-slot",
        "/json",
        "/json/version",
        "/json/list",
        "/cdp",
        "/extension",
        "/nothing",
    ] {
        let with_token = format!("{path}?token={token}");
        let responses = [
            http::get(port, path, &[]).await,
            http::get(port, &with_token, &[]).await,
            http::get(port, &with_token, &[page]).await,
            http::get(port, &with_token, &[cross_site]).await,
            http::request(port, "OPTIONS", &with_token, &preflight).await,
        ];
        assert!(
            responses
                .iter()
                .all(|response| !response.head.contains("access-control")),
            "{path}: {responses:?}"
        );
        let statuses = responses.map(|response| response.status);
        assert_eq!(statuses[2..], [403; 3], "{path}");
    }
}

#[tokio::test]
async fn discovery_needs_the_token() {
    let relay = Relay::start(&[]).await;
    for path in [
        "/json",
        "/json/",
        "/json/list",
        "/json/list/",
        "/json/version",
        "/json/version/",
    ] {
        for path in [path, &format!("{path}?token=wrong")] {
            let response = http::get(relay.port, path, &[]).await;
            assert_eq!(response.status, 401, "{path}");
        }
    }
    let version = format!("/json/version?token={}", relay.token());
    let response = http::get(relay.port, &version, &[]).await;
    assert_eq!(response.status, 503, "no browser is connected");
    assert!(response.body.contains("extension"), "{response:?}");
}

#[tokio::test]
async fn discovery_describes_the_browser_and_its_pages() {
    let (relay, _extension) = start_relay(&[], &[1, 2]).await;
    let (port, token) = (relay.port, relay.token());
    let bearer = format!("Bearer {token}");
    let authorized = [("Authorization", bearer.as_str())];
    let own = format!("ws://127.0.0.1:{port}/devtools");
    for response in [
        http::get(port, &format!("/json/version?token={token}"), &[]).await,
        http::get(port, "/json/version/", &authorized).await,
    ] {
        let mut version = response.json();
        let url = version["webSocketDebuggerUrl"].take();
        let url = url.as_str().unwrap();
        assert!(url.starts_with(&format!("{own}/browser/")), "{url}");
        assert!(url.ends_with(&format!("?token={token}")), "{url}");
        let expected = json!({
            "Browser": "Chrome/156.0.8078.79",
            "Protocol-Version": "1.3",
            "User-Agent": "Mozilla/5.0 (scripted)",
            "V8-Version": "15.6",
            "WebKit-Version": "537.36 (@)",
            "webSocketDebuggerUrl": null,
        });
        assert_eq!(version, expected);
    }
    for path in ["/json", "/json/list/"] {
        let list = http::get(port, path, &authorized).await.json();
        assert_eq!(list.as_array().unwrap().len(), 2);
        assert_eq!(list[0]["id"], target_of(1));
        assert_eq!(list[0]["type"], "page");
        assert_eq!(list[0]["url"], "https://example.com/1");
        assert_eq!(list[0]["title"], "Tab 1");
        let url = format!("{own}/page/{}?token={token}", target_of(1));
        assert_eq!(list[0]["webSocketDebuggerUrl"], url);
    }
}

#[tokio::test]
async fn serves_only_get() {
    let mut relay = Relay::start(&[]).await;
    let token = relay.token();
    for path in ["/", "/client-slot", "/json/version", "/cdp", "/nothing"] {
        let path = format!("{path}?token={token}");
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let headers = [("Content-Length", "0")];
            let response = http::request(relay.port, method, &path, &headers).await;
            assert_eq!(response.status, 405, "{method} {path}");
        }
    }
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn methods_may_be_in_lower_case_as_in_chrome() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let path = format!("/json/list?token={}", relay.token());
    for method in ["get", "Get"] {
        let response = http::request(relay.port, method, &path, &[]).await;
        assert_eq!(response.status, 200, "{method}");
    }
    for method in ["post", "delete", "brew"] {
        let response = http::request(relay.port, method, &path, &[]).await;
        assert_eq!(response.status, 405, "{method}");
    }
}

#[tokio::test]
async fn responds_with_426_to_plain_requests_for_a_websocket() {
    let relay = Relay::start(&[]).await;
    let response = http::get(relay.port, &relay.cdp_path(), &[]).await;
    assert_eq!(response.status, 426);
    assert!(response.body.contains("WebSocket"), "{response:?}");
    assert_eq!(relay.get("/client-slot").await["busy"], false);
}

/// A page could otherwise hold all places with connections that it keeps open.
#[tokio::test]
async fn refused_requests_close_their_connection() {
    let relay = Relay::start(&[]).await;
    let page = [("Origin", "https://example.com")];
    for (path, headers, status) in [("/", &page[..], 403), ("/json", &[], 401)] {
        let head = http::head(relay.port, "GET", path, headers);
        let (mut stream, response) = http::exchange(relay.port, head).await;
        assert_eq!(response.status, status);
        assert!(response.head.contains("connection: close"), "{response:?}");
        assert_eq!(http::read_to_end(&mut stream).await, b"");
    }
}
