//! A page that does not respond while its tab wakes can be left by a navigation, after which the
//! tab wakes again.

use serde_json::json;

use crate::tests::script::{Script, Session};

fn navigate(script: &mut Script, page: &Session) -> i64 {
    let params = json!({ "url": "https://site/2" });
    script.send(page, "Page.navigate", params)
}

#[test]
fn navigation_leaves_an_unresponsive_page_and_wakes_the_next_one() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.request(&page, "Page.enable", json!({}));
    let evaluation = script.start_waking(&page);
    script.calls();
    let navigation = navigate(&mut script, &page);
    let calls = script.elapse(11);
    let received = script.received(&page);
    let error = received.error(evaluation);
    assert!(error.contains("did not respond"), "{error}");
    assert!(!calls.has_call("detachTab"));
    let result = json!({ "frameId": "T1", "loaderId": "next" });
    script.reply(calls.command("Page.navigate"), result);
    let received = script.received(&page);
    assert_eq!(received.result(navigation)["loaderId"], "next");

    let params = json!({ "expression": "document.title" });
    let title = script.send(&page, "Runtime.evaluate", params);
    script.next_call("detachTab");
    let next = json!({ "id": "T1", "loaderId": "next", "url": "https://site/2" });
    script.finish_waking_with_tree(&json!({ "frame": next }));
    let received = script.received(&page);
    assert_eq!(received.event("Page.frameNavigated")["frame"], next);
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": { "value": "two" } }));
    assert_eq!(script.received(&page)[0]["id"], title);
}

#[test]
fn rejected_navigation_detaches_from_an_unresponsive_page() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let navigation = navigate(&mut script, &page);
    script.accept_attach();
    let later = script.send(&page, "Runtime.evaluate", json!({}));
    let calls = script.elapse(11);
    let error = json!({ "code": -32000, "message": "Cannot navigate to invalid URL" });
    script.reply_error(calls.command("Page.navigate"), error);
    let received = script.received(&page);
    assert_eq!(received.error(navigation), "Cannot navigate to invalid URL");
    received.error(later);
    script.next_call("detachTab");
    script.send(&page, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.next_command("Runtime.evaluate");
}

#[test]
fn client_that_disconnects_while_navigating_does_not_block_others() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    navigate(&mut script, &first);
    script.accept_attach();
    script.elapse(11);
    let waiting = script.send(&second, "Runtime.evaluate", json!({}));
    script.disconnect(first.client);
    script.received(&second).error(waiting);
    script.next_call("detachTab");
    script.send(&second, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.next_command("Runtime.evaluate");
}
