//! Tabwire's home folder and the relay that runs in it. The relay and its clients share this crate,
//! so that they agree on files, addresses, and which relay owns the home.
//!
//! It never connects anywhere but 127.0.0.1 and never starts or stops a process.

mod address;
mod claim;
mod error;
mod folder;
mod query;
mod state;
mod token;

pub use address::{DEFAULT_PORT, cdp_url};
pub use claim::Claim;
pub use error::{Error, TokenFault};
pub use folder::Home;
pub use query::{RelayStatus, SlotReport, get_json};
pub use state::State;
pub use token::Token;
