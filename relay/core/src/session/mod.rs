//! One client's view of one target: forwarding its commands, what it has enabled, intercepted and
//! attached, and how all of that is released when it ends.

pub(crate) mod auto_attach;
mod barriers;
mod bootstrap;
mod breakpoints;
mod child_info;
mod children;
mod domains;
mod dormant_frames;
mod downloads;
mod failures;
mod forward;
mod frame_navigation;
mod interception;
mod permissions;
mod refusal;
mod release;
mod retract;
mod scripts;
mod undo;
mod usage;
