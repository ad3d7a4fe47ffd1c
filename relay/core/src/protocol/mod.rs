//! The lowest layer: the interface of the core, what messages look like, and which methods exist.
//! It knows nothing of the state of tabs, sessions and clients.

pub mod api;
pub mod cdp;
pub mod download;
pub mod error;
pub mod handshake;
pub mod ids;
pub mod json;
pub mod methods;
pub mod playwright;
pub mod stagehand;
pub mod title;
pub mod url_pattern;
pub mod wire;
