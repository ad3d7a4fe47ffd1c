//! The two kinds of WebSocket between the hub and the outside: clients on `/cdp`, the extension on
//! `/extension`.

mod authenticate;
pub mod client_link;
pub mod devtools_link;
pub mod extension_link;
mod handshake;
pub mod lobby;
pub mod local_client;
pub mod outbox;
mod socket;
mod upgrade;
mod websocket;
