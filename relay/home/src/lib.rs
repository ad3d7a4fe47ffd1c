//! Tabwire's home folder and the relay that runs in it. The relay and its clients share this crate,
//! so that they agree on files, addresses, and which relay owns the home.
//!
//! It never connects anywhere but 127.0.0.1 and never starts or stops a process.

mod address;
mod ancestors;
mod claim;
pub mod control;
mod error;
mod folder;
pub mod open_port;
mod pairing;
mod pairing_file;
mod printable;
mod private_file;
mod proof;
mod query;
mod state;
mod token;

pub use address::{DEFAULT_PORT, cdp_url, websocket_url};
pub use claim::Claim;
pub use error::{Error, FileFault, TokenFault};
pub use folder::Home;
pub use pairing::{
    InUse, NameFault, Origin, PairedBrowser, PairingId, Pairings, Verdict, check_name,
};
pub use pairing_file::{milliseconds, now};
pub use printable::{is_unsafe, on_terminal, printable};
pub use private_file::{open_to_append, open_to_read, read_to_string};
pub use proof::{Handshake, PROTOCOL, Role, Secret, is_install_id, is_nonce, new_nonce};
pub use query::{
    BrowserReport, ClientReport, RelayStatus, SlotReport, TabInUse, get_json, get_json_with_token,
    post_json,
};
pub use state::State;
pub use token::Token;
