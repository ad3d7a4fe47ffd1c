//! The size of a page waits until its client uses the tab: client libraries set it in every page.

use serde_json::{Value, json};

use crate::tests::script::{Script, Session};

const SET: &str = "Emulation.setDeviceMetricsOverride";
const TOUCH: &str = "Emulation.setTouchEmulationEnabled";
const CLEAR: &str = "Emulation.clearDeviceMetricsOverride";

fn size(width: i64) -> Value {
    json!({ "width": width, "height": 600, "deviceScaleFactor": 1, "mobile": false })
}

/// A client that has initialized its page and set its size, as Puppeteer does.
fn resized_page(script: &mut Script, width: i64) -> Session {
    let page = script.auto_attached_page();
    let run = "Runtime.runIfWaitingForDebugger";
    assert_eq!(script.request(&page, run, json!({})), json!({}));
    assert_eq!(script.request(&page, SET, size(width)), json!({}));
    let params = json!({ "enabled": false });
    assert_eq!(script.request(&page, TOUCH, params), json!({}));
    page
}

#[test]
fn size_of_a_dormant_tab_reaches_it_before_the_first_command() {
    let mut script = Script::with_tabs(1);
    let page = resized_page(&mut script, 800);
    assert!(script.calls().is_empty(), "nothing is attached");
    script.send(&page, "Page.getLayoutMetrics", json!({}));
    let replayed = script.finish_waking();
    for method in [SET, TOUCH] {
        assert!(replayed.iter().any(|m| m == method), "{replayed:?}");
    }
    script.next_command("Page.getLayoutMetrics");
}

#[test]
fn later_size_replaces_the_one_that_waits() {
    let mut script = Script::with_tabs(1);
    let page = resized_page(&mut script, 800);
    script.request(&page, SET, size(400));
    script.start_waking(&page);
    let calls = script.calls();
    let sizes = calls.iter().filter(|call| call.command() == SET);
    let sizes: Vec<_> = sizes.map(|call| &call.params()["width"]).collect();
    assert_eq!(sizes, [400]);
}

#[test]
fn cleared_size_never_reaches_the_tab() {
    let mut script = Script::with_tabs(1);
    let page = resized_page(&mut script, 800);
    script.request(&page, CLEAR, json!({}));
    script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    assert!(!replayed.iter().any(|m| m == SET), "{replayed:?}");
}

#[test]
fn size_that_chrome_rejects_wakes_the_tab() {
    let mut script = Script::with_tabs(1);
    let page = resized_page(&mut script, 800);
    let id = script.send(&page, SET, size(-1));
    script.finish_waking();
    let call = script.next_command(SET);
    let error = json!({ "code": -32602, "message": "Width and height values must be positive" });
    script.reply_error(&call, error);
    assert_eq!(script.received(&page).error_code(id), -32602);
}

#[test]
fn size_of_a_client_that_only_connected_does_not_reach_a_tab_that_another_uses() {
    for connects_first in [true, false] {
        let mut script = Script::with_tabs(1);
        let resized = connects_first.then(|| resized_page(&mut script, 800));
        let other = script.auto_attached_page();
        script.send(&other, "Runtime.evaluate", json!({}));
        let replayed = script.finish_waking();
        assert!(!replayed.iter().any(|m| m == SET), "{replayed:?}");
        script.answer_calls();
        let resized = resized.unwrap_or_else(|| resized_page(&mut script, 800));
        assert!(!script.calls().has_command(SET));
        script.disconnect(resized.client);
        assert!(!script.calls().has_command(CLEAR), "nothing to undo");
    }
}

#[test]
fn size_reaches_a_live_tab_when_its_client_uses_it_and_is_undone_when_it_leaves() {
    let mut script = Script::with_tabs(1);
    let other = script.auto_attached_page();
    script.make_live(&other);
    let page = resized_page(&mut script, 800);
    script.calls();
    script.send(&page, "Page.captureScreenshot", json!({}));
    let calls = script.calls();
    assert_eq!(calls.commands(), [SET, TOUCH, "Page.captureScreenshot"]);
    script.send(&page, SET, size(400));
    script.next_command(SET);
    script.disconnect(page.client);
    let calls = script.calls();
    assert!(calls.has_command(CLEAR), "{calls:?}");
}

#[test]
fn size_set_by_one_session_applies_when_another_session_of_the_client_uses_the_tab() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let explicit = script.attach_to_target(page.client, "T1");
    assert_eq!(script.request(&explicit, SET, size(800)), json!({}));
    script.send(&page, "Page.captureScreenshot", json!({}));
    let replayed = script.finish_waking();
    assert!(replayed.iter().any(|m| m == SET), "{replayed:?}");
    script.answer_calls();
    script.send(&explicit, SET, size(400));
    script.next_command(SET);
}
