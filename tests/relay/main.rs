//! Tests of the relay as a real process, between a scripted extension and scripted clients.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod agent_setup;
mod background;
mod browsers;
mod command_line;
mod debug_http;
mod devtools;
mod direct;
mod discovery;
mod doctor;
mod downloads;
mod faults;
mod files;
mod gate;
mod joining;
mod launched_browsers;
mod launching;
mod leftovers;
mod limits;
mod logs;
mod machine;
mod many_browsers;
mod open_port;
mod pairing;
#[cfg(target_os = "linux")]
mod peers;
mod proofs;
mod record;
mod relaunching;
mod replies;
mod secrecy;
#[cfg(target_os = "linux")]
mod service;
mod sessions;
mod setup;
mod shared_home;
mod slots;
mod targets;
mod waking;
mod websocket;
mod wrap;
