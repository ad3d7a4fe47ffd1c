//! Methods the relay answers itself, one file a domain. A method has exactly one handler.

mod browser;
mod fetch;
mod page;
mod target;

/// What a handler did with a request that it did not refuse.
#[derive(Debug)]
pub(crate) enum Handled {
    /// This is the result.
    Reply(String),
    /// The reply comes when the browser has answered.
    Later,
}

impl Handled {
    pub(crate) fn empty() -> Self {
        Self::Reply("{}".to_owned())
    }
}
