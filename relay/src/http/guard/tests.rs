//! The guard on its own: which request gets which status.

use super::rules::{POST_PATHS, not_get};
use super::*;
use crate::http::peer::Owner;
use axum::Json;
use axum::http::{HeaderMap, HeaderName};

const EXTENSION: &str = "chrome-extension://abcdefghijklmnopabcdefghijklmnop";

fn status(path: &str, headers: &[(&str, &str)]) -> StatusCode {
    status_of(false, "GET", path, headers)
}

fn status_of(debug_http: bool, method: &str, path: &str, headers: &[(&str, &str)]) -> StatusCode {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            value.parse().unwrap(),
        );
    }
    let (method, uri) = (method.parse().unwrap(), path.parse().unwrap());
    let token = presented_token(&uri, &map);
    let has_token = token.is_some_and(|token| Token::for_test("secret").matches(&token));
    let rules = Rules {
        port: 19222,
        extension_ids: &["abcdefghijklmnopabcdefghijklmnop".to_owned()],
        debug_http,
    };
    rules::admit(rules, &method, &uri, &map, has_token)
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

#[test]
fn refuses_decisive_headers_that_are_repeated() {
    let accepted = [
        ("host", "127.0.0.1:19222"),
        ("origin", EXTENSION),
        ("sec-fetch-site", "none"),
        ("sec-fetch-dest", "empty"),
        ("sec-fetch-user", "?1"),
        ("authorization", "Bearer secret"),
    ];
    assert_eq!(status("/extension", &accepted), StatusCode::OK);
    for (name, value) in accepted {
        // Also with the same value twice, and with the acceptable one in either place.
        for second in [value, "cross-site"] {
            let mut last = accepted.to_vec();
            last.push((name, second));
            let mut first = accepted.to_vec();
            first.insert(0, (name, second));
            for headers in [first, last] {
                let status = status("/extension", &headers);
                assert_eq!(status, StatusCode::BAD_REQUEST, "{name}: {second}");
            }
        }
    }
}

#[test]
fn each_method_is_for_its_own_paths() {
    let status = |method: &str, path: &str| {
        let headers = [
            ("host", "127.0.0.1:19222"),
            ("authorization", "bearer  secret "),
        ];
        status_of(true, method, path, &headers)
    };
    for path in ["/", "/client-slot", "/json/list", "/cdp", "/launch"] {
        for method in ["GET", "HEAD"] {
            assert_eq!(status(method, path), StatusCode::OK, "{method} {path}");
        }
    }
    for path in ["/json/new", "/json/close/1", "/json/activate/1"] {
        assert_eq!(status("PUT", path), StatusCode::OK, "{path}");
    }
    for path in POST_PATHS {
        assert_eq!(status("POST", path), StatusCode::OK, "{path}");
    }
    for (method, path) in [
        ("PUT", "/json/list"),
        ("PUT", "/stop"),
        ("POST", "/json/new"),
        ("POST", "/cdp"),
        ("DELETE", "/json/close/1"),
        ("OPTIONS", "/launch"),
    ] {
        let refused = status(method, path);
        assert_eq!(refused, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
    }
}

#[test]
fn what_a_relay_is_asked_to_do_needs_the_token() {
    let host = ("host", "127.0.0.1:19222");
    for path in POST_PATHS {
        let refused = status_of(true, "POST", path, &[host]);
        assert_eq!(refused, StatusCode::UNAUTHORIZED, "{path}");
    }
    for path in ["/", "/client-slot"] {
        assert_eq!(status(path, &[host]), StatusCode::OK, "{path}");
    }
}

#[test]
fn commands_over_http_exist_only_if_asked_for() {
    let headers = [
        ("host", "127.0.0.1:19222"),
        ("authorization", "Bearer secret"),
    ];
    let status = |debug_http, path| status_of(debug_http, "POST", path, &headers);
    assert_eq!(status(false, "/command"), StatusCode::NOT_FOUND);
    assert_eq!(status(true, "/command"), StatusCode::OK);
    assert_eq!(status(false, "/launch"), StatusCode::OK);
}

#[test]
fn an_extension_is_always_cross_site() {
    let headers = [
        ("host", "127.0.0.1:19222"),
        ("origin", EXTENSION),
        ("sec-fetch-site", "cross-site"),
    ];
    assert_eq!(status("/extension", &headers), StatusCode::OK);
}

fn extensions_of(owner: Option<Owner>) -> Extensions {
    let mut extensions = Extensions::new();
    if let Some(owner) = owner {
        extensions.insert(Peer { owner });
    }
    extensions
}

const OWN_USER: Option<Owner> = Some(Owner::User { uid: 0, inode: 1 });

#[test]
fn a_peer_without_an_owner_reaches_only_what_needs_no_token() {
    let admits = |path: &str, owner| check_owner(&path.parse().unwrap(), &extensions_of(owner));
    // Without a peer, nobody has checked anything.
    for owner in [Some(Owner::Unknown), None] {
        // Only Linux tells owners.
        if cfg!(not(target_os = "linux")) && owner.is_some() {
            continue;
        }
        for path in ["/cdp", "/json/list", "/client-slot", "/launch", "/nothing"] {
            let refused = admits(path, owner).map_err(|refused| refused.0);
            assert_eq!(refused, Err(StatusCode::FORBIDDEN), "{path} {owner:?}");
        }
        for path in ["/", "/extension", "/extension/"] {
            assert!(admits(path, owner).is_ok(), "{path} {owner:?}");
        }
    }
    assert!(admits("/cdp", OWN_USER).is_ok());
}

fn agent_status(owner: Option<Owner>, headers: &[(&str, &str)]) -> StatusCode {
    let mut request = Request::new(axum::body::Body::empty());
    *request.extensions_mut() = extensions_of(owner);
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    admit_agent(19222, &Token::for_test("secret"), &request)
        .map_or_else(|refused| refused.0, |()| StatusCode::OK)
}

#[test]
fn an_agent_over_http_needs_the_token_and_is_no_page() {
    let host = ("host", "127.0.0.1:19222");
    let token = ("authorization", "Bearer secret");
    assert_eq!(agent_status(OWN_USER, &[host, token]), StatusCode::OK);
    assert_eq!(agent_status(None, &[host, token]), StatusCode::FORBIDDEN);
    let wrong = ("authorization", "Bearer other");
    for headers in [&[host][..], &[host, wrong]] {
        assert_eq!(agent_status(OWN_USER, headers), StatusCode::UNAUTHORIZED);
    }
    for header in [("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let refused = agent_status(OWN_USER, &[host, token, header]);
        assert_eq!(refused, StatusCode::FORBIDDEN, "{header:?}");
    }
    let rebound = [("host", "evil.com:19222"), token];
    assert_eq!(agent_status(OWN_USER, &rebound), StatusCode::FORBIDDEN);
}

#[test]
fn a_refusal_says_why_and_ends_the_connection() {
    let request = Request::new(axum::body::Body::empty());
    let (status, Json(body)) = refusal_with(
        StatusCode::CONFLICT,
        "taken",
        serde_json::json!({ "by": "x" }),
    );
    assert_eq!(body, serde_json::json!({ "by": "x", "error": "taken" }));
    let response = refuse(&request, (status, Json(body)));
    assert_eq!(response.status(), StatusCode::CONFLICT);
    assert_eq!(response.headers()[header::CONNECTION], "close");
    let (_, Json(body)) = not_get();
    assert!(body["error"].is_string());
}
