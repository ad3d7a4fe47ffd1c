//! Accepts TCP connections and limits each one. Listens on 127.0.0.1 only, and never speaks to
//! another user's process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::http::peer;

/// How long a connection may take to send a request's head.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REQUEST_HEAD: usize = 64 << 10;
const MAX_CONNECTIONS: usize = 512;
/// Accepting fails mostly when file descriptors run out; some are free again soon.
const RETRY_DELAY: Duration = Duration::from_millis(50);

pub async fn bind(port: u16) -> Result<TcpListener, Error> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(address)
        .await
        .map_err(|reason| match reason.kind() {
            io::ErrorKind::AddrInUse => Error::PortInUse {
                port,
                holder: peer::holder_of(port).unwrap_or_else(|| unknown_holder(port)),
            },
            _ => Error::Listen { port, reason },
        })
}

fn unknown_holder(port: u16) -> String {
    format!("another program (`lsof -nP -iTCP:{port} -sTCP:LISTEN` shows which)")
}

/// Accepts connections until it is dropped. `http_timeout`: how long a connection may stay plain
/// HTTP.
pub async fn accept(listener: TcpListener, routes: Router, http_timeout: Duration) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let routes = routes.clone();
                tokio::spawn(async move {
                    serve(stream, peer, routes, http_timeout).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, routes: Router, http_timeout: Duration) {
    if !peer::may_connect(&stream, peer) {
        tracing::warn!(%peer, "rejected a connection from another user");
        return;
    }
    // Messages are small and each is awaited: Nagle's delay would dominate a round trip.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_TIMEOUT)
        .max_buf_size(MAX_REQUEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
        .with_upgrades();
    // An upgraded WebSocket leaves this future, so the timeout applies to plain HTTP only.
    match tokio::time::timeout(http_timeout, connection).await {
        Ok(Err(error)) => tracing::debug!(%error, "connection closed"),
        Ok(Ok(())) => {}
        Err(_) => tracing::debug!("connection closed: open for too long"),
    }
}
