//! Late joins: a client that initializes a tab which others already use gets its replies at once,
//! whether or not the page responds.

mod barriers;
mod contexts;
mod frames;
mod init;
mod waking;

use serde_json::{Value, json};

use super::script::{CHILD_FRAME, Messages, Script, Session, playwright_init, tree_with_child};

/// The world that the late client creates.
const LATE_WORLD: &str = "late";

/// A tab with a child frame that a client like Playwright uses. Its page responds only when the
/// test replies.
fn used_tab() -> (Script, Session) {
    let mut script = Script::with_tabs(2);
    let page = script.auto_attached_page();
    for (method, params) in playwright_init() {
        script.request(&page, method, params);
    }
    let params = json!({ "expression": "1" });
    script.send(&page, "Runtime.evaluate", params);
    script.finish_waking_with_tree(&tree_with_child());
    script.create_context(3, "T1", "");
    script.create_context(5, CHILD_FRAME, "");
    script.calls();
    script.received(&page);
    (script, page)
}

/// A live tab with this frame tree that a client uses without enabling `Page`.
fn tab_used_without_page_domain(tree: &Value) -> (Script, Session) {
    let mut script = Script::with_tabs(1);
    let page = script.explicitly_attached_page("T1");
    script.send(&page, "Runtime.evaluate", json!({}));
    script.finish_waking_with_tree(tree);
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({}));
    script.received(&page);
    (script, page)
}

/// A new client initializes the first tab as Playwright does, with a world of this name. Every
/// command must succeed at once. Returns what the client received.
fn join(script: &mut Script, world: &str) -> (Session, Messages) {
    let page = script.auto_attached_page();
    let mut received = Messages::default();
    for (method, mut params) in playwright_init() {
        if params["worldName"].is_string() {
            params["worldName"] = world.into();
        }
        let id = script.send(&page, method, params);
        let messages = script.received(&page);
        assert!(messages.result(id).is_object(), "{method}: {messages:?}");
        received.append(messages);
    }
    (page, received)
}

/// Evaluates in a context and returns the id of the request.
fn evaluate_in(script: &mut Script, page: &Session, context: i64) -> i64 {
    let params = json!({ "contextId": context, "expression": "1" });
    script.send(page, "Runtime.evaluate", params)
}
