//! The behavior of the core, as scripts on a fake clock: what clients and the extension send, and
//! what they must receive.

mod answers;
mod breakpoints;
mod browser;
mod children;
mod closing;
mod coverage;
mod dormant;
mod downloads;
mod extension_link;
mod interception;
mod late_join;
mod launching;
mod logged;
mod pause;
mod permissions;
mod property;
mod requests;
mod resuming;
mod script;
mod sessions;
mod target_connections;
mod targets;
mod unresponsive;
