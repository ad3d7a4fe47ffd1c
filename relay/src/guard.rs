//! The gate: which requests get any further. It stands before every route and every upgrade, and looks at nothing but
//! the request itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::config::Config;
use crate::server::App;
use crate::token::Token;

pub type Refusal = (StatusCode, Json<serde_json::Value>);

pub fn refusal(status: StatusCode, error: &str) -> Refusal {
    (status, Json(serde_json::json!({ "error": error })))
}

pub async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match admit(
        &app.config,
        request.method(),
        request.uri(),
        request.headers(),
    ) {
        Ok(()) => next.run(request).await,
        Err(refused) => {
            tracing::debug!(path = request.uri().path(), status = %refused.0, "refused");
            refused.into_response()
        }
    }
}

fn admit(config: &Config, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    check_host(config.port, uri, headers)?;
    let path = uri.path().trim_end_matches('/');
    check_origin(config, path, headers)?;
    check_fetch_site(path, headers)?;
    if method != Method::GET && method != Method::HEAD {
        return Err(refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET is served here",
        ));
    }
    let is_open = matches!(path, "" | "/client-slot" | "/extension");
    let advice = "connect to the URL in the file cdp-url of Tabwire's home (`tabwire cdp-url` prints it), or send it as `Authorization: Bearer`";
    if is_open {
        Ok(())
    } else {
        check_token(&config.token, uri, headers, advice)
    }
}

/// The gate of `tabwire mcp --http`: no web page, and nobody without the token.
pub fn admit_agent(
    port: u16,
    token: &Token,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    check_host(port, uri, headers)?;
    refuse_origin(headers)?;
    check_fetch_site("", headers)?;
    check_token(
        token,
        uri,
        headers,
        "send what is in the file auth-token of Tabwire's home as `Authorization: Bearer`",
    )
}

/// A page of another site that resolves its own name to 127.0.0.1 sends that name: DNS rebinding ends here.
fn check_host(port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let allowed = |host: &str| {
        let name = host.strip_suffix(&format!(":{port}"));
        name.is_some_and(|name| {
            name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost") || name == "[::1]"
        })
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let is_ours = second.is_none()
        && first
            .and_then(|host| host.to_str().ok())
            .is_some_and(allowed);
    let uri_is_ours = uri
        .authority()
        .is_none_or(|authority| allowed(authority.as_str()));
    if is_ours && uri_is_ours {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        &format!("the Host header must be 127.0.0.1:{port}, localhost:{port} or [::1]:{port}"),
    ))
}

/// Browsers name the page that asks. Only our extension's pages may, and only at its own door.
fn check_origin(config: &Config, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, second) = (origins.next(), origins.next());
    if path != "/extension" {
        return refuse_origin(headers);
    }
    let id = origin
        .and_then(|origin| origin.to_str().ok())
        .and_then(|origin| origin.strip_prefix("chrome-extension://"));
    let is_known = second.is_none()
        && id.is_some_and(|id| config.extension_ids.iter().any(|known| known == id));
    if is_known {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        "only the Tabwire extension is let in here; an extension of your own needs --extension-id",
    ))
}

fn refuse_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::ORIGIN) {
        return Err(refusal(
            StatusCode::FORBIDDEN,
            "a request with an Origin header comes from a web page, and none is let in here",
        ));
    }
    Ok(())
}

fn check_fetch_site(path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers
        .get(HeaderName::from_static("sec-fetch-site"))
        .map(axum::http::HeaderValue::as_bytes);
    match site {
        None | Some(b"none" | b"same-origin") => Ok(()),
        // An extension is never of the relay's site; its origin has been checked.
        Some(_) if path == "/extension" => Ok(()),
        Some(_) => Err(refusal(
            StatusCode::FORBIDDEN,
            "a request from a page of another site is not let in here",
        )),
    }
}

fn check_token(token: &Token, uri: &Uri, headers: &HeaderMap, advice: &str) -> Result<(), Refusal> {
    if presented_token(uri, headers).is_some_and(|presented| token.matches(&presented)) {
        return Ok(());
    }
    Err(refusal(
        StatusCode::UNAUTHORIZED,
        &format!("the token is missing or wrong: {advice}"),
    ))
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
    // The token's letters are the ones that a URL never escapes.
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
