//! Who is let in: hosts, origins, tokens, methods.

use serde_json::json;
use tabwire_tests::{Client, EXTENSION_ID, Relay, ScriptedExtension, http, tab, target_of};

const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";

#[tokio::test]
async fn only_a_known_extension_is_let_in() {
    let relay = Relay::start(&[]).await;
    let strangers = [
        "null",
        "https://example.com",
        "chrome-extension://",
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    ];
    let near_misses = [
        format!("moz-extension://{EXTENSION_ID}"),
        format!("chrome-extension://{EXTENSION_ID}/"),
        format!("chrome-extension://{}", EXTENSION_ID.to_uppercase()),
        format!("chrome-extension://{EXTENSION_ID}x"),
        format!("http://127.0.0.1:{}", relay.port),
    ];
    for origin in strangers
        .into_iter()
        .chain(near_misses.iter().map(String::as_str))
    {
        let (_, answer) = http::upgrade(relay.port, "/extension", &[("Origin", origin)]).await;
        assert_eq!(answer.status, 403, "{origin}");
        assert!(
            answer.json()["error"]
                .as_str()
                .unwrap()
                .contains("--extension-id"),
            "{answer:?}"
        );
    }
    let (_, answer) = http::upgrade(relay.port, "/extension", &[]).await;
    assert_eq!(answer.status, 403, "no origin");
    let known = format!("chrome-extension://{EXTENSION_ID}");
    let (_, answer) = http::upgrade(
        relay.port,
        "/extension",
        &[("Origin", &known), ("Origin", "https://example.com")],
    )
    .await;
    assert_eq!(answer.status, 403, "two origins");
    let (_, answer) = http::upgrade(relay.port, "/extension", &[("Origin", &known)]).await;
    assert_eq!(answer.status, 101);
}

#[tokio::test]
async fn an_extension_named_on_the_command_line_is_let_in_beside_the_known_one() {
    let relay = Relay::start(&["--extension-id", OTHER_ID]).await;
    for id in [OTHER_ID, EXTENSION_ID] {
        let extension = ScriptedExtension::open(&relay, id, &[tab(1)]).await;
        extension.greet().await;
        tabwire_tests::until("the extension is known", async || {
            (relay.get("/").await["extension"] == true).then_some(())
        })
        .await;
        extension.vanish().await;
        tabwire_tests::until("the slot is free", async || {
            (relay.get("/").await["extension"] == false).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_without_the_right_token_is_refused() {
    let relay = Relay::start(&[]).await;
    let token = relay.token();
    let (longer, shorter) = (
        format!("/cdp?token={token}x"),
        format!("/cdp?token={}", &token[1..]),
    );
    let (swapped, other_name) = (
        format!("/cdp?token={}", token.to_lowercase()),
        format!("/cdp?xtoken={token}"),
    );
    for path in [
        "/cdp",
        "/cdp?",
        "/cdp?token",
        "/cdp?token=",
        "/cdp?token=wrong",
        &longer,
        &shorter,
        &swapped,
        &other_name,
    ] {
        let (_, answer) = http::upgrade(relay.port, path, &[]).await;
        assert_eq!(answer.status, 401, "{path}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains("cdp-url") && !error.contains(&token),
            "{error}"
        );
    }
    let (_, answer) = http::upgrade(relay.port, "/cdp", &[("Authorization", "Bearer wrong")]).await;
    assert_eq!(answer.status, 401);
    let (_, answer) = http::upgrade(
        relay.port,
        "/cdp",
        &[("Authorization", &format!("Basic {token}"))],
    )
    .await;
    assert_eq!(answer.status, 401);
    assert_eq!(relay.get("/").await["clients"], 0);
    let (_stream, answer) = http::upgrade(
        relay.port,
        "/cdp",
        &[("Authorization", &format!("Bearer {token}"))],
    )
    .await;
    assert_eq!(answer.status, 101);
}

/// Java and .NET make such sockets for any address.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_with_a_socket_of_ipv6_is_let_in_and_so_is_one_that_has_said_all_it_has_to_say() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let relay = Relay::start(&[]).await;
    let address = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    let mut stream = tokio::net::TcpStream::connect((address, relay.port))
        .await
        .unwrap();
    stream
        .write_all(http::head(relay.port, "GET", "/", &[("Connection", "close")]).as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_client_with_any_origin_is_refused_even_with_the_token() {
    let relay = Relay::start(&[]).await;
    let path = format!("/cdp?token={}", relay.token());
    let extension = format!("chrome-extension://{EXTENSION_ID}");
    let own = format!("http://127.0.0.1:{}", relay.port);
    for origin in ["null", "", "https://example.com", &own, &extension] {
        let (_, answer) = http::upgrade(relay.port, &path, &[("Origin", origin)]).await;
        assert_eq!(answer.status, 403, "{origin}");
    }
    assert_eq!(relay.get("/").await["clients"], 0);
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route_and_upgrade() {
    let relay = Relay::start(&[]).await;
    let (port, token) = (relay.port, relay.token());
    let extension = format!("chrome-extension://{EXTENSION_ID}");
    let (version, cdp) = (
        format!("/json/version?token={token}"),
        format!("/cdp?token={token}"),
    );
    let wrong = [
        format!("example.com:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1.example.com:{port}"),
        format!("0.0.0.0:{port}"),
        "localhost:1".to_owned(),
    ];
    for host in &wrong {
        for path in [
            "/",
            "/client-slot",
            "/json",
            "/json/list",
            &version,
            "/nothing",
            "//",
        ] {
            assert_eq!(
                http::get(port, path, &[("Host", host)]).await.status,
                403,
                "{host} {path}"
            );
        }
        assert_eq!(
            http::upgrade(port, &cdp, &[("Host", host)]).await.1.status,
            403,
            "{host}"
        );
        assert_eq!(
            http::upgrade(
                port,
                "/extension",
                &[("Host", host), ("Origin", &extension)]
            )
            .await
            .1
            .status,
            403,
            "{host}"
        );
    }
    let (_, without) = http::exchange(port, "GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(without.status, 403);
    let (_, old) = http::exchange(port, "GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.status, 403);
    let (_, twice) = http::exchange(
        port,
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: example.com\r\n\r\n"),
    )
    .await;
    assert_eq!(twice.status, 403);
    let (_, absolute) = http::exchange(
        port,
        format!("GET http://example.com/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
    )
    .await;
    assert_eq!(absolute.status, 403);
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(
            http::get(port, "/", &[("Host", &host)]).await.status,
            200,
            "{host}"
        );
    }
}

#[tokio::test]
async fn no_answer_lets_a_page_of_another_site_read_it() {
    let relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let token = relay.token();
    let page = ("Origin", "https://example.com");
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
        let answers = [
            http::get(relay.port, path, &[]).await,
            http::get(relay.port, &with_token, &[]).await,
            http::get(relay.port, &with_token, &[page]).await,
            http::get(relay.port, &with_token, &[("Sec-Fetch-Site", "cross-site")]).await,
            http::request(
                relay.port,
                "OPTIONS",
                &with_token,
                &[page, ("Access-Control-Request-Method", "GET")],
            )
            .await,
        ];
        assert!(
            answers
                .iter()
                .all(|answer| !answer.head.contains("access-control")),
            "{path}: {answers:?}"
        );
        assert_eq!(answers.map(|answer| answer.status)[2..], [403; 3], "{path}");
    }
}

#[tokio::test]
async fn the_browser_is_described_only_to_who_has_the_token() {
    let relay = Relay::start(&[]).await;
    let (token, bearer) = (relay.token(), format!("Bearer {}", relay.token()));
    for path in [
        "/json",
        "/json/",
        "/json/list",
        "/json/list/",
        "/json/version",
        "/json/version/",
    ] {
        for answer in [
            http::get(relay.port, path, &[]).await,
            http::get(relay.port, &format!("{path}?token=wrong"), &[]).await,
        ] {
            assert_eq!(answer.status, 401, "{path}");
        }
    }
    let version = format!("/json/version?token={token}");
    let without_browser = http::get(relay.port, &version, &[]).await;
    assert_eq!(without_browser.status, 503);
    assert!(
        without_browser.body.contains("extension"),
        "{without_browser:?}"
    );

    let _extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2)]).await;
    let url = format!("ws://127.0.0.1:{}/cdp?token={token}", relay.port);
    for answer in [
        http::get(relay.port, &version, &[]).await,
        http::get(relay.port, "/json/version/", &[("Authorization", &bearer)]).await,
    ] {
        let expected = json!({
            "Browser": "Chrome/156.0.8078.79", "Protocol-Version": "1.3", "User-Agent": "Mozilla/5.0 (scripted)", "webSocketDebuggerUrl": url,
        });
        assert_eq!(answer.json(), expected);
    }
    for path in ["/json", "/json/list/"] {
        let list = http::get(relay.port, path, &[("Authorization", &bearer)])
            .await
            .json();
        assert_eq!(list.as_array().unwrap().len(), 2);
        assert_eq!(list[0]["id"], target_of(1));
        assert_eq!(list[0]["type"], "page");
        assert_eq!(list[0]["url"], "https://example.com/1");
        assert_eq!(list[0]["title"], "Tab 1");
        assert_eq!(list[0]["webSocketDebuggerUrl"], url);
    }
    // What is found that way is a way in.
    let mut client = Client::connect_with(relay.port, &token).await;
    client.ok("Browser.getVersion", json!({})).await;
}

#[tokio::test]
async fn only_get_is_served() {
    let mut relay = Relay::start(&[]).await;
    let token = relay.token();
    for path in ["/", "/client-slot", "/json/version", "/cdp", "/nothing"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let answer = http::request(
                relay.port,
                method,
                &format!("{path}?token={token}"),
                &[("Content-Length", "0")],
            )
            .await;
            assert_eq!(answer.status, 405, "{method} {path}");
        }
    }
    assert!(relay.lives().await);
}

#[tokio::test]
async fn a_websocket_address_asked_for_as_a_page_says_what_it_is() {
    let relay = Relay::start(&[]).await;
    let answer = http::get(relay.port, &format!("/cdp?token={}", relay.token()), &[]).await;
    assert_eq!(answer.status, 426);
    assert!(answer.body.contains("WebSocket"), "{answer:?}");
    assert_eq!(relay.get("/client-slot").await["busy"], false);
}
