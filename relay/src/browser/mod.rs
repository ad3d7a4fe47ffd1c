//! Chromium-based browsers on this machine: finding them, and starting one with the bundled
//! extension.

pub mod bundle;
pub mod detect;
pub mod launch;
pub mod launcher;
mod process;
mod profile;
pub mod watchdog;
