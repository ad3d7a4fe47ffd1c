//! The HTTP server: accepting connections, the guard in front of every route, and what is served
//! without a WebSocket.

pub mod browser_query;
mod command;
pub mod control;
mod direct_discovery;
pub mod discovery;
pub mod entrance;
pub mod guard;
pub mod listener;
pub mod peer;
pub mod routes;
mod targets;
