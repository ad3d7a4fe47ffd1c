//! Behaviours of the core, as scripts on a fake clock: what clients and the extension say, and what they must hear.

mod breakpoints;
mod children;
mod dormant;
mod interception;
mod link;
mod property;
mod requests;
mod script;
mod sessions;
mod set_up;
mod silence;
mod targets;
