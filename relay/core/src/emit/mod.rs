//! What leaves the core: calls to the extension, and replies and events to clients. Nothing here
//! decides what happens next, so sending never re-enters the core.

pub mod downloads;
pub mod frame;
pub mod frame_targets;
pub mod messages;
pub mod out;
pub mod page;
pub mod targets;
