//! Why a client's request fails, and the CDP error code and text that the client receives.

use serde_json::value::RawValue;

/// The text is shown to the client's user, so it names the next step where there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdpError {
    #[error("Message is not JSON: {0}")]
    NotJson(String),
    #[error("{0}")]
    InvalidRequest(String),
    #[error("'{0}' wasn't found")]
    MethodNotFound(String),
    #[error(
        "'{method}' wasn't found: {reason}. A browser that was started with `tabwire launch --direct` has it."
    )]
    NotForExtensions {
        method: String,
        reason: &'static str,
    },
    #[error(
        "'{method}' wasn't found: {reason}. Send it in the session of a page. A browser that was started with `tabwire launch --direct` has it for the whole browser."
    )]
    OnlyInPages {
        method: String,
        reason: &'static str,
    },
    #[error("{method}: invalid parameters: {reason}")]
    InvalidParams { method: String, reason: String },
    #[error("Session with given id not found.")]
    SessionNotFound,
    #[error("No target with given id found: {0}")]
    TargetNotFound(String),
    #[error(
        "No browser connected. Open the browser that has the Tabwire extension, or run `tabwire install-extension` to add it."
    )]
    ExtensionAbsent,
    #[error(
        "No browser connected. It disconnected {0} seconds ago and has not come back. Open it, or look at the extension's popup there. This command was not sent."
    )]
    ExtensionLost(u64),
    #[error("Cannot start a browser: {0}")]
    LaunchFailed(String),
    #[error("The browser disconnected while this command was running; its outcome is unknown.")]
    ExtensionGone,
    #[error("{0}: no reply from the browser within {1} seconds; the outcome is unknown.")]
    DeadlinePassed(String, u64),
    #[error(
        "{0}: the page did not respond for {1} seconds. It may be busy, paused, or showing a dialog. The outcome is unknown. Try again later or reload the page."
    )]
    PageSilent(String, u64),
    #[error("The page has crashed. Reload it or navigate elsewhere, then try again.")]
    PageCrashed,
    #[error(
        "The debugger was detached from this tab ({0}) while this command was running; its outcome is unknown."
    )]
    Detached(String),
    #[error("The tab was closed.")]
    TabClosed,
    /// The person has stopped all clients of this browser.
    #[error("The person stopped this. Ask them before you go on.")]
    Paused,
    /// The person has taken one tab back.
    #[error("The tab was detached by the person. Ask them before you use it again.")]
    Released,
    /// As one of the two above, for a command that Chrome had already received.
    #[error("{0} This command was running; its outcome is unknown.")]
    Interrupted(Box<CdpError>),
    #[error(
        "The tab shows {0}, and Chrome does not let extensions use that page. Navigate the tab elsewhere with Page.navigate, or close it."
    )]
    Restricted(String),
    #[error("{0}")]
    Refused(String),
    /// Chrome's own error, forwarded unchanged.
    #[error("{message}")]
    Chrome {
        code: i64,
        message: String,
        data: Option<String>,
    },
}

impl CdpError {
    /// Parameters that are well-formed and cannot be accepted, in Chrome's own words where it has
    /// some.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::Chrome {
            code: -32602,
            message: message.into(),
            data: None,
        }
    }

    /// For a command that was in flight when this happened.
    #[must_use]
    pub fn interrupting(self) -> Self {
        Self::Interrupted(Box::new(self))
    }

    pub fn code(&self) -> i64 {
        match self {
            Self::NotJson(_) => -32700,
            Self::InvalidRequest(_) => -32600,
            Self::MethodNotFound(_) | Self::NotForExtensions { .. } | Self::OnlyInPages { .. } => {
                -32601
            }
            Self::InvalidParams { .. } => -32602,
            Self::SessionNotFound => -32001,
            Self::Chrome { code, .. } => *code,
            Self::TargetNotFound(_)
            | Self::ExtensionAbsent
            | Self::ExtensionLost(_)
            | Self::LaunchFailed(_)
            | Self::ExtensionGone
            | Self::DeadlinePassed(..)
            | Self::PageSilent(..)
            | Self::PageCrashed
            | Self::Detached(_)
            | Self::TabClosed
            | Self::Paused
            | Self::Released
            | Self::Interrupted(_)
            | Self::Restricted(_)
            | Self::Refused(_) => -32000,
        }
    }

    /// An error reply from the extension: plain text, or Chrome's own `{code, message, data}`.
    pub fn from_extension(error: &RawValue) -> Self {
        #[derive(serde::Deserialize)]
        struct Coded {
            #[serde(default = "server_error")]
            code: i64,
            message: String,
            data: Option<serde_json::Value>,
        }
        fn server_error() -> i64 {
            -32000
        }
        if let Ok(text) = serde_json::from_str::<String>(error.get()) {
            return Self::Chrome {
                code: -32000,
                message: text,
                data: None,
            };
        }
        match serde_json::from_str::<Coded>(error.get()) {
            Ok(coded) => Self::Chrome {
                code: coded.code,
                message: coded.message,
                data: coded.data.map(|data| {
                    data.as_str()
                        .map_or_else(|| data.to_string(), str::to_owned)
                }),
            },
            Err(_) => Self::Chrome {
                code: -32000,
                message: error.get().to_owned(),
                data: None,
            },
        }
    }
}
