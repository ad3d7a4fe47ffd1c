//! The messages with which relay and extension prove who they are, before anything else passes. The
//! proofs themselves are made and checked outside the core, which has no secrets.
//!
//! challenge → hello → welcome, or busy and the end → browser → tabs

use serde::{Deserialize, Serialize};

/// The relay's first message.
#[derive(Debug, Serialize)]
pub struct Challenge<'a> {
    pub protocol: u32,
    pub nonce: &'a str,
}

/// The extension's answer. Fields that another version may lack are optional, so that the relay can
/// tell it to update.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub protocol: u32,
    #[serde(default)]
    pub install_id: String,
    #[serde(default)]
    pub nonce: String,
    #[serde(default)]
    pub proof: String,
    /// The user wants this browser in place of the connected one.
    #[serde(default)]
    pub take_over: bool,
}

/// The extension may connect.
#[derive(Debug, Serialize)]
pub struct Welcome<'a> {
    pub proof: &'a str,
    /// The relay's version.
    pub version: &'a str,
    /// Missing when the browser connects for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
}

/// Another browser is connected.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Busy<'a> {
    pub proof: &'a str,
    pub version: &'a str,
    /// The name of that browser, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<&'a str>,
    /// Whether the user may choose this browser instead.
    pub can_take_over: bool,
}

/// A browser, as its extension introduces it once the relay has proven itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Browser {
    /// The extension's version.
    pub version: String,
    /// Product and full version as in `Browser.getVersion`, for example `Chrome/156.0.8078.79`.
    pub product: String,
    pub user_agent: String,
    /// `chrome`, `edge`, …: what the browser is named after.
    #[serde(default)]
    pub brand: String,
}

impl Browser {
    /// An extension that speaks only the oldest form of the protocol does not introduce itself.
    pub fn unknown() -> Self {
        Self {
            version: String::new(),
            product: "Chrome".to_owned(),
            user_agent: String::new(),
            brand: "browser".to_owned(),
        }
    }

    /// As in `/json/version`, with an empty revision, which an extension cannot find out.
    pub fn webkit_version(&self) -> String {
        let after = self.user_agent.split_once("AppleWebKit/");
        let number = after.and_then(|(_, rest)| rest.split(' ').next());
        // Chromedriver needs the parentheses and the @, and accepts that nothing follows.
        format!("{} (@)", number.unwrap_or("537.36"))
    }

    /// The first two numbers of V8's version, which follow from Chrome's: V8 15.6 is in Chrome 156. The
    /// others are not known. Empty if the product has no version.
    pub fn v8_version(&self) -> String {
        let version = self
            .product
            .split_once('/')
            .map_or("", |(_, version)| version);
        let milestone = version.split('.').next().unwrap_or_default();
        match milestone.parse::<u32>() {
            Ok(milestone) => format!("{}.{}", milestone / 10, milestone % 10),
            Err(_) => String::new(),
        }
    }
}

/// What the popup shows: this browser's name, who uses it, and who could.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status<'a> {
    pub name: &'a str,
    pub clients: Vec<ClientStatus<'a>>,
    /// Missing while every client needs the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_port: Option<OpenPortStatus>,
}

/// A port through which programs use this browser without a token.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct OpenPortStatus {
    pub port: u16,
    /// When it closes by itself, in milliseconds since 1970.
    pub until: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ClientStatus<'a> {
    pub name: &'a str,
    /// The tabs that this client uses.
    pub tabs: Vec<i64>,
}

/// The text of a message without an id.
pub fn message(method: &str, params: &impl Serialize) -> String {
    serde_json::json!({ "method": method, "params": params }).to_string()
}
