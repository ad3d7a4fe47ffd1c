//! What a page has logged: all of it for a new client, and nothing twice for one whose tab is attached
//! again.

use serde_json::{Value, json};

use super::script::{Messages, Script, Session, main_frame, tab};

/// A live page whose client receives what it logs.
fn logging_page(script: &mut Script) -> Session {
    let page = script.auto_attached_page();
    enable(script, &page);
    script.make_live(&page);
    page
}

fn enable(script: &mut Script, page: &Session) {
    script.send(page, "Runtime.enable", json!({}));
    script.send(page, "Log.enable", json!({}));
}

/// The page logs, or Chrome repeats what it has logged.
fn log(script: &mut Script, times: &[f64]) {
    for time in times {
        let params = json!({ "type": "log", "args": [], "timestamp": time });
        script.cdp_event(1, "Runtime.consoleAPICalled", params);
        let params = json!({ "entry": { "text": "x", "timestamp": time } });
        script.cdp_event(1, "Log.entryAdded", params);
    }
}

/// The worker dies, and the debugger is attached again.
fn attach_again(script: &mut Script, repeated: &[f64]) {
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    finish_waking(script, repeated);
}

/// Chrome repeats what the page has logged when its domains are enabled.
fn finish_waking(script: &mut Script, repeated: &[f64]) {
    script.accept_attach();
    log(script, repeated);
    script.answer_all_with_tree(&main_frame(1));
    assert!(script.is_live(1));
}

#[track_caller]
fn assert_received(received: &Messages, expected: &[f64]) {
    let times = |method, path| {
        let events = received.events(method);
        let time = |event: &Value| event.pointer(path).and_then(Value::as_f64).unwrap();
        events.map(time).collect::<Vec<_>>()
    };
    assert_eq!(times("Runtime.consoleAPICalled", "/timestamp"), expected);
    assert_eq!(times("Log.entryAdded", "/entry/timestamp"), expected);
}

#[test]
fn tab_that_is_attached_again_repeats_nothing() {
    let mut script = Script::with_tabs(1);
    let page = logging_page(&mut script);
    log(&mut script, &[1.5, 2.5, 2.5]);
    assert_received(&script.received(&page), &[1.5, 2.5, 2.5]);
    attach_again(&mut script, &[1.5, 2.5, 2.5, 2.5, 3.5]);
    assert_received(&script.received(&page), &[2.5, 3.5]);
    attach_again(&mut script, &[1.5, 2.5, 2.5, 2.5, 3.5]);
    assert_received(&script.received(&page), &[]);
    log(&mut script, &[3.5, 4.5]);
    assert_received(&script.received(&page), &[3.5, 4.5]);
}

#[test]
fn new_client_receives_what_the_page_logged_for_another() {
    let mut script = Script::with_tabs(1);
    let first = logging_page(&mut script);
    log(&mut script, &[1.5, 2.5]);
    script.disconnect(first.client);
    script.answer_calls();
    let second = script.auto_attached_page();
    enable(&mut script, &second);
    script.received(&second);
    script.send(&second, "Runtime.evaluate", json!({}));
    finish_waking(&mut script, &[1.5, 2.5]);
    assert_received(&script.received(&second), &[1.5, 2.5]);
}

#[test]
fn session_that_had_received_nothing_receives_everything() {
    let mut script = Script::with_tabs(1);
    let first = logging_page(&mut script);
    log(&mut script, &[1.5, 2.5]);
    let second = script.auto_attached_page();
    enable(&mut script, &second);
    script.answer_calls();
    script.received(&first);
    script.received(&second);
    attach_again(&mut script, &[1.5, 2.5, 3.5]);
    let [first, second] = [first, second].map(|page| script.received(&page));
    assert_received(&first, &[3.5]);
    assert_received(&second, &[1.5, 2.5, 3.5]);
}

#[test]
fn clock_that_is_set_back_hides_nothing() {
    let mut script = Script::with_tabs(1);
    let page = logging_page(&mut script);
    log(&mut script, &[8.5, 9.5]);
    script.received(&page);
    attach_again(&mut script, &[8.5, 9.5, 1.5, 2.5]);
    assert_received(&script.received(&page), &[1.5, 2.5]);
    attach_again(&mut script, &[8.5, 9.5, 1.5, 2.5, 3.5]);
    assert_received(&script.received(&page), &[3.5]);
}

#[test]
fn next_document_starts_a_new_log() {
    let mut script = Script::with_tabs(1);
    let page = logging_page(&mut script);
    log(&mut script, &[8.5, 9.5]);
    script.received(&page);
    // Chrome forgets what the previous document logged.
    attach_again(&mut script, &[1.5]);
    assert_received(&script.received(&page), &[1.5]);
}
