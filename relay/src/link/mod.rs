//! The WebSockets between hubs and the outside: clients on `/cdp` and on Chrome's own paths, the
//! extension on `/extension`. Also a client inside the relay, which needs no socket.

mod authenticate;
pub mod backlog;
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
