//! Chrome's own WebSockets: `/devtools/browser/ID` and `/devtools/page/ID`. A client library that uses
//! these opens several, so where only one client can connect, those of one program count as one.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::client_link::{Candidate, conflict};
use super::upgrade::Upgrade;
use crate::app::App;
use crate::http::browser_query::BrowserQuery;
use crate::http::discovery::has_target;
use crate::hub::ConnectedTo;
use crate::registry::Entry;

/// The browser. Its id changes when the relay starts or switches to another browser.
pub async fn browser(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: BrowserQuery,
    candidate: Candidate,
    upgrade: Upgrade,
) -> Response {
    match app.browser(query.browser.as_deref()).await {
        Ok(entry) if *entry.id == *id => {
            connect(&app, entry, ConnectedTo::Browser, candidate, upgrade).await
        }
        Ok(_) => {
            let body = format!("No such browser id: {id}");
            (StatusCode::NOT_FOUND, body).into_response()
        }
        Err(refused) => refused.into_response(),
    }
}

/// One page. Messages without a session id are for it.
pub async fn page(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: BrowserQuery,
    candidate: Candidate,
    upgrade: Upgrade,
) -> Response {
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    if !has_target(&entry, &id).await {
        // Chrome's own status and message.
        let body = format!("No such target id: {id}");
        return (StatusCode::INTERNAL_SERVER_ERROR, body).into_response();
    }
    connect(&app, entry, ConnectedTo::Target(id), candidate, upgrade).await
}

async fn connect(
    app: &App,
    entry: Entry,
    to: ConnectedTo,
    candidate: Candidate,
    upgrade: Upgrade,
) -> Response {
    match candidate.take_or_join_slot(&entry).await {
        Some(slot) => candidate.connect(app, entry, slot, to, upgrade),
        None => conflict(&entry),
    }
}
