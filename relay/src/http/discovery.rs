//! What plain HTTP serves: the relay's status to any local program, the browser's pages to clients
//! with the token.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire_core::PageSummary;
use tabwire_home::{BrowserReport, RelayStatus};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app::App;
use crate::http::browser_query::{BrowserQuery, NO_BROWSER, not_found};
use crate::http::direct_discovery;
use crate::http::entrance::Entrance;
use crate::http::guard::{Admission, refusal};
use crate::hub::{Description, ToHub};
use crate::registry::Entry;

/// The published protocol without its descriptions, because an extension cannot ask its browser.
/// `tests/protocol/published.mjs` writes it.
const PROTOCOL: &str = include_str!("protocol.json");

/// How long a browser may take to identify itself. Whoever asks for all browsers gives up after two
/// seconds, and one that hangs must not hide the others.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(1);

pub async fn status(State(app): State<Arc<App>>) -> Json<RelayStatus> {
    let entries = app.registry.entries();
    let is_ready = |entry: &&Entry| entry.connections.extension_ready.load(Ordering::Relaxed);
    let pages = |entry: &Entry| entry.connections.pages.load(Ordering::Relaxed);
    let browsers = entries.iter().filter(is_ready).count();
    Json(RelayStatus {
        status: "ok".to_owned(),
        mode: app.config.client_mode.name().to_owned(),
        extension: browsers > 0,
        browsers,
        launches: app.launcher.is_on_demand() || entries.iter().any(|own| is_launchable(&app, own)),
        targets: entries.iter().map(pages).sum(),
        clients: app.registry.client_count(),
        open_port: app.registry.open_port(),
    })
}

/// Who uses the browser. Which tabs they use is shown only to those who have the token.
pub async fn client_slot(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    admission: Option<Extension<Admission>>,
) -> Response {
    match app.registry.find(query.browser.as_deref()) {
        Ok(Entry { connections, .. }) => {
            let report = connections
                .clients
                .report(connections.browser_name(), admission.is_some());
            Json(report).into_response()
        }
        Err(reason) => not_found(&reason).into_response(),
    }
}

/// The browsers that have connected, and who uses them.
pub async fn browsers(State(app): State<Arc<App>>) -> Json<Vec<BrowserReport>> {
    let entries = app.registry.entries();
    let reports = entries.iter().map(|entry| report(&app, entry));
    Json(join_all(reports).await.into_iter().flatten().collect())
}

/// Whether the browser is launched again when a client needs it.
fn is_launchable(app: &App, entry: &Entry) -> bool {
    if let Some(direct) = &entry.direct {
        return direct.is_launchable();
    }
    let pairing = entry.connections.pairing();
    pairing.is_some_and(|own| app.launcher.relaunches(&own))
}

/// `None` for an entry that no browser has taken yet.
async fn report(app: &App, entry: &Entry) -> Option<BrowserReport> {
    let connections = &entry.connections;
    let name = connections.browser_name()?;
    let browser = timeout(IDENTIFY_TIMEOUT, identify(entry)).await;
    let browser = browser.ok().flatten();
    let is_connected = browser.is_some();
    let tabs = match &entry.direct {
        // What was counted last may be long gone.
        Some(_) if !is_connected => 0,
        _ => connections.pages.load(Ordering::Relaxed),
    };
    let (product, extension) = browser.unwrap_or_default();
    Some(BrowserReport {
        clients: connections.clients.report(None, true).connected,
        connected: is_connected,
        paused: connections.paused.load(Ordering::Relaxed),
        launches: is_launchable(app, entry)
            || (entry.direct.is_none() && app.launcher.launches(Some(&name))),
        ownership: match &entry.direct {
            Some(direct) => Some(direct.ownership()),
            None => connections
                .pairing()
                .and_then(|pairing| app.launcher.ownership(&pairing)),
        },
        product,
        extension,
        url: entry.direct.as_ref().map(|own| own.url().to_string()),
        tabs,
        name,
    })
}

/// The same response as Chrome's own port, so that a client finds the WebSocket from an `http://`
/// address.
pub async fn version(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    Extension(entrance): Extension<Entrance>,
) -> Response {
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    let url = browser_url(&app, &entry, &query, &entrance);
    if let Some(browser) = &entry.direct {
        return direct_discovery::version(browser, url).await;
    }
    let description = match describe(&entry).await {
        Ok(description) => description,
        Err(refused) => return refused,
    };
    let Some(browser) = description.browser else {
        return no_browser();
    };
    Json(json!({
        "Browser": browser.product,
        "Protocol-Version": "1.3",
        "User-Agent": browser.user_agent,
        "V8-Version": browser.v8_version(),
        "WebKit-Version": browser.webkit_version(),
        "webSocketDebuggerUrl": url,
    }))
    .into_response()
}

pub async fn list(
    State(app): State<Arc<App>>,
    query: BrowserQuery,
    Extension(entrance): Extension<Entrance>,
) -> Response {
    let entry = match app.browser(query.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    let url = |id: &str| page_url(&app, id, &query, &entrance);
    if let Some(browser) = &entry.direct {
        return direct_discovery::list(browser, url).await;
    }
    match describe(&entry).await {
        // Not an empty list, which would mean that all tabs are closed.
        Ok(Description {
            browser: None,
            pages,
        }) if pages.is_empty() => no_browser(),
        Ok(Description { pages, .. }) => {
            let targets = pages.iter().flat_map(|page| describe_targets(page, url));
            let targets = targets.map(|target| with_front_end(target, &entrance));
            Json(targets.collect::<Value>()).into_response()
        }
        Err(refused) => refused,
    }
}

/// As Chrome describes a page and its frames, without the address of a hosted DevTools: that page
/// would be refused.
fn describe_targets(page: &PageSummary, url: impl Fn(&str) -> Option<String>) -> Vec<Value> {
    let described = json!({
        "description": "", "id": page.id, "title": page.title, "type": "page", "url": page.url,
        "webSocketDebuggerUrl": url(page.id.as_str()),
    });
    let frames = page.frames.iter().map(|frame| {
        json!({
            "description": "", "id": frame.id, "parentId": frame.parent_id, "title": frame.url,
            "type": "iframe", "url": frame.url, "webSocketDebuggerUrl": url(frame.id.as_str()),
        })
    });
    iter::once(described).chain(frames).collect()
}

/// Adds the address of DevTools as it is part of every Chrome. `chrome://inspect` of another browser opens
/// only targets that have one. Not where it would contain the token.
fn with_front_end(mut target: Value, entrance: &Entrance) -> Value {
    let url = target.get("webSocketDebuggerUrl").and_then(Value::as_str);
    let address = url.and_then(|url| url.strip_prefix("ws://"));
    if let Some(address) = address.filter(|_| !entrance.needs_token()) {
        let front_end = format!("devtools://devtools/bundled/inspector.html?ws={address}");
        if let Some(fields) = target.as_object_mut() {
            fields.insert("devtoolsFrontendUrl".to_owned(), front_end.into());
        }
    }
    target
}

/// How `/json/list` describes one target.
pub async fn find_target(
    app: &App,
    entry: &Entry,
    query: &BrowserQuery,
    entrance: &Entrance,
    id: &str,
) -> Option<Value> {
    let url = |id: &str| page_url(app, id, query, entrance);
    if let Some(browser) = &entry.direct {
        return direct_discovery::find_target(browser, id, url).await;
    }
    let pages = describe_entry(entry).await?.pages;
    let mut targets = pages.iter().flat_map(|page| describe_targets(page, url));
    let found = targets.find(|target| target.get("id").is_some_and(|own| own == id));
    found.map(|target| with_front_end(target, entrance))
}

/// Makes sure that a browser is connected that can be asked for something.
pub async fn check_connected(entry: &Entry) -> Result<(), Response> {
    if let Some(browser) = &entry.direct {
        return direct_discovery::check(browser).await;
    }
    let description = describe(entry).await?;
    description.browser.map(drop).ok_or_else(no_browser)
}

fn no_browser() -> Response {
    refusal(StatusCode::SERVICE_UNAVAILABLE, NO_BROWSER).into_response()
}

/// Whether a target that has a WebSocket has this id.
pub async fn has_target(entry: &Entry, id: &str) -> bool {
    if let Some(browser) = &entry.direct {
        return direct_discovery::find_target(browser, id, |_| None)
            .await
            .is_some();
    }
    let description = describe_entry(entry).await;
    let has_id = |page: &PageSummary| {
        let mut frames = page.frames.iter();
        page.id.as_str() == id || frames.any(|frame| frame.id.as_str() == id)
    };
    description.is_some_and(|own| own.pages.iter().any(has_id))
}

fn browser_url(
    app: &App,
    entry: &Entry,
    query: &BrowserQuery,
    entrance: &Entrance,
) -> Option<String> {
    let path = format!("/devtools/browser/{}", entry.id);
    entrance.websocket_url(app, &path, query.browser.as_deref())
}

fn page_url(app: &App, id: &str, query: &BrowserQuery, entrance: &Entrance) -> Option<String> {
    let path = format!("/devtools/page/{id}");
    entrance.websocket_url(app, &path, query.browser.as_deref())
}

/// The description of the protocol. No browser is launched for it.
pub async fn protocol(State(app): State<Arc<App>>, query: BrowserQuery) -> Response {
    match app.registry.find(query.browser.as_deref()) {
        Ok(Entry {
            direct: Some(browser),
            ..
        }) => direct_discovery::protocol(&browser).await,
        Ok(_) => ([(header::CONTENT_TYPE, "application/json")], PROTOCOL).into_response(),
        Err(reason) => not_found(&reason).into_response(),
    }
}

/// The product of a browser that is connected, and the version of its extension, if it has one.
async fn identify(entry: &Entry) -> Option<(String, String)> {
    if let Some(browser) = &entry.direct {
        let product = direct_discovery::product(browser, &entry.connections).await?;
        return Some((product, String::new()));
    }
    let browser = describe_entry(entry).await?.browser?;
    Some((browser.product, browser.version))
}

async fn describe(entry: &Entry) -> Result<Description, Response> {
    describe_entry(entry).await.ok_or_else(|| {
        refusal(StatusCode::SERVICE_UNAVAILABLE, "The relay is stopping.").into_response()
    })
}

async fn describe_entry(entry: &Entry) -> Option<Description> {
    let (reply, description) = oneshot::channel();
    entry.hub.send(ToHub::Describe(reply)).await.ok()?;
    description.await.ok()
}
