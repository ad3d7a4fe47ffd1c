//! Checks requests with arbitrary addresses and headers. Each of the three guards must admit what its
//! clients send, and nothing that a page could send or that lacks the token.
#[allow(dead_code, unused_imports)]
#[path = "../../relay/src/http/guard/program.rs"]
mod program;
#[allow(dead_code, unused_imports)]
#[path = "../../relay/src/http/guard/rules.rs"]
mod rules;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

const PORT: u16 = 19222;
const SECRET: &str = "c2VjcmV0";
const EXTENSION_ID: &str = "abcdefghijklmnopabcdefghijklmnop";
const EXTENSION: &str = "chrome-extension://abcdefghijklmnopabcdefghijklmnop";

#[derive(Debug, Clone, Copy)]
enum Guard {
    Relay { debug_http: bool },
    OpenPort,
    Agent,
}

#[derive(Debug)]
struct Request {
    guard: Guard,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

/// The input is the name of a guard, and the head of a request to it. `None`: the HTTP server does not
/// accept it either.
fn parse(data: &[u8]) -> Option<Request> {
    let mut lines = data.split(|byte| *byte == b'\n');
    let guard = match lines.next()? {
        b"open port" => Guard::OpenPort,
        b"agent" => Guard::Agent,
        name => Guard::Relay {
            debug_http: name == b"debug",
        },
    };
    let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let uri = Uri::try_from(words.next()?).ok()?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = HeaderName::from_bytes(parts.next()?).ok()?;
        let value = HeaderValue::from_bytes(parts.next()?.trim_ascii()).ok()?;
        headers.try_append(name, value).ok()?;
    }
    Some(Request {
        guard,
        method,
        uri,
        headers,
    })
}

impl Request {
    fn is_admitted(&self) -> bool {
        let (method, uri, headers) = (&self.method, &self.uri, &self.headers);
        let presented = rules::presented_token(uri, headers);
        let has_token = presented.as_deref() == Some(SECRET);
        let admitted = match self.guard {
            Guard::Relay { debug_http } => {
                let extension_ids = &[EXTENSION_ID.to_owned()];
                let rules = rules::Rules {
                    port: PORT,
                    extension_ids,
                    debug_http,
                };
                rules::admit(rules, method, uri, headers, has_token)
            }
            Guard::OpenPort => program::admit_program(PORT, method, uri, headers),
            Guard::Agent => rules::admit_agent(PORT, uri, headers, has_token),
        };
        admitted.is_ok()
    }

    fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    fn values(&self, name: &str) -> Vec<&[u8]> {
        let values = self.headers.get_all(name).iter();
        values.map(HeaderValue::as_bytes).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Whether every host in it is this port's. A page whose name was rebound to 127.0.0.1 sends its own name.
    fn is_for_this_port(&self) -> bool {
        let own = ["127.0.0.1:19222", "localhost:19222", "[::1]:19222"];
        let is_own = |host: &[u8]| {
            own.iter()
                .any(|own| own.as_bytes().eq_ignore_ascii_case(host))
        };
        let lacks_port = |host: &[u8]| {
            let own = own.map(|own| own.trim_end_matches(":19222"));
            own.iter()
                .any(|own| own.as_bytes().eq_ignore_ascii_case(host))
        };
        let may_lack_port = matches!(self.guard, Guard::OpenPort) && self.uri.authority().is_none();
        let in_uri = self
            .uri
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let [host] = self.values("host")[..] else {
            return false;
        };
        in_uri.is_none_or(is_own) && (is_own(host) || may_lack_port && lacks_port(host))
    }

    /// Whether no page can have sent it, nor an extension other than Tabwire's.
    fn is_from_a_program_or_the_extension(&self) -> bool {
        let origins = self.values("origin");
        let sites = self.values("sec-fetch-site");
        match self.guard {
            Guard::Relay { .. } if self.path() == "/extension" => origins == [EXTENSION.as_bytes()],
            Guard::Relay { .. } | Guard::Agent => {
                origins.is_empty() && matches!(sites[..], [] | [b"none" | b"same-origin"])
            }
            Guard::OpenPort => {
                origins.is_empty() && (self.is_without_fetch_headers() || self.is_from_webdriver())
            }
        }
    }

    fn is_without_fetch_headers(&self) -> bool {
        !["sec-fetch-site", "sec-fetch-dest", "sec-fetch-user"]
            .iter()
            .any(|name| self.has(name))
    }

    fn is_from_webdriver(&self) -> bool {
        let is_driver =
            matches!(self.values("user-agent")[..], [agent] if agent.ends_with(b"driver"));
        is_driver
            && self.values("sec-fetch-site") == [b"none"]
            && self.values("sec-fetch-dest") == [b"empty"]
            && !self.has("sec-fetch-user")
    }

    /// Whether the token is in one of the places that count.
    fn contains_token(&self) -> bool {
        let query = format!("&{}&", self.uri.query().unwrap_or_default());
        query.contains(&format!("&token={SECRET}&"))
            || self.values("authorization").iter().any(|value| {
                let (scheme, token) = value.split_at_checked(7).unwrap_or_default();
                scheme.eq_ignore_ascii_case(b"bearer ") && token.trim_ascii() == SECRET.as_bytes()
            })
    }

    /// Whether it certainly shows the token: a token in the address does not count beside `Authorization`,
    /// or behind another one.
    fn shows_token(&self) -> bool {
        let bearer = format!("Bearer {SECRET}");
        let query = self.uri.query().unwrap_or_default();
        self.values("authorization") == [bearer.as_bytes()]
            || !self.has("authorization") && query.starts_with(&format!("token={SECRET}&"))
            || !self.has("authorization") && query == format!("token={SECRET}")
    }

    fn needs_token(&self) -> bool {
        match self.guard {
            Guard::Relay { .. } => !["", "/client-slot", "/extension"].contains(&self.path()),
            Guard::OpenPort => false,
            Guard::Agent => true,
        }
    }

    fn has_allowed_method(&self) -> bool {
        let path = self.uri.path();
        let is_put = ["/json/new", "/json/close", "/json/activate"]
            .iter()
            .any(|start| path.starts_with(start));
        match (self.guard, self.method.as_str()) {
            (Guard::Agent, _) | (_, "GET" | "HEAD") => true,
            (_, "PUT") => is_put,
            (Guard::Relay { debug_http }, "POST") => match self.path() {
                "/command" => debug_http,
                path => {
                    ["/close-port", "/launch", "/open-port", "/restart", "/stop"].contains(&path)
                }
            },
            _ => false,
        }
    }

    fn repeats_a_header(&self) -> bool {
        let once = [
            "host",
            "origin",
            "authorization",
            "sec-fetch-site",
            "sec-fetch-dest",
            "sec-fetch-user",
        ];
        once.iter().any(|name| self.values(name).len() > 1)
    }
}

pub fn run(data: &[u8]) {
    let Some(request) = parse(data) else {
        return;
    };
    let is_acceptable = !request.repeats_a_header()
        && request.is_for_this_port()
        && request.is_from_a_program_or_the_extension()
        && request.has_allowed_method();
    if request.is_admitted() {
        assert!(is_acceptable, "{request:?}");
        assert!(
            !request.needs_token() || request.contains_token(),
            "{request:?}"
        );
    } else {
        assert!(
            !is_acceptable || request.needs_token() && !request.shows_token(),
            "{request:?}"
        );
    }
}
