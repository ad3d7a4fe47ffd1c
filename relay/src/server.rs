//! The HTTP server: routes, and the loop that takes connections and gives each its limits.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::config::Config;
use crate::guard::{self, refusal};
use crate::hub::{self, HubSender};
use crate::registry::Registry;
use crate::{client_link, discovery, extension_link, peer};

/// How long a connection may take to send the head of a request.
const REQUEST_HEAD_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection to the relay may speak plain HTTP: one that never reads its answers must not keep a place for ever.
pub const HTTP_CONNECTION_WITHIN: Duration = Duration::from_secs(15);
const MAX_REQUEST_HEAD: usize = 64 << 10;
const MAX_CONNECTIONS: usize = 512;

/// What every handler may use.
pub struct App {
    pub config: Config,
    pub registry: Arc<Registry>,
    pub hub: HubSender,
}

impl App {
    /// With the hub's task: nothing works without it, so whoever runs the relay watches it.
    pub fn new(config: Config) -> (Arc<Self>, JoinHandle<()>) {
        let registry = Registry::new(config.client_mode);
        let (hub, running) = hub::start(config.core.clone(), registry.clone());
        (
            Arc::new(Self {
                config,
                registry,
                hub,
            }),
            running,
        )
    }

    pub fn cdp_url(&self) -> String {
        tabwire_mcp::relay::cdp_url(self.config.port, self.config.token.reveal())
    }
}

/// Loopback only, whatever is asked.
pub async fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).await
}

pub fn routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(discovery::status))
        .route("/client-slot", get(discovery::client_slot))
        .route("/json/version", get(discovery::version))
        .route("/json/version/", get(discovery::version))
        .route("/json", get(discovery::list))
        .route("/json/", get(discovery::list))
        .route("/json/list", get(discovery::list))
        .route("/json/list/", get(discovery::list))
        .route("/cdp", get(client_link::upgrade))
        .route("/extension", get(extension_link::upgrade))
        .fallback(async || refusal(StatusCode::NOT_FOUND, "there is nothing here"))
        .layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::check,
        ))
        .layer(CatchPanicLayer::new())
        .layer(SetResponseHeaderLayer::overriding(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(SetResponseHeaderLayer::overriding(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .with_state(app.clone())
}

/// Takes connections for ever; the caller drops it to stop. `within`: how long a connection may speak plain HTTP.
pub async fn accept(listener: TcpListener, routes: Router, within: Duration) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let routes = routes.clone();
                tokio::spawn(async move {
                    serve_connection(stream, from, routes, within).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely; some are free again in a moment.
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, from: SocketAddr, routes: Router, within: Duration) {
    if !peer::may_connect(&stream, from) {
        tracing::warn!(%from, "a connection of another user was refused");
        return;
    }
    // Messages are small and each is awaited; Nagle's delay would be the largest part of a round trip.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_WITHIN)
        .max_buf_size(MAX_REQUEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
        .with_upgrades();
    // A WebSocket leaves this future when it is opened; what stays is plain HTTP, which nobody needs for longer.
    match tokio::time::timeout(within, connection).await {
        Ok(Err(error)) => tracing::debug!(%error, "connection ended"),
        Ok(Ok(())) => {}
        Err(_) => tracing::debug!("connection ended: it was open for too long"),
    }
}
