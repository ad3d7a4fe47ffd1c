//! The server side of the WebSocket protocol (RFC 6455), over any byte stream. It reads and writes
//! messages. What they mean, and when a connection is closed, is up to the caller.
//!
//! Large messages leave no buffers behind: each is read into its own memory, and written from where
//! it is.

mod frame;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{Message, ReadError, Reader};
pub use writer::{Close, LARGE_PAYLOAD, Outgoing, SharedText, Writer};
