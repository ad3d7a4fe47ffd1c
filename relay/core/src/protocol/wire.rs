//! The protocol between relay and extension: calls, replies, events, and frames that carry several
//! messages. `fixtures/wire/` has one file per message. This module and the extension are both
//! tested against them.

mod long_reply;
mod tab_events;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::download::DownloadAction;
use super::ids::{CallId, ChildId, TabId};
pub use long_reply::LongReply;
pub use tab_events::{TabDetached, TabNavigated, TabRemoved, TabReplaced, TabThrottled};

/// A call to the extension.
#[derive(Debug, Clone)]
pub enum Call<'a> {
    ListTabs(bool), // Whether focus may be emulated, as in `Config`.
    AttachTab {
        tab: TabId,
    },
    DetachTab {
        tab: TabId,
    },
    CreateTab {
        url: &'a str,
        new_window: bool,
        active: bool,
        /// Whether the debugger is attached at once, because the client is about to use the tab.
        attach: bool,
        /// Size, position and state of the new window.
        window: Option<&'a RawValue>,
        /// The name of the tab group that it belongs into.
        group: Option<&'a str>,
    },
    CloseTab {
        tab: TabId,
    },
    ActivateTab {
        tab: TabId,
    },
    CdpCommand {
        tab: TabId,
        method: &'a str,
        params: &'a str,
        child: Option<&'a ChildId>,
    },
    /// A CDP command that the extension carries out without a debugger.
    BrowserCommand {
        method: &'a str,
        params: &'a str,
        /// The tab that the command is about.
        tab: Option<TabId>,
    },
    /// From now on, downloads in tabs that agents use are reported, or not any more.
    WatchDownloads {
        enabled: bool,
    },
    ControlDownload {
        guid: &'a str,
        action: DownloadAction,
    },
    /// All rules for permissions of sites, instead of those from before.
    SetPermissions {
        rules: &'a str,
    },
}

impl Call<'_> {
    pub fn name(&self) -> &'static str {
        match self {
            Self::ListTabs(_) => "listTabs",
            Self::AttachTab { .. } => "attachTab",
            Self::DetachTab { .. } => "detachTab",
            Self::CreateTab { .. } => "createTab",
            Self::CloseTab { .. } => "closeTab",
            Self::ActivateTab { .. } => "activateTab",
            Self::CdpCommand { .. } => "cdpCommand",
            Self::BrowserCommand { .. } => "browserCommand",
            Self::WatchDownloads { .. } => "watchDownloads",
            Self::ControlDownload { .. } => "controlDownload",
            Self::SetPermissions { .. } => "setPermissions",
        }
    }

    pub fn tab_id(&self) -> Option<TabId> {
        match self {
            Self::AttachTab { tab }
            | Self::DetachTab { tab }
            | Self::CloseTab { tab }
            | Self::ActivateTab { tab }
            | Self::CdpCommand { tab, .. } => Some(*tab),
            Self::BrowserCommand { tab, .. } => *tab,
            Self::ListTabs(_)
            | Self::CreateTab { .. }
            | Self::WatchDownloads { .. }
            | Self::ControlDownload { .. }
            | Self::SetPermissions { .. } => None,
        }
    }

    /// Whether something happens in the browser because of it. The others list, release and clean
    /// up.
    pub fn acts(&self) -> bool {
        match self {
            Self::AttachTab { .. }
            | Self::CreateTab { .. }
            | Self::CloseTab { .. }
            | Self::ActivateTab { .. }
            | Self::CdpCommand { .. }
            | Self::BrowserCommand { .. } => true,
            Self::ListTabs(_)
            | Self::DetachTab { .. }
            | Self::WatchDownloads { .. }
            | Self::ControlDownload { .. }
            // Also undoes what a client has set.
            | Self::SetPermissions { .. } => false,
        }
    }

    pub fn to_text(&self, id: CallId) -> String {
        let name = self.name();
        let mut text = String::with_capacity(128);
        let _ = write!(text, "{{\"id\":{},\"method\":\"{name}\"", id.0);
        match self {
            Self::ListTabs(true) => {}
            Self::ListTabs(false) => text.push_str(r#","params":{"focusEmulation":false}"#),
            Self::AttachTab { tab }
            | Self::DetachTab { tab }
            | Self::CloseTab { tab }
            | Self::ActivateTab { tab } => {
                let _ = write!(text, ",\"params\":{{\"tabId\":{tab}}}");
            }
            Self::CreateTab {
                url,
                new_window,
                active,
                attach,
                window,
                group,
            } => {
                let url = serde_json::Value::from(*url);
                let _ = write!(
                    text,
                    ",\"params\":{{\"url\":{url},\"newWindow\":{new_window},\"active\":{active},\"attach\":{attach}"
                );
                if let Some(window) = window {
                    let _ = write!(text, ",\"window\":{window}");
                }
                if let Some(group) = group {
                    let _ = write!(text, ",\"group\":{}", serde_json::Value::from(*group));
                }
                text.push('}');
            }
            Self::WatchDownloads { enabled } => {
                let _ = write!(text, ",\"params\":{{\"enabled\":{enabled}}}");
            }
            Self::ControlDownload { guid, action } => {
                let (guid, action) = (serde_json::Value::from(*guid), action.as_str());
                let _ = write!(
                    text,
                    ",\"params\":{{\"guid\":{guid},\"action\":\"{action}\"}}"
                );
            }
            Self::SetPermissions { rules } => {
                let _ = write!(text, ",\"params\":{{\"rules\":{rules}}}");
            }
            Self::BrowserCommand {
                method,
                params,
                tab,
            } => {
                text.reserve(method.len() + params.len());
                let method = serde_json::Value::from(*method);
                let _ = write!(
                    text,
                    ",\"params\":{{\"method\":{method},\"params\":{params}"
                );
                if let Some(tab) = tab {
                    let _ = write!(text, ",\"tabId\":{tab}");
                }
                text.push('}');
            }
            Self::CdpCommand {
                tab,
                method,
                params,
                child,
            } => {
                text.reserve(method.len() + params.len());
                let method = serde_json::Value::from(*method);
                let _ = write!(
                    text,
                    ",\"params\":{{\"tabId\":{tab},\"method\":{method},\"params\":{params}"
                );
                if let Some(child) = child {
                    let _ = write!(
                        text,
                        ",\"childSessionId\":{}",
                        serde_json::Value::from(child.as_str())
                    );
                }
                text.push('}');
            }
        }
        text.push('}');
        text
    }
}

/// Checks that the extension is alive; it answers `pong`.
pub const PING: &str = r#"{"method":"ping"}"#;

/// A message from the extension: a reply if it has an `id`, otherwise an event.
#[derive(Debug, Deserialize)]
pub struct Incoming<'a> {
    pub id: Option<u64>,
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// A frame is one message, or an array of messages that were queued together. Invalid JSON is an
/// error. JSON that is not a message is skipped; the other messages of its frame are kept.
pub fn parse_frame(text: &str) -> Result<Vec<Incoming<'_>>, serde_json::Error> {
    if !text.trim_start().starts_with('[') {
        return match serde_json::from_str(text) {
            Ok(message) => Ok(vec![message]),
            Err(error) if error.is_data() => Ok(Vec::new()),
            Err(error) => Err(error),
        };
    }
    // Fast path: our own extension only sends well-formed messages.
    if let Ok(messages) = serde_json::from_str(text) {
        return Ok(messages);
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(elements
        .into_iter()
        .filter_map(|element| serde_json::from_str(element.get()).ok())
        .collect())
}

/// A tab in the extension's lists and events. Everything but the id is optional: an extension that
/// speaks only the oldest form of the protocol sends just id, url and title.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TabReport {
    #[serde(alias = "id")]
    pub tab_id: i64,
    pub url: Option<String>,
    pub title: Option<String>,
    pub target_id: Option<String>,
    pub status: Option<LoadStatus>,
    pub opener_tab_id: Option<i64>,
    pub window_id: Option<i64>,
    /// This extension's debugger is already attached: the attachment outlived a service worker.
    #[serde(default)]
    pub attached: bool,
    /// The cross-process frames of its document.
    pub frames: Option<Vec<RemoteFrame>>,
    /// Whether the tab shows a page that Chrome does not let extensions debug.
    pub restricted: Option<bool>,
    /// Whether the tab shows a PDF.
    pub pdf: Option<bool>,
}

/// A frame in a process of its own, which is a target of its own.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RemoteFrame {
    pub target_id: String,
    pub url: String,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LoadStatus {
    Loading,
    /// The document is parsed; its resources are still loading.
    Interactive,
    Complete,
    Unloaded,
}

/// The reply to `listTabs`. The oldest form of the protocol sends a bare list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum TabList {
    #[serde(rename_all = "camelCase")]
    Named {
        tabs: Vec<TabReport>,
        /// Chrome has rules for permissions that outlived a service worker or a relay.
        #[serde(default)]
        has_permissions: bool,
        /// The person has stopped all clients.
        #[serde(default)]
        paused: bool,
    },
    Bare(Vec<TabReport>),
}

impl TabList {
    pub fn has_permissions(&self) -> bool {
        matches!(
            self,
            Self::Named {
                has_permissions: true,
                ..
            }
        )
    }

    pub fn is_paused(&self) -> bool {
        matches!(self, Self::Named { paused: true, .. })
    }

    pub fn into_tabs(self) -> Vec<TabReport> {
        match self {
            Self::Named { tabs, .. } | Self::Bare(tabs) => tabs,
        }
    }
}

/// A debugger event with unparsed parameters.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CdpEvent<'a> {
    pub tab_id: TabId,
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub child_session_id: Cow<'a, str>,
}

/// A frame with a single debugger event: by far the most frequent one, so it is parsed in one pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFrame<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: CdpEvent<'a>,
}

impl<'a> EventFrame<'a> {
    /// `None` for any other frame, which then takes the general path.
    pub fn parse(text: &'a str) -> Option<CdpEvent<'a>> {
        if !text.starts_with(r#"{"method":"cdpEvent","#) {
            return None;
        }
        let frame: Self = serde_json::from_str(text).ok()?;
        (frame.method == "cdpEvent").then_some(frame.params)
    }
}

#[cfg(test)]
mod tests;
