//! Where a relay listens. Every address is on 127.0.0.1.

use crate::token::Token;

pub const DEFAULT_PORT: u16 = 19222;

/// The URL of a relay's `/cdp`, for the browser with this name or the only one. It contains the
/// token: never log it.
pub fn cdp_url(port: u16, token: &Token, browser: Option<&str>) -> String {
    websocket_url(port, "/cdp", Some(token), browser)
}

/// The URL of a WebSocket of a relay. `token`: `None` for a port that needs none. Otherwise the URL
/// contains it: never log it.
pub fn websocket_url(
    port: u16,
    path: &str,
    token: Option<&Token>,
    browser: Option<&str>,
) -> String {
    let token = token.map(|token| format!("token={}", token.reveal()));
    let browser = browser.map(|name| format!("browser={name}"));
    let parameters: Vec<String> = [token, browser].into_iter().flatten().collect();
    let separator = if parameters.is_empty() { "" } else { "?" };
    let parameters = parameters.join("&");
    format!("ws://127.0.0.1:{port}{path}{separator}{parameters}")
}
