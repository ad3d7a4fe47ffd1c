//! What a request must look like to be admitted. Looks only at the request and at what the relay has been
//! configured to admit, so that it can be fuzzed on its own.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

/// What a relay can be asked to do.
pub const POST_PATHS: [&str; 6] = [
    "/close-port",
    "/command",
    "/launch",
    "/open-port",
    "/restart",
    "/stop",
];

/// The headers that decide who is admitted. None of them may be repeated: of two values, one reader would
/// believe the first and another the last.
const DECISIVE_HEADERS: [HeaderName; 6] = [
    header::HOST,
    header::ORIGIN,
    header::AUTHORIZATION,
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("sec-fetch-dest"),
    HeaderName::from_static("sec-fetch-user"),
];

pub type Refusal = (StatusCode, Json<serde_json::Value>);

/// What the relay's own port admits.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub port: u16,
    pub extension_ids: &'a [String],
    /// Whether `POST /command` is served.
    pub debug_http: bool,
}

pub fn refusal(status: StatusCode, error: &str) -> Refusal {
    refusal_with(status, error, serde_json::json!({}))
}

/// A refusal whose body has more fields than the error.
pub fn refusal_with(status: StatusCode, error: &str, mut fields: serde_json::Value) -> Refusal {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("error".to_owned(), error.into());
    }
    (status, Json(fields))
}

/// Guards the relay's own port.
pub fn admit(
    rules: Rules<'_>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    has_token: bool,
) -> Result<(), Refusal> {
    refuse_repeated(headers)?;
    check_host(rules.port, uri, headers)?;
    let path = uri.path().trim_end_matches('/');
    check_origin(rules.extension_ids, path, headers)?;
    check_fetch_site(path, headers)?;
    let is_post = method == Method::POST && POST_PATHS.contains(&path);
    if is_post && path == "/command" && !rules.debug_http {
        return Err(refusal(
            StatusCode::NOT_FOUND,
            "Not found. Start the relay with --debug-http to use /command.",
        ));
    }
    if !is_post && !may_have_method(path, method) {
        return Err(not_get());
    }
    let needs_token = !matches!(path, "" | "/client-slot" | "/extension");
    if needs_token && !has_token {
        return Err(no_token(
            "Connect to the URL in the file `cdp-url` in Tabwire's home (`tabwire cdp-url` prints it), or send the token as `Authorization: Bearer`.",
        ));
    }
    Ok(())
}

pub fn not_get() -> Refusal {
    refusal(
        StatusCode::METHOD_NOT_ALLOWED,
        "This method is not supported here.",
    )
}

/// Chrome accepts PUT for what changes something, and nothing else for `/json/new`, whose handler
/// refuses the rest in Chrome's words.
pub fn may_have_method(path: &str, method: &Method) -> bool {
    let changes = ["/json/new", "/json/close", "/json/activate"];
    let is_put = method == Method::PUT && changes.iter().any(|start| path.starts_with(start));
    method == Method::GET || method == Method::HEAD || is_put
}

/// Guards `tabwire mcp --http`: no web pages, and only agents with the token.
pub fn admit_agent(
    port: u16,
    uri: &Uri,
    headers: &HeaderMap,
    has_token: bool,
) -> Result<(), Refusal> {
    refuse_repeated(headers)?;
    check_host(port, uri, headers)?;
    refuse_origin(headers)?;
    check_fetch_site("", headers)?;
    if has_token {
        return Ok(());
    }
    Err(no_token(
        "Send the content of the file `auth-token` in Tabwire's home as `Authorization: Bearer`.",
    ))
}

pub fn refuse_repeated(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    match DECISIVE_HEADERS.iter().find(is_repeated) {
        None => Ok(()),
        Some(name) => Err(refusal(
            StatusCode::BAD_REQUEST,
            &format!("This request has the header {name} more than once."),
        )),
    }
}

/// Prevents DNS rebinding: a site whose name resolves to 127.0.0.1 sends its own name.
pub fn check_host(port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let allowed = |host: &str| {
        let name = host.strip_suffix(&format!(":{port}"));
        name.is_some_and(is_loopback)
    };
    let host = headers.get(header::HOST);
    let is_ours = host.is_some_and(|host| host.to_str().is_ok_and(allowed));
    let uri_is_ours = uri
        .authority()
        .is_none_or(|authority| allowed(authority.as_str()));
    if is_ours && uri_is_ours {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        &format!("The Host header must be 127.0.0.1:{port}, localhost:{port} or [::1]:{port}."),
    ))
}

pub fn is_loopback(name: &str) -> bool {
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost") || name == "[::1]"
}

/// Browsers send the origin of the page or extension. Only allowed extensions may connect, and only
/// to `/extension`.
fn check_origin(extension_ids: &[String], path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    if path != "/extension" {
        return refuse_origin(headers);
    }
    let id = headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .and_then(|origin| origin.strip_prefix("chrome-extension://"));
    let is_allowed = id.is_some_and(|id| extension_ids.iter().any(|allowed| allowed == id));
    if is_allowed {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        "Only the Tabwire extension may connect here. To allow another extension, start the relay with --extension-id.",
    ))
}

pub fn refuse_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::ORIGIN) {
        return Err(refusal(
            StatusCode::FORBIDDEN,
            "Requests with an Origin header come from web pages, which may not connect.",
        ));
    }
    Ok(())
}

fn check_fetch_site(path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        None | Some(b"none" | b"same-origin") => Ok(()),
        // An extension is always cross-site; its origin has been checked.
        Some(_) if path == "/extension" => Ok(()),
        Some(_) => Err(refusal(
            StatusCode::FORBIDDEN,
            "Requests from pages of other sites are not allowed.",
        )),
    }
}

fn no_token(advice: &str) -> Refusal {
    let error = format!("The token is missing or wrong. {advice}");
    refusal(StatusCode::UNAUTHORIZED, &error)
}

pub fn presented_token(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then(|| token.trim().to_owned())
        });
    // A token has only characters that a URL does not escape.
    let in_query = || {
        uri.query()?
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="))
            .map(str::to_owned)
    };
    bearer.or_else(in_query)
}
