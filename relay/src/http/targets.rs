//! `/json/new`, `/json/close/ID` and `/json/activate/ID`: opens, closes and shows a page, with the
//! responses of Chrome's own port. Each request is a client of its own, or part of the program that is
//! connected.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::app::App;
use crate::http::browser_query::BrowserQuery;
use crate::http::discovery::{check_connected, find_target, has_target};
use crate::http::entrance::Entrance;
use crate::http::guard::refusal;
use crate::link::client_link::{Candidate, conflict};
use crate::link::local_client::{LocalClient, RequestError, Unfinished};
use crate::registry::Entry;

/// Opens a page, in the background. The address is the whole query, apart from the relay's own
/// parameters.
pub async fn new(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    Extension(entrance): Extension<Entrance>,
    candidate: Candidate,
    request: Request,
) -> Response {
    if request.method() != Method::PUT {
        let verb = request.method();
        let error = format!(
            "Using unsafe HTTP verb {verb} to invoke /json/new. This action supports only PUT verb."
        );
        return (StatusCode::METHOD_NOT_ALLOWED, error).into_response();
    }
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    if let Err(unavailable) = check_connected(&entry).await {
        return unavailable;
    }
    let is_token = |token: &str| app.secrets.check_token(token).is_some();
    let url = address_in(request.uri().query().unwrap_or_default(), is_token);
    let params = json!({ "url": url, "background": true });
    let created = match perform(&app, &entry, &candidate, "Target.createTarget", params).await {
        Ok(created) => created,
        Err(response) => return response,
    };
    let id = created.get("targetId").and_then(Value::as_str);
    match find_target(&app, &entry, &query, &entrance, id.unwrap_or_default()).await {
        Some(page) => Json(page).into_response(),
        None => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Could not create new page",
        )
            .into_response(),
    }
}

pub async fn close(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: BrowserQuery,
    candidate: Candidate,
) -> Response {
    let on_target = (id, "Target.closeTarget", "Target is closing");
    act(&app, &query, &candidate, on_target).await
}

pub async fn activate(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: BrowserQuery,
    candidate: Candidate,
) -> Response {
    let on_target = (id, "Target.activateTarget", "Target activated");
    act(&app, &query, &candidate, on_target).await
}

/// `/json/close` and `/json/activate` without an id.
pub async fn no_target() -> Response {
    no_such_target("")
}

/// `/json/` and something else.
pub async fn unknown(Path(command): Path<String>) -> Response {
    let error = format!("Unknown command: {command}");
    (StatusCode::NOT_FOUND, error).into_response()
}

async fn act(
    app: &App,
    query: &BrowserQuery,
    candidate: &Candidate,
    (id, method, done): (String, &'static str, &'static str),
) -> Response {
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    if let Err(unavailable) = check_connected(&entry).await {
        return unavailable;
    }
    if !has_target(&entry, &id).await {
        return no_such_target(&id);
    }
    let params = json!({ "targetId": id });
    match perform(app, &entry, candidate, method, params).await {
        Ok(_) => done.into_response(),
        Err(response) => response,
    }
}

fn no_such_target(id: &str) -> Response {
    let error = format!("No such target id: {id}");
    (StatusCode::NOT_FOUND, error).into_response()
}

/// Sends one command, as a client that connects for it.
async fn perform(
    app: &App,
    entry: &Entry,
    candidate: &Candidate,
    method: &'static str,
    params: Value,
) -> Result<Value, Response> {
    let Some(slot) = candidate.take_or_join_slot(entry).await else {
        return Err(conflict(entry));
    };
    let (hub, limit) = (entry.hub.clone(), app.config.outbox_limit);
    let request = LocalClient::run(slot, hub, limit, |client| {
        Box::pin(client.request(None, method, params))
    });
    match request.await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(RequestError::Cdp { message })) => {
            Err((StatusCode::INTERNAL_SERVER_ERROR, message).into_response())
        }
        Err(Unfinished::TimedOut) => {
            let error = "The browser did not respond in time.";
            Err(refusal(StatusCode::GATEWAY_TIMEOUT, error).into_response())
        }
        Ok(Err(RequestError::Disconnected)) | Err(Unfinished::Failed) => {
            let error = "The relay has closed the connection.";
            Err(refusal(StatusCode::SERVICE_UNAVAILABLE, error).into_response())
        }
    }
}

/// The address in the query of `/json/new`, which clients escape or not. The relay's own parameters
/// stand before or after it. An address can have a parameter `token` of its own, but the relay's must
/// not reach a website, wherever it stands.
fn address_in(query: &str, is_token: impl Fn(&str) -> bool) -> String {
    let has_token = |part: &str| part.strip_prefix("token=").is_some_and(&is_token);
    let is_own = |part: &str| has_token(part) || part.starts_with("browser=");
    let mut parts: Vec<&str> = query.split('&').collect();
    while parts.last().is_some_and(|part| is_own(part)) {
        parts.pop();
    }
    let own = parts.iter().take_while(|part| is_own(part)).count();
    let address = parts.get(own..).unwrap_or_default().join("&");
    let address = percent_decode_str(&address).decode_utf8_lossy();
    without(&address, has_token)
}

/// An address without certain parameters.
fn without(address: &str, is_removed: impl Fn(&str) -> bool) -> String {
    const SEPARATORS: [char; 3] = ['?', '&', '#'];
    let mut kept = String::with_capacity(address.len());
    for part in address.split_inclusive(SEPARATORS) {
        let parameter = part.trim_end_matches(SEPARATORS);
        if !is_removed(parameter) {
            kept.push_str(part);
        } else if !part.ends_with('&') {
            // The last one: what separated it is left over.
            kept.pop();
            kept.push_str(part.strip_prefix(parameter).unwrap_or_default());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_the_query_without_the_relays_own_parameters() {
        let is_token = |token: &str| token == "T";
        for (query, expected) in [
            ("", ""),
            ("token=T", ""),
            ("about:blank", "about:blank"),
            ("https://a.test/?b=c&d=e", "https://a.test/?b=c&d=e"),
            (
                "https%3A%2F%2Fa.test%2F%3Fb%3D1%26token%3Dx",
                "https://a.test/?b=1&token=x",
            ),
            (
                "https://a.test/?b=1&token=theirs",
                "https://a.test/?b=1&token=theirs",
            ),
            ("token=T&browser=edge&https://a.test/", "https://a.test/"),
            (
                "https://a.test/?b&token=T&browser=edge",
                "https://a.test/?b",
            ),
            ("https://a.test/?b=1&token=T&c=2", "https://a.test/?b=1&c=2"),
            ("https://a.test/?token=T&c=2", "https://a.test/?c=2"),
            ("https://a.test/?token=T#top", "https://a.test/#top"),
            ("https://a.test/#token=T", "https://a.test/"),
            (
                "token=T&https%3A%2F%2Fa.test%2F%3Fb%3D1%26token%3DT%26c",
                "https://a.test/?b=1&c",
            ),
            (
                "https://a.test/?b=1&browser=edge&c=2&token=T",
                "https://a.test/?b=1&browser=edge&c=2",
            ),
        ] {
            assert_eq!(address_in(query, is_token), expected, "{query}");
        }
    }
}
