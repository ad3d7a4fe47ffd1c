//! What arrives from the browser: the extension's connection, its replies and its events. And
//! timeouts.

mod deadlines;
mod debugger;
mod downloads;
mod link;
mod pause;
mod replies;
mod tabs;
