//! The debugger is detached as soon as no client needs it.

use serde_json::json;

use crate::tests::script::{Script, attached_tab, main_frame};

#[test]
fn detaches_when_the_last_client_disconnects() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    script.make_live(&first);
    script.disconnect(first.client);
    assert!(script.calls().is_empty());
    script.disconnect(second.client);
    script.next_call("detachTab");
}

#[test]
fn detaches_when_the_client_disconnects_while_its_tab_wakes() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.send(&page, "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.disconnect(page.client);
    script.reply(&attach, json!({}));
    for call in script.calls() {
        script.reply(&call, json!({ "frameTree": main_frame(1) }));
    }
    script.next_call("detachTab");
    assert!(script.received(&page).is_empty());
}

#[test]
fn detaches_when_the_client_disconnects_with_a_command_in_flight() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.make_live(&page);
    script.send(&page, "Runtime.evaluate", json!({ "awaitPromise": true }));
    script.calls();
    script.disconnect(page.client);
    script.next_call("detachTab");
    assert!(script.is_idle());
}

#[test]
fn releases_a_tab_created_for_a_client_that_has_disconnected() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.auto_attached_client();
    let params = json!({ "url": "about:blank" });
    script.send(client, "Target.createTarget", params);
    let call = script.next_call("createTab");
    script.disconnect(client);
    script.reply(&call, attached_tab(7));
    script.next_call("detachTab");
}
