//! The port through which a request has come: the relay's own, where clients show the token, or the
//! open port, which needs none. The guard of that port adds it to every request it admits.

use tabwire_home::websocket_url;

use crate::app::App;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrance {
    port: u16,
    needs_token: bool,
    /// The browser that this entrance leads to; `None` if clients choose it.
    browser: Option<String>,
}

impl Entrance {
    /// The relay's own port.
    pub fn main(port: u16) -> Self {
        Self {
            port,
            needs_token: true,
            browser: None,
        }
    }

    /// The port that needs no token.
    pub fn open(port: u16, browser: Option<String>) -> Self {
        Self {
            port,
            needs_token: false,
            browser,
        }
    }

    pub fn needs_token(&self) -> bool {
        self.needs_token
    }

    pub fn browser(&self) -> Option<&str> {
        self.browser.as_deref()
    }

    /// The address of a WebSocket of the relay, for a client that came through this entrance and asked
    /// for this browser. It may contain the token: never log it. `None` while there is no usable token.
    pub fn websocket_url(&self, app: &App, path: &str, browser: Option<&str>) -> Option<String> {
        let browser = browser.filter(|name| self.browser() != Some(*name));
        let token = if self.needs_token {
            Some(app.secrets.token().0?)
        } else {
            None
        };
        Some(websocket_url(self.port, path, token.as_ref(), browser))
    }
}
