//! Decides which requests are admitted, in front of every route and every upgrade. It looks only at
//! the request, its peer, the token and the configuration.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tabwire_home::Token;

use crate::app::App;
use crate::config::Config;
use crate::http::entrance::Entrance;
use crate::http::peer::Peer;

pub mod open_port;

/// What a relay can be asked to do.
const POST_PATHS: [&str; 6] = [
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

/// What admitted a request. Requests that needed nothing do not have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The token. Counts the tokens this relay has had.
    Token { generation: u64 },
    /// The open port, by the id of its opening.
    OpenPort(u64),
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

pub async fn check(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let token = presented_token(request.uri(), request.headers());
    let token = token.and_then(|token| app.secrets.check_token(&token));
    let (uri, headers) = (request.uri(), request.headers());
    let admitted = check_owner(uri, request.extensions())
        .and_then(|()| admit(&app.config, request.method(), uri, headers, token.is_some()));
    match admitted {
        Ok(()) => {
            if let Some(generation) = token {
                request
                    .extensions_mut()
                    .insert(Admission::Token { generation });
            }
            let entrance = Entrance::main(app.config.port);
            request.extensions_mut().insert(entrance);
            next.run(request).await
        }
        Err(refused) => refuse(&request, refused),
    }
}

fn refuse(request: &Request, refused: Refusal) -> Response {
    tracing::debug!(path = request.uri().path(), status = %refused.0, "request refused");
    // Close the connection, so that it does not take the place of another.
    ([(header::CONNECTION, "close")], refused).into_response()
}

/// The extension authenticates itself after the upgrade, and `/` contains nothing private. For
/// everything else the owner of the connection must be known.
fn check_owner(uri: &Uri, extensions: &Extensions) -> Result<(), Refusal> {
    match uri.path().trim_end_matches('/') {
        "" | "/extension" => Ok(()),
        _ => refuse_unknown_owner(extensions),
    }
}

/// Refuses the peers that the listener serves only in WSL.
fn refuse_unknown_owner(extensions: &Extensions) -> Result<(), Refusal> {
    let peer = extensions.get::<Peer>();
    if peer.is_some_and(|peer| !peer.is_restricted()) {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        "The user at the other end of this connection is unknown. With mirrored networking in WSL, Windows programs cannot be identified, so only the Tabwire extension may connect from there. Run this client inside WSL.",
    ))
}

fn admit(
    config: &Config,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    has_token: bool,
) -> Result<(), Refusal> {
    refuse_repeated(headers)?;
    check_host(config.port, uri, headers)?;
    let path = uri.path().trim_end_matches('/');
    check_origin(config, path, headers)?;
    check_fetch_site(path, headers)?;
    let is_post = method == Method::POST && POST_PATHS.contains(&path);
    if is_post && path == "/command" && !config.debug_http {
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

fn not_get() -> Refusal {
    refusal(
        StatusCode::METHOD_NOT_ALLOWED,
        "This method is not supported here.",
    )
}

/// Chrome accepts PUT for what changes something, and nothing else for `/json/new`, whose handler
/// refuses the rest in Chrome's words.
fn may_have_method(path: &str, method: &Method) -> bool {
    let changes = ["/json/new", "/json/close", "/json/activate"];
    let is_put = method == Method::PUT && changes.iter().any(|start| path.starts_with(start));
    method == Method::GET || method == Method::HEAD || is_put
}

/// Guards `tabwire mcp --http`: no web pages, and only agents with the token.
pub fn admit_agent(port: u16, token: &Token, request: &Request) -> Result<(), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    refuse_unknown_owner(request.extensions())?;
    refuse_repeated(headers)?;
    check_host(port, uri, headers)?;
    refuse_origin(headers)?;
    check_fetch_site("", headers)?;
    if presented_token(uri, headers).is_some_and(|presented| token.matches(&presented)) {
        return Ok(());
    }
    Err(no_token(
        "Send the content of the file `auth-token` in Tabwire's home as `Authorization: Bearer`.",
    ))
}

fn refuse_repeated(headers: &HeaderMap) -> Result<(), Refusal> {
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
fn check_host(port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
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

fn is_loopback(name: &str) -> bool {
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost") || name == "[::1]"
}

/// Browsers send the origin of the page or extension. Only allowed extensions may connect, and only
/// to `/extension`.
fn check_origin(config: &Config, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    if path != "/extension" {
        return refuse_origin(headers);
    }
    let id = headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .and_then(|origin| origin.strip_prefix("chrome-extension://"));
    let is_allowed = id.is_some_and(|id| config.extension_ids.iter().any(|allowed| allowed == id));
    if is_allowed {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        "Only the Tabwire extension may connect here. To allow another extension, start the relay with --extension-id.",
    ))
}

fn refuse_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::ORIGIN) {
        return Err(refusal(
            StatusCode::FORBIDDEN,
            "Requests with an Origin header come from web pages, which may not connect.",
        ));
    }
    Ok(())
}

fn check_fetch_site(path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers
        .get("sec-fetch-site")
        .map(axum::http::HeaderValue::as_bytes);
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

fn presented_token(uri: &Uri, headers: &HeaderMap) -> Option<String> {
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

#[cfg(test)]
mod tests;
