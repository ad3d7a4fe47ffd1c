//! Tabs that were in use when the extension was lost are attached again by themselves, unless the
//! person has detached them before.

use serde_json::json;

use super::script::{Script, Session, tab};

fn live_page() -> (Script, Session) {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.make_live(&page);
    (script, page)
}

#[track_caller]
fn assert_stays_detached(script: &mut Script, page: &Session) {
    script.calls();
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    let calls = script.calls();
    assert!(calls.iter().all(|call| call.name() != "attachTab"));
    script.received(page);
}

#[test]
fn tab_in_use_is_attached_again() {
    let (mut script, _) = live_page();
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    assert_eq!(script.next_call("attachTab").tab(), 1);
}

#[test]
fn tab_whose_wake_was_interrupted_is_attached_again() {
    let (mut script, _) = live_page();
    for _ in 0..2 {
        script.disconnect_extension();
        script.connect_browser(vec![tab(1)]);
        assert_eq!(script.next_call("attachTab").tab(), 1);
    }
}

#[test]
fn tab_that_was_detached_is_attached_again_only_for_a_command() {
    let (mut script, page) = live_page();
    script.detach_debugger(1, "the person has turned Tabwire off");
    assert_stays_detached(&mut script, &page);
    script.make_live(&page);
}

#[test]
fn tab_that_the_person_took_back_stays_detached() {
    let (mut script, page) = live_page();
    script.detach_debugger(1, "canceled_by_user");
    assert_stays_detached(&mut script, &page);
}

#[test]
fn tab_stays_detached_after_a_pause() {
    let (mut script, page) = live_page();
    script.extension_event("pause", json!({}));
    script.extension_event("resume", json!({}));
    assert_stays_detached(&mut script, &page);
}
