//! Chromium-based browsers on this machine: finding them, and starting one with the bundled
//! extension or a debugging port.

pub mod bundle;
pub mod detect;
pub mod launch;
pub mod launcher;
pub mod leftovers;
pub mod name;
mod owned;
pub mod process;
pub mod profile;
pub mod profile_pairing;
pub mod program;
pub mod watchdog;
