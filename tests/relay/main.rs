//! Tests of the relay as a real process, between a scripted extension and scripted clients.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod command_line;
mod discovery;
mod faults;
mod files;
mod gate;
mod limits;
#[cfg(target_os = "linux")]
mod peers;
mod replies;
mod secrecy;
mod sessions;
mod setup;
mod slots;
mod targets;
mod waking;
mod websocket;
