//! The extension's link: greeting, pings, deadlines, and coming back.

use std::time::Duration;

use serde_json::json;

use super::script::{Script, main_frame, tab};
use crate::Input;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_extension_is_asked_every_five_seconds_and_dropped_when_it_does_not_answer() {
    let mut script = Script::with_tabs(1);
    script.advance(5 * SECOND);
    script.next_call("ping");
    script.extension_event("pong", json!({}));
    script.advance(5 * SECOND);
    script.next_call("ping");
    script.advance(9 * SECOND);
    assert_eq!(script.closed_extension, None);
    script.advance(SECOND);
    assert!(
        script
            .closed_extension
            .as_ref()
            .is_some_and(|reason| reason.contains("ping"))
    );
}

#[test]
fn any_word_of_the_extension_counts_as_an_answer() {
    let mut script = Script::with_tabs(1);
    for _ in 0..10 {
        script.advance(5 * SECOND);
        script.extension_event("tabUpdated", json!({ "tabId": 1, "title": "x" }));
    }
    assert_eq!(script.closed_extension, None);
}

#[test]
fn an_extension_that_does_not_greet_is_dropped_and_clients_are_told() {
    let mut script = Script::new();
    script.input(Input::ExtensionOpened);
    let client = script.client();
    let id = script.request(client, None, "Browser.getVersion", json!({}));
    script.advance(5 * SECOND);
    assert!(script.closed_extension.is_some());
    let heard = script.heard(client);
    assert_eq!((heard.len(), heard[0]["id"].as_i64()), (1, Some(id)));
}

#[test]
fn an_extension_of_another_protocol_is_told_so() {
    let mut script = Script::new();
    script.input(Input::ExtensionOpened);
    script.extension_event("hello", json!({ "protocol": 7, "version": "9", "browser": "B", "userAgent": "U", "installId": "i" }));
    assert!(
        script
            .closed_extension
            .as_ref()
            .is_some_and(|reason| reason.contains("protocol 7"))
    );
}

#[test]
fn a_command_under_way_when_the_extension_goes_has_an_unknown_outcome_and_is_not_sent_again() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    let id = script.request(
        client,
        Some(&sessions[0]),
        "Input.dispatchMouseEvent",
        json!({}),
    );
    script.next_command("Input.dispatchMouseEvent");
    script.input(Input::ExtensionClosed);
    let heard = script.heard(client);
    assert_eq!(heard[0]["id"], id);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("outcome is unknown")
    );
    script.connect_browser(vec![tab(1)]);
    assert!(
        script
            .calls()
            .iter()
            .all(|call| call["params"]["method"] != "Input.dispatchMouseEvent")
    );
}

#[test]
fn sessions_outlive_a_restart_of_the_extension() {
    let mut script = Script::with_tabs(2);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    script.input(Input::ExtensionClosed);
    let mut still_attached = tab(1);
    still_attached["attached"] = true.into();
    script.connect_browser(vec![still_attached, tab(3)]);
    let heard = script.heard(client);
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Target.detachedFromTarget" && m["params"]["targetId"] == "T2"),
        "{heard:?}"
    );
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Target.attachedToTarget"
                && m["params"]["targetInfo"]["targetId"] == "T3")
    );
    // What the tab did meanwhile is not known, so it is woken anew though nobody has asked yet.
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.next_call("detachTab");
    script.finish_waking(&main_frame(1));
    script.next_command("Runtime.evaluate");
}

#[test]
fn a_tab_whose_debugger_did_not_outlive_the_worker_is_woken_anew() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    script.input(Input::ExtensionClosed);
    script.connect_browser(vec![tab(1)]);
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
}

#[test]
fn a_debugger_that_outlived_its_clients_is_taken_off() {
    let mut script = Script::new();
    let mut left_over = tab(1);
    left_over["attached"] = true.into();
    script.connect_browser(vec![left_over]);
    assert_eq!(script.next_call("detachTab")["params"]["tabId"], 1);
}

#[test]
fn an_attach_that_chrome_never_answers_fails_after_its_deadline() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let id = script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
    for _ in 0..10 {
        script.advance(SECOND);
        script.extension_event("pong", json!({}));
    }
    let heard = script.heard(client);
    assert_eq!(heard[0]["id"], id);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("10 seconds")
    );
}

#[test]
fn a_frame_that_cannot_be_read_may_have_held_a_reply_so_everyone_is_answered() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    let id = script.request(client, Some(&sessions[0]), "Page.navigate", json!({}));
    script.input(Input::ExtensionText(r#"[5,{"id":7,"res"#));
    assert_eq!(script.heard(client)[0]["id"], id);
    assert!(script.closed_extension.is_some());
}

#[test]
fn a_reply_beside_nonsense_still_reaches_its_client() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    let id = script.request(client, Some(&sessions[0]), "Page.navigate", json!({}));
    let call = script.next_command("Page.navigate");
    script.input(Input::ExtensionText(&format!(
        r#"[5,null,{{"id":{},"result":{{}}}}]"#,
        call["id"]
    )));
    assert_eq!(script.heard(client)[0]["id"], id);
    assert_eq!(script.closed_extension, None);
}

#[test]
fn a_navigation_while_the_extension_was_away_is_told_when_it_is_back() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.ask(client, Some(&sessions[0]), "Page.enable", json!({}));
    script.input(Input::ExtensionClosed);
    let mut moved = tab(1);
    moved["url"] = "https://site/elsewhere".into();
    script.connect_browser(vec![moved]);
    let heard = script.heard(client);
    let navigated = heard
        .iter()
        .find(|m| m["method"] == "Page.frameNavigated")
        .expect("told");
    assert_eq!(
        navigated["params"]["frame"]["url"],
        "https://site/elsewhere"
    );
}

#[test]
fn the_tabs_of_a_browser_that_stays_away_are_gone() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.attached_client();
    script.input(Input::ExtensionClosed);
    script.advance(39 * SECOND);
    assert!(script.heard(client).is_empty());
    script.advance(SECOND);
    assert_eq!(
        script.heard(client)[0]["method"],
        "Target.detachedFromTarget"
    );
}

#[test]
fn a_relay_that_stops_gives_every_tab_back() {
    let mut script = Script::with_tabs(2);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[1], 2);
    script.input(Input::Stopping);
    assert_eq!(script.next_call("detachTab")["params"]["tabId"], 2);
    assert!(script.calls().is_empty());
}
