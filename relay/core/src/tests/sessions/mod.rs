//! Several sessions share one debugger attachment: each receives only what belongs to it, and none
//! disturbs another.

mod domains;
mod lifetime;
mod overrides;

use serde_json::json;

use super::script::{Script, Session};

/// Two clients on one live tab, both with `Runtime` enabled.
pub fn two_clients() -> (Script, [Session; 2]) {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    script.request(&first, "Runtime.enable", json!({}));
    script.make_live(&first);
    script.send(&second, "Runtime.enable", json!({}));
    script.received(&second);
    (script, [first, second])
}

/// Two clients on one live tab that have completed their init.
fn two_initialized_clients() -> (Script, [Session; 2]) {
    let mut script = Script::with_tabs(1);
    let pages = [script.auto_attached_page(), script.auto_attached_page()];
    for page in &pages {
        script.request(page, "Runtime.runIfWaitingForDebugger", json!({}));
    }
    script.make_live(&pages[0]);
    (script, pages)
}
