//! One client's view of one target: forwarding its commands, what it has enabled, intercepted and
//! attached, and how all of that is released when it ends.

mod barriers;
mod bootstrap;
mod breakpoints;
pub(crate) mod children;
mod domains;
mod dormant_frames;
mod downloads;
mod failures;
mod forward;
mod interception;
mod permissions;
mod refusal;
mod release;
mod retract;
mod scripts;
mod undo;
mod usage;
