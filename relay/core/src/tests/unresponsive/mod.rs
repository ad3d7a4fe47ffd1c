//! Pages that do not respond: stopped, crashed, showing a dialog, or waiting for a server.

mod commands;
mod leaving;
mod navigation;

use serde_json::json;

use super::script::{Script, Session};

/// A client's session on a live tab, with an evaluation in flight that the page never answers.
fn page_with_evaluation() -> (Script, Session) {
    let mut script = Script::with_tabs(2);
    let page = script.auto_attached_page();
    script.make_live(&page);
    let params = json!({ "expression": "work()" });
    script.send(&page, "Runtime.evaluate", params);
    script.next_command("Runtime.evaluate");
    (script, page)
}
