//! Accepts TCP connections and limits each one. Listens on 127.0.0.1 only, and never serves another
//! user's process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Extensions, Method};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::error::Error;
use crate::http::peer::{self, Owners, Peer, Refused};

/// How long a connection may take to send a request's head.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REQUEST_HEAD: usize = 64 << 10;
/// Plain HTTP connections, clients and extensions have separate places, so that none of them can take
/// those of another. A client of a browser with a debugging port of its own has a second socket, to that
/// port. `file_limit` makes sure that all of them can be open.
const MAX_HTTP_CONNECTIONS: usize = 400;
const MAX_CLIENTS: usize = 512;
const MAX_EXTENSIONS: usize = 128;
/// Programs need no token for the open port, so its places are its own.
const MAX_OPEN_PORT_HTTP_CONNECTIONS: usize = 100;
const MAX_OPEN_PORT_CLIENTS: usize = 256;
/// Accepting fails mostly when file descriptors run out; some are free again soon.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// The shortest time between two lines in the log about refused connections.
const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// `option`: what chooses the port on the command line.
pub async fn bind(port: u16, option: &'static str) -> Result<TcpListener, Error> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(address)
        .await
        .map_err(|reason| match reason.kind() {
            io::ErrorKind::AddrInUse => Error::PortInUse {
                port,
                holder: peer::holder_of(port).unwrap_or_else(|| unknown_holder(port)),
                option,
            },
            _ => Error::Listen { port, reason },
        })
}

fn unknown_holder(port: u16) -> String {
    format!("another program (`lsof -nP -iTCP:{port} -sTCP:LISTEN` shows which)")
}

/// The free places for the connections of one listener.
#[derive(Clone)]
pub struct Places {
    http: Arc<Semaphore>,
    websockets: WebSocketPlaces,
}

impl Places {
    pub fn new() -> Self {
        Self::with(MAX_HTTP_CONNECTIONS, MAX_CLIENTS, MAX_EXTENSIONS)
    }

    /// Extensions do not connect there.
    pub fn of_open_port() -> Self {
        Self::with(MAX_OPEN_PORT_HTTP_CONNECTIONS, MAX_OPEN_PORT_CLIENTS, 0)
    }

    fn with(http: usize, clients: usize, extensions: usize) -> Self {
        let [http, clients, extensions] =
            [http, clients, extensions].map(|count| Arc::new(Semaphore::new(count)));
        Self {
            http,
            websockets: WebSocketPlaces {
                clients,
                extensions,
            },
        }
    }
}

/// Whose place a WebSocket takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOf {
    Client,
    Extension,
}

/// The free places for WebSockets. The listener adds it to the extensions of every request.
#[derive(Clone)]
pub struct WebSocketPlaces {
    clients: Arc<Semaphore>,
    extensions: Arc<Semaphore>,
}

impl WebSocketPlaces {
    /// Takes a place, which is free again when the permit is dropped. Returns `None` if all are
    /// taken.
    pub fn take(request: &Extensions, place_of: PlaceOf) -> Option<OwnedSemaphorePermit> {
        let places = request.get::<Self>()?;
        let places = match place_of {
            PlaceOf::Client => &places.clients,
            PlaceOf::Extension => &places.extensions,
        };
        places.clone().try_acquire_owned().ok()
    }
}

/// What a listener serves, to whom, and how much of it at a time.
pub struct Serving {
    pub routes: Router,
    /// How long a connection may stay plain HTTP.
    pub http_timeout: Duration,
    pub owners: Owners,
    pub places: Places,
}

/// Accepts connections until it is dropped.
pub async fn accept(listener: TcpListener, serving: Serving) {
    let mut refusals = RefusalLog::default();
    loop {
        let Ok(place) = serving.places.http.clone().acquire_owned().await else {
            return;
        };
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
        };
        let identified = match stream.local_addr() {
            Ok(own) => Peer::identify(own, address),
            Err(_) => Err(Refused::UnknownOwner),
        };
        let admitted = identified.and_then(|peer| serving.owners.admit(peer));
        match admitted {
            Ok(peer) => {
                let extensions = (peer, serving.places.websockets.clone());
                let routes = serving.routes.clone();
                let connection = serve(stream, extensions, routes, serving.http_timeout);
                tokio::spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(refused) => refusals.add(address, &refused),
        }
        // However many connections are waiting, the sockets that are open come first.
        tokio::task::yield_now().await;
    }
}

async fn serve(
    stream: TcpStream,
    (peer, websocket_places): (Peer, WebSocketPlaces),
    routes: Router,
    http_timeout: Duration,
) {
    // Messages are small and each is awaited: Nagle's delay would dominate a round trip.
    let _ = stream.set_nodelay(true);
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        accept_lower_case(request.method_mut());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(websocket_places.clone());
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_TIMEOUT)
        // A client that has sent its request may close its end before it reads the response.
        .half_close(true)
        .max_buf_size(MAX_REQUEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // An upgraded WebSocket leaves this future, so the timeout applies to plain HTTP only.
    match tokio::time::timeout(http_timeout, connection).await {
        Ok(Err(error)) => tracing::debug!(%error, "connection closed"),
        Ok(Ok(())) => {}
        Err(_) => tracing::debug!("connection closed: open for too long"),
    }
}

/// Chrome accepts methods in any case.
fn accept_lower_case(method: &mut Method) {
    if method
        .as_str()
        .bytes()
        .any(|byte| byte.is_ascii_lowercase())
        && let Ok(upper_case) = method.as_str().to_ascii_uppercase().parse()
    {
        *method = upper_case;
    }
}

/// Logs refused connections, but not every one: a peer that is refused must not be able to fill the
/// log.
#[derive(Default)]
struct RefusalLog {
    last_line: Option<Instant>,
    /// How many have been refused since then.
    unlogged: u64,
}

impl RefusalLog {
    fn add(&mut self, peer: SocketAddr, reason: &Refused) {
        let now = Instant::now();
        if self
            .last_line
            .is_some_and(|last| now - last < REFUSAL_LOG_INTERVAL)
        {
            self.unlogged += 1;
            return;
        }
        tracing::warn!(%peer, unlogged = self.unlogged, "refused a connection: {reason}");
        *self = Self {
            last_line: Some(now),
            unlogged: 0,
        };
    }
}
