//! The direct backend: a browser with a debugging port of its own, which needs no extension.
//! Clients use it at the same address, with the same token, names and slots.
//!
//! Each client has its own WebSocket to the browser, and messages pass as they are. What is read of
//! them is what recovery and the log need:
//!
//! 1. The connection to the browser is lost (`upstream`): the client stays connected, requests in
//!    flight fail, and its sessions end (`client`).
//! 2. Its next request starts a recovery (`hub`): the browser is looked for at its port, or
//!    launched again (`browser`).
//! 3. Every client that lost its connection gets a new one, on which the relay restores what the
//!    client had switched on, before what waited is sent (`client`).
//!
//! `runtime` decides when this happens, without sockets and clocks.

mod browser;
mod client;
mod hub;
mod in_flight;
mod log;
mod message;
mod port;
mod report;
mod runtime;
mod subscriptions;
mod upstream;
mod url;

pub use browser::{Browser, Found, Launcher};
pub use hub::{OnFailure, Start, start};
pub use port::{check_owner, is_browser};
pub use runtime::{DisconnectSignals, Runtime, State, StrongSignal};
pub use upstream::Limits;
pub use url::BrowserUrl;
