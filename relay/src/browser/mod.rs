//! Chromium-based browsers on this machine: finding them, and starting one with the bundled
//! extension or a debugging port.

pub mod bundle;
mod debugging_pipe;
pub mod detect;
pub mod expected;
mod extension_browser;
pub mod launch;
pub mod launched;
pub mod launcher;
mod launching;
pub mod leftovers;
pub mod name;
mod owned;
pub mod process;
mod process_group;
pub mod profile;
mod profile_holder;
pub mod profile_pairing;
pub mod program;
mod reserved;
mod state_log;
mod user_arguments;
pub mod watchdog;
mod worker_script;
