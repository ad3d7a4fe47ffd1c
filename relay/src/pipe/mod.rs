//! Stands in for a browser's program, for a client that launches one and sends it CDP messages over
//! two pipes.
//!
//! 1. `client_pipe` is the client's end: descriptors 3 and 4, messages that end with a zero byte.
//! 2. `arguments` are what the client wants to start the browser with.
//! 3. A browser that is running already is joined: `join` connects to it, and `bridge` passes messages
//!    between its WebSocket and the client until one of them leaves.
//! 4. Otherwise `own_browser` launches one. It gets the client's descriptors, so messages do not pass
//!    through this process, which only makes sure that the browser ends with its client.

mod arguments;
mod bridge;
mod client_pipe;
mod join;
mod own_browser;

pub use arguments::BrowserArguments;
pub use bridge::bridge;
pub use client_pipe::ClientPipe;
pub use join::{Socket, open_profile, relay};
pub use own_browser::OwnBrowser;
