//! The tabs of a scripted browser.

use serde_json::{Value, json};

/// A tab as the extension lists it.
pub fn tab(id: i64) -> Value {
    json!({
        "tabId": id, "targetId": target_of(id), "url": format!("https://example.com/{id}"), "title": format!("Tab {id}"), "status": "complete",
    })
}

/// The DevTools target id of a tab.
pub fn target_of(tab: i64) -> String {
    format!("{:032X}", 0xAB00 + tab)
}
