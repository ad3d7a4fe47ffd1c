//! What happens to tabs, beside their reports: the parameters of the extension's events.

use serde::Deserialize;

use super::TabReport;
use crate::protocol::ids::TabId;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabDetached {
    pub tab_id: TabId,
    #[serde(default)]
    pub reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabRemoved {
    pub tab_id: TabId,
}

/// A tab's URL changed: a new document, or a navigation within the same document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabNavigated {
    pub tab_id: TabId,
    pub url: String,
    #[serde(default)]
    pub same_document: bool,
}

/// Chrome replaced this tab with another one (a prerendered page was activated).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabReplaced {
    pub removed_tab_id: TabId,
    #[serde(flatten)]
    pub added: TabReport,
}

/// Whether the extension slows a tab down, because its events held up those of all others.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TabThrottled {
    pub tab_id: TabId,
    /// Set if the events come from a child target of the tab.
    #[serde(default)]
    pub child_session_id: String,
    /// How much slower it runs. 1 when this is over.
    pub rate: u32,
    /// How far the extension was behind.
    #[serde(default)]
    pub lag_ms: u64,
    #[serde(default)]
    pub events_per_second: u64,
}
