//! Where a relay listens. Every address is on 127.0.0.1.

use crate::token::Token;

pub const DEFAULT_PORT: u16 = 19222;

/// The URL of a relay's `/cdp`, for the browser with this name or the only one. It contains the
/// token: never log it.
pub fn cdp_url(port: u16, token: &Token, browser: Option<&str>) -> String {
    let url = format!("ws://127.0.0.1:{port}/cdp?token={}", token.reveal());
    match browser {
        Some(name) => format!("{url}&browser={name}"),
        None => url,
    }
}
