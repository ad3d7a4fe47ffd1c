//! What the browser and the clock say: the extension's connection, its replies and events, and
//! timeouts.

mod deadlines;
mod debugger;
mod link;
mod replies;
mod tabs;
