//! The guard on its own: which request gets which status.

use super::*;
use crate::config::{BrowserMode, ClientMode};

const EXTENSION: &str = "chrome-extension://abcdefghijklmnopabcdefghijklmnop";

fn status(path: &str, headers: &[(&str, &str)]) -> StatusCode {
    let config = Config {
        port: 19222,
        client_mode: ClientMode::SingleActive,
        browser_mode: BrowserMode::One,
        allow_unpaired: false,
        debug_http: false,
        launch: None,
        extension_ids: vec!["abcdefghijklmnopabcdefghijklmnop".to_owned()],
        core: tabwire_core::Config::new(0),
        max_message: 0,
        outbox_limit: 0,
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            value.parse().unwrap(),
        );
    }
    let uri = path.parse().unwrap();
    let token = presented_token(&uri, &map);
    let has_token = token.is_some_and(|token| Token::for_test("secret").matches(&token));
    admit(&config, &Method::GET, &uri, &map, has_token)
        .map_or_else(|refused| refused.0, |()| StatusCode::OK)
}

#[test]
fn accepts_only_its_own_host_names() {
    for host in [
        "127.0.0.1:19222",
        "localhost:19222",
        "LOCALHOST:19222",
        "[::1]:19222",
    ] {
        assert_eq!(status("/", &[("host", host)]), StatusCode::OK, "{host}");
    }
    let wrong = [
        "",
        "127.0.0.1",
        "127.0.0.1:1922",
        "127.0.0.1:192222",
        "evil.com:19222",
        "127.0.0.1.evil.com:19222",
        "x127.0.0.1:19222",
        "0.0.0.0:19222",
        "127.0.0.1:19222:19222",
        "127.0.0.2:19222",
    ];
    for host in wrong {
        assert_eq!(
            status("/", &[("host", host)]),
            StatusCode::FORBIDDEN,
            "{host}"
        );
    }
    assert_eq!(status("/", &[]), StatusCode::FORBIDDEN);
    assert_eq!(
        status("/", &[("host", "127.0.0.1:19222"), ("host", "evil.com")]),
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        status("http://evil.com/", &[("host", "127.0.0.1:19222")]),
        StatusCode::FORBIDDEN
    );
}

#[test]
fn checks_the_host_first() {
    for path in [
        "/",
        "/client-slot",
        "/json/version?token=secret",
        "/cdp?token=secret",
        "/extension",
        "/nothing",
    ] {
        assert_eq!(
            status(path, &[("host", "evil.com:19222")]),
            StatusCode::FORBIDDEN,
            "{path}"
        );
    }
}

#[test]
fn client_needs_the_token_and_no_origin() {
    let host = ("host", "127.0.0.1:19222");
    assert_eq!(status("/cdp?token=secret", &[host]), StatusCode::OK);
    assert_eq!(status("/cdp?a=b&token=secret", &[host]), StatusCode::OK);
    assert_eq!(
        status("/cdp", &[host, ("authorization", "Bearer secret")]),
        StatusCode::OK
    );
    for path in [
        "/cdp",
        "/cdp?token=",
        "/cdp?token=Secret",
        "/cdp?token=secretx",
        "/cdp?xtoken=secret",
        "/json",
        "/json/list",
        "/json/version",
        "/json/version/",
        "/nothing",
    ] {
        assert_eq!(status(path, &[host]), StatusCode::UNAUTHORIZED, "{path}");
    }
    for origin in [
        "null",
        "http://127.0.0.1:19222",
        "https://evil.com",
        EXTENSION,
    ] {
        assert_eq!(
            status("/cdp?token=secret", &[host, ("origin", origin)]),
            StatusCode::FORBIDDEN,
            "{origin}"
        );
        assert_eq!(
            status("/json/version?token=secret", &[host, ("origin", origin)]),
            StatusCode::FORBIDDEN,
            "{origin}"
        );
    }
}

#[test]
fn accepts_only_allowed_extensions() {
    let host = ("host", "127.0.0.1:19222");
    assert_eq!(
        status("/extension", &[host, ("origin", EXTENSION)]),
        StatusCode::OK
    );
    for origin in [
        "",
        "null",
        "chrome-extension://",
        "chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba",
        "moz-extension://abcdefghijklmnopabcdefghijklmnop",
        "https://evil.com",
    ] {
        assert_eq!(
            status("/extension", &[host, ("origin", origin)]),
            StatusCode::FORBIDDEN,
            "{origin}"
        );
    }
    assert_eq!(status("/extension", &[host]), StatusCode::FORBIDDEN);
    assert_eq!(
        status(
            "/extension",
            &[host, ("origin", EXTENSION), ("origin", "https://evil.com")]
        ),
        StatusCode::FORBIDDEN
    );
}

#[test]
fn refuses_status_requests_from_other_sites() {
    let host = ("host", "127.0.0.1:19222");
    for site in ["cross-site", "same-site", "nonsense"] {
        assert_eq!(
            status("/", &[host, ("sec-fetch-site", site)]),
            StatusCode::FORBIDDEN,
            "{site}"
        );
    }
    assert_eq!(
        status("/", &[host, ("sec-fetch-site", "none")]),
        StatusCode::OK
    );
}
