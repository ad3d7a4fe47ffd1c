//! What a request on the open port must look like. No token protects that port, so web pages and extensions
//! must be recognized in every request.

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};

use super::rules::{
    Refusal, check_host, is_loopback, may_have_method, not_get, refusal, refuse_origin,
    refuse_repeated,
};

/// Browsers send these to 127.0.0.1 with each request of a page, an extension or the address bar. Only an
/// extension with `declarativeNetRequest` for this address can remove them (docs/security.md). A GET of a page has no `Origin`, and for one of an extension with access to
/// 127.0.0.1 Chrome says `Sec-Fetch-Site: none`, so the value alone does not tell. Programs do not send
/// them, apart from `Sec-Fetch-Mode`, which Node.js does, and those that are built from Chromium.
const SENT_BY_BROWSERS: [&str; 3] = ["sec-fetch-site", "sec-fetch-dest", "sec-fetch-user"];

pub fn admit_program(
    port: u16,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    refuse_repeated(headers)?;
    if !lacks_port(uri, headers) {
        check_host(port, uri, headers)?;
    }
    refuse_origin(headers)?;
    let has = |name: &&str| headers.contains_key(*name);
    if SENT_BY_BROWSERS.iter().any(has) && !is_webdriver(headers) {
        let error =
            "This port is for programs. A browser, its pages and its extensions may not use it.";
        return Err(refusal(StatusCode::FORBIDDEN, error));
    }
    if may_have_method(uri.path(), method) {
        Ok(())
    } else {
        Err(not_get())
    }
}

/// Chromedriver leaves the port out of the `Host` of its WebSockets. A browser never does, because
/// port 80 is never opened, so such a request is no page's.
fn lacks_port(uri: &Uri, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST);
    host.is_some_and(|host| host.to_str().is_ok_and(is_loopback)) && uri.authority().is_none()
}

/// Chromedriver and its relatives are built from Chromium, and their requests look like those of an
/// extension. But they call themselves `chromedriver` or the like, where Chrome lets no page
/// change the `User-Agent`, and an extension only with `declarativeNetRequest`.
fn is_webdriver(headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name)?.to_str().ok();
    let mut agents = headers.get_all(header::USER_AGENT).iter();
    let is_driver = |agent: &axum::http::HeaderValue| agent.as_bytes().ends_with(b"driver");
    value("sec-fetch-site") == Some("none")
        && value("sec-fetch-dest") == Some("empty")
        && !headers.contains_key("sec-fetch-user")
        && agents.next().is_some_and(is_driver)
        && agents.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn status(method: &str, path: &str, headers: &[(&str, &str)]) -> StatusCode {
        let mut map = HeaderMap::new();
        map.insert("host", "127.0.0.1:9222".parse().unwrap());
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            match name.as_str() {
                "host" => drop(map.insert(name, value.parse().unwrap())),
                _ => drop(map.append(name, value.parse().unwrap())),
            }
        }
        let (method, uri) = (method.parse().unwrap(), path.parse().unwrap());
        let admitted = admit_program(9222, &method, &uri, &map);
        admitted.map_or_else(|refused| refused.0, |()| StatusCode::OK)
    }

    #[test]
    fn programs_need_only_the_right_host() {
        for (method, path) in [
            ("GET", "/json/version"),
            ("PUT", "/json/new?about:blank"),
            ("GET", "/devtools/browser/1"),
        ] {
            assert_eq!(status(method, path, &[]), StatusCode::OK, "{path}");
        }
        // Node.js sends this with `fetch`.
        let node = [("sec-fetch-mode", "cors"), ("user-agent", "node")];
        assert_eq!(status("GET", "/json/list", &node), StatusCode::OK);
        // Chromedriver sends one without a port.
        for host in ["localhost:9222", "127.0.0.1", "localhost"] {
            let host = [("host", host)];
            assert_eq!(status("GET", "/json/list", &host), StatusCode::OK);
        }
    }

    #[test]
    fn webdriver_is_told_apart_from_an_extension_by_its_name() {
        let status = |site: &str, dest: &str, agent: &str| {
            let headers = [
                ("sec-fetch-site", site),
                ("sec-fetch-mode", "no-cors"),
                ("sec-fetch-dest", dest),
                ("user-agent", agent),
            ];
            status("GET", "/json/version", &headers)
        };
        for agent in ["chromedriver", "msedgedriver"] {
            assert_eq!(status("none", "empty", agent), StatusCode::OK);
            for (site, dest) in [("cross-site", "empty"), ("none", "document"), ("", "")] {
                assert_eq!(status(site, dest, agent), StatusCode::FORBIDDEN);
            }
        }
        for agent in ["Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0", "", "x"] {
            assert_eq!(status("none", "empty", agent), StatusCode::FORBIDDEN);
        }
    }

    #[test]
    fn browsers_are_refused_however_trusted_their_request_looks() {
        for header in [
            ("origin", "null"),
            ("origin", "http://127.0.0.1:9222"),
            (
                "origin",
                "chrome-extension://jdnijfjfenoiidgbdaeakppincocjdkn",
            ),
            ("sec-fetch-site", "cross-site"),
            // A page that another program once served on this port, and its service worker.
            ("sec-fetch-site", "same-origin"),
            // The address bar, and extensions with access to 127.0.0.1.
            ("sec-fetch-site", "none"),
            ("sec-fetch-dest", "image"),
            ("sec-fetch-user", "?1"),
            ("host", "rebound.example:9222"),
            ("host", "rebound.example"),
            ("host", "127.0.0.1:19222"),
            ("host", "127.0.0.1:"),
            ("host", ""),
        ] {
            for path in ["/json/list", "/json/close/1", "/devtools/page/1", "/other"] {
                let refused = status("GET", path, &[header]);
                assert_eq!(refused, StatusCode::FORBIDDEN, "{path} {header:?}");
            }
        }
    }

    #[test]
    fn webdriver_headers_must_not_repeat() {
        let webdriver = [
            ("sec-fetch-site", "none"),
            ("sec-fetch-dest", "empty"),
            ("user-agent", "chromedriver"),
        ];
        for (again, refused) in webdriver.iter().zip([400, 400, 403]) {
            let mut headers = webdriver.to_vec();
            headers.push(*again);
            let status = status("GET", "/json/version", &headers);
            assert_eq!(status.as_u16(), refused, "{again:?}");
        }
    }

    #[test]
    fn only_what_changes_something_can_be_put() {
        for (method, path) in [
            ("POST", "/json/new"),
            ("PUT", "/json/list"),
            ("OPTIONS", "/json/new"),
            ("POST", "/launch"),
        ] {
            let refused = status(method, path, &[]);
            assert_eq!(refused, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        }
    }
}
