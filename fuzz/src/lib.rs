//! What the fuzz targets do with their input. Each is a plain function, so that `tests/corpus` can repeat
//! the kept inputs without cargo-fuzz.

pub mod core_client;
pub mod core_extension;
pub mod handshake;
pub mod http_guard;
pub mod websocket_read;
pub mod websocket_write;

mod relay;
