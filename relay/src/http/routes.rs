//! The relay's routes, behind the guard.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app::App;
use crate::http::guard::{self, Refusal, refusal};
use crate::http::{command, control, discovery, targets};
use crate::link::{client_link, devtools_link, extension_link};
use crate::open_port::Opening;

/// How long a connection may stay plain HTTP. One that never reads its responses must not hold a
/// place forever, but launching a browser or `POST /command` may take a minute.
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(75);

pub fn routes(app: &Arc<App>) -> Router {
    let mut routes = Router::new();
    if app.config.debug_http {
        let limit = DefaultBodyLimit::max(app.config.max_message);
        routes = routes.route("/command", post(command::run).layer(limit));
    }
    routes = routes
        .route("/launch", post(control::launch))
        .route("/open-port", post(control::open_port))
        .route("/close-port", post(control::close_port))
        .route("/restart", post(control::restart))
        .route("/stop", post(control::stop));
    routes = routes
        .route("/", get(discovery::status))
        .route("/client-slot", get(discovery::client_slot))
        .route("/browsers", get(discovery::browsers))
        .merge(chrome_routes())
        .route("/cdp", get(client_link::upgrade))
        .route("/extension", get(extension_link::upgrade))
        .fallback(not_found)
        .method_not_allowed_fallback(async || {
            let error = "This method is not supported here.";
            refusal(StatusCode::METHOD_NOT_ALLOWED, error)
        })
        .layer(from_fn_with_state(app.clone(), guard::check));
    with_headers(routes).with_state(app.clone())
}

/// What the open port serves: only what Chrome's own port serves.
pub fn open_port_routes(app: &Arc<App>, opening: &Arc<Opening>) -> Router {
    let routes = chrome_routes()
        .fallback(not_found)
        .layer(from_fn_with_state(opening.clone(), guard::open_port::check));
    with_headers(routes).with_state(app.clone())
}

async fn not_found() -> Refusal {
    refusal(StatusCode::NOT_FOUND, "Not found.")
}

/// What every response has, also that of a guard.
fn with_headers(routes: Router<Arc<App>>) -> Router<Arc<App>> {
    routes
        .layer(CatchPanicLayer::new())
        .layer(SetResponseHeaderLayer::overriding(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(SetResponseHeaderLayer::overriding(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
}

/// What Chrome's own port serves.
fn chrome_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/json/version", get(discovery::version))
        .route("/json/version/", get(discovery::version))
        .route("/json", get(discovery::list))
        .route("/json/", get(discovery::list))
        .route("/json/list", get(discovery::list))
        .route("/json/list/", get(discovery::list))
        .route("/json/protocol", get(discovery::protocol))
        .route("/json/protocol/", get(discovery::protocol))
        .route("/json/new", any(targets::new))
        .route("/json/new/", any(targets::new))
        .route("/json/close", any(targets::no_target))
        .route("/json/close/", any(targets::no_target))
        .route("/json/close/{id}", get_or_put(targets::close))
        .route("/json/activate", any(targets::no_target))
        .route("/json/activate/", any(targets::no_target))
        .route("/json/activate/{id}", get_or_put(targets::activate))
        .route("/json/{*command}", any(targets::unknown))
        .route("/devtools/browser/{id}", get(devtools_link::browser))
        .route("/devtools/page/{id}", get(devtools_link::page))
}

/// For what changes something. By default, HEAD would do the same as GET.
fn get_or_put<T: 'static>(handler: impl Handler<T, Arc<App>>) -> MethodRouter<Arc<App>> {
    let refused = async || {
        let error = "Only GET and PUT are supported.";
        refusal(StatusCode::METHOD_NOT_ALLOWED, error)
    };
    get(handler.clone()).put(handler).head(refused)
}
