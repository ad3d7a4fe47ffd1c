//! What a relay can be asked to do with its open port, which needs no token: the requests and responses
//! of `POST /open-port` and `/close-port`. Ask only a relay that owns the home, because it is sent the
//! token.

use std::io;

use serde::{Deserialize, Serialize};

use crate::query::post_json;
use crate::token::Token;

/// The port that tools for Chrome look for, and the one that is opened unless another is named.
pub const DEFAULT_OPEN_PORT: u16 = 9222;
/// A forgotten port must not stay open for days.
pub const MAX_OPEN_SECONDS: u32 = 8 * 3600;

/// How to open the port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenPortOptions {
    /// When it closes by itself, counted from now.
    pub seconds: u32,
    /// 0: any free one. `None`: the one that is open, or else `DEFAULT_OPEN_PORT`.
    #[serde(default)]
    pub port: Option<u16>,
    /// The only browser that can be used through it. `None`: the only one that is connected.
    #[serde(default)]
    pub browser: Option<String>,
    /// Open it although the relay cannot find out which user connects.
    #[serde(default)]
    pub without_user_check: bool,
}

/// A port that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPortReport {
    pub port: u16,
    /// When it closes by itself, in milliseconds since 1970.
    pub until: u64,
    /// The only browser that can be used through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedPort {
    #[serde(flatten)]
    pub report: OpenPortReport,
    /// Whether it was open before, so that only its end has changed.
    pub extended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedPort {
    /// `None`: no port was open.
    pub port: Option<u16>,
}

/// Opens the port, or moves the end of one that is open.
pub async fn open_port(
    port: u16,
    token: &Token,
    options: &OpenPortOptions,
) -> io::Result<OpenedPort> {
    let body = serde_json::to_string(options)?;
    post_json(port, "/open-port", token, &body).await
}

/// Closes the port, and disconnects whoever uses it.
pub async fn close_port(port: u16, token: &Token) -> io::Result<ClosedPort> {
    post_json(port, "/close-port", token, "{}").await
}
