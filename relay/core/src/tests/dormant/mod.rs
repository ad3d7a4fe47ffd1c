//! Dormant tabs: the relay answers init commands itself, the first other command wakes the tab, and
//! the ids that clients have received stay valid.

mod chromedriver;
mod frame_connections;
mod frame_navigation;
mod frame_targets;
mod frames;
mod init;
mod playwright_helper;
mod release;
mod restricted;
mod stable_ids;
mod tab_events;
mod title;
mod waiting;
mod waking;

use super::script::{Messages, Script, Session, playwright_init};

/// A dormant page to which a client has sent everything that Playwright sends, and what the client
/// received.
fn initialized_page() -> (Script, Session, Messages) {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    for (method, params) in playwright_init() {
        script.send(&page, method, params);
    }
    let received = script.received(&page);
    (script, page, received)
}
