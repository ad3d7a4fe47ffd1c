//! What clients send: each message goes through `router` to the one handler of its method and
//! target.

mod browser;
mod clients;
mod downloads;
mod fetch;
mod frame;
mod page;
mod permissions;
mod router;
mod target;
