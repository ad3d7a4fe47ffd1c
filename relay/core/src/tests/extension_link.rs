//! The extension's connection: pings, deadlines, and reconnecting.

use std::time::Duration;

use serde_json::json;

use super::script::{Script, Session, attached_tab, tab};

const SECOND: Duration = Duration::from_secs(1);

/// An auto-attached client's session on a live tab.
fn live_page() -> (Script, Session) {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.make_live(&page);
    (script, page)
}

#[test]
fn drops_an_extension_that_does_not_answer_pings() {
    let mut script = Script::with_tabs(1);
    script.advance(5 * SECOND);
    script.next_call("ping");
    script.extension_event("pong", json!({}));
    script.advance(5 * SECOND);
    script.next_call("ping");
    script.advance(9 * SECOND);
    assert_eq!(script.extension_closed(), None);
    script.advance(SECOND);
    let reason = script.extension_closed();
    assert!(reason.is_some_and(|reason| reason.contains("ping")));
}

#[test]
fn relay_that_was_stopped_for_a_minute_drops_nobody() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    let call = script.next_command("Runtime.evaluate");
    script.advance(5 * SECOND);
    script.next_call("ping");
    // Both answers wait in the socket, but the timer is first.
    script.stop_process(60 * SECOND);
    assert_eq!(script.extension_closed(), None);
    script.extension_event("pong", json!({}));
    script.reply(&call, json!({ "result": {} }));
    assert!(script.received(&page).has_reply(id));
    script.advance(5 * SECOND);
    script.next_call("ping");
    script.advance(10 * SECOND);
    assert!(script.extension_closed().is_some(), "deadlines hold again");
}

#[test]
fn person_can_close_the_open_port() {
    let mut script = Script::with_tabs(1);
    assert_eq!(script.port_closings(), 0);
    script.extension_text(r#"{"method":"closePort"}"#);
    assert_eq!(script.port_closings(), 1);
}

#[test]
fn accepts_any_message_in_place_of_a_pong() {
    let mut script = Script::with_tabs(1);
    for _ in 0..10 {
        script.advance(5 * SECOND);
        script.extension_event("tabUpdated", json!({ "tabId": 1, "title": "x" }));
    }
    assert_eq!(script.extension_closed(), None);
}

#[test]
fn drops_an_extension_that_lists_no_tabs_and_answers_clients() {
    let mut script = Script::new();
    script.open_extension();
    let client = script.connect_client();
    let id = script.send(client, "Browser.getVersion", json!({}));
    script.advance(5 * SECOND);
    assert!(script.extension_closed().is_some());
    // It may come back.
    assert!(script.received(client).is_empty());
    script.advance(10 * SECOND);
    let received = script.received(client);
    assert_eq!((received.len(), &received[0]["id"]), (1, &json!(id)));
}

#[test]
fn command_in_flight_is_not_resent_after_a_disconnect() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Input.dispatchMouseEvent", json!({}));
    script.next_command("Input.dispatchMouseEvent");
    script.disconnect_extension();
    let received = script.received(&page);
    assert_eq!(received[0]["id"], id);
    assert!(received.error(id).contains("outcome is unknown"));
    script.connect_browser(vec![tab(1)]);
    assert!(!script.calls().has_command("Input.dispatchMouseEvent"));
}

#[test]
fn sessions_survive_a_restart_of_the_extension() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    script.make_live(&pages[0]);
    script.disconnect_extension();
    script.connect_browser(vec![attached_tab(1), tab(3)]);
    let received = script.received(client);
    let mut detached = received.events("Target.detachedFromTarget");
    assert!(
        detached.any(|params| params["targetId"] == "T2"),
        "{received:?}"
    );
    let mut attached = received.events("Target.attachedToTarget");
    assert!(attached.any(|params| params["targetInfo"]["targetId"] == "T3"));
    // The relay missed what the tab did meanwhile, so it wakes the tab again although the debugger
    // is attached.
    script.send(&pages[0], "Runtime.evaluate", json!({}));
    script.next_call("detachTab");
    script.finish_waking();
    script.next_command("Runtime.evaluate");
}

#[test]
fn wakes_a_tab_again_whose_debugger_did_not_survive_the_worker() {
    let (mut script, page) = live_page();
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    script.send(&page, "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
}

#[test]
fn releases_a_tab_whose_debugger_outlived_its_clients() {
    let mut script = Script::new();
    script.connect_browser(vec![attached_tab(1)]);
    assert_eq!(script.next_call("detachTab").tab(), 1);
}

#[test]
fn attach_without_a_reply_times_out() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
    script.elapse(10);
    let received = script.received(&page);
    assert_eq!(received[0]["id"], id);
    assert!(received.error(id).contains("10 seconds"));
}

#[test]
fn tab_in_use_is_attached_again_without_a_command() {
    let (mut script, _) = live_page();
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    script.finish_waking();
    assert!(script.is_live(1));
    script.disconnect_extension();
    // What this debugger has enabled is unknown.
    script.connect_browser(vec![attached_tab(1)]);
    script.next_call("detachTab");
    script.finish_waking();
    assert!(script.is_live(1));
}

#[test]
fn commands_wait_for_an_extension_that_comes_back() {
    let (mut script, page) = live_page();
    script.disconnect_extension();
    let evaluation = script.send(&page, "Runtime.evaluate", json!({ "expression": "1" }));
    let listing = script.send(page.client, "Target.getTargets", json!({}));
    script.advance(9 * SECOND);
    assert!(script.received(&page).is_empty());
    script.connect_browser(vec![tab(1)]);
    script.finish_waking();
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": {} }));
    let received = script.received(page.client);
    let replies = received.reply_ids();
    assert!(replies.contains(&evaluation) && replies.contains(&listing));
}

#[test]
fn commands_fail_after_a_while_without_the_browser_and_then_at_once() {
    let (mut script, page) = live_page();
    script.disconnect_extension();
    let id = script.send(&page, "Runtime.evaluate", json!({}));
    script.advance(10 * SECOND);
    let expected = "No browser connected. It disconnected 10 seconds ago";
    let received = script.received(&page);
    assert!(received.error(id).starts_with(expected), "{received:?}");
    assert!(received.error(id).ends_with("This command was not sent."));
    script.advance(3 * SECOND);
    let (_, error) = script.request_error(page.client, "Target.getTargets", json!({}));
    assert!(error.contains("13 seconds ago"), "{error}");
    script.connect_browser(vec![tab(1)]);
    assert!(!script.calls().has_command("Runtime.evaluate"));
}

#[test]
fn clients_of_a_restarted_relay_wait_for_its_browser() {
    let mut script = Script::restarted();
    let client = script.connect_client();
    let id = script.send(client, "Target.getTargets", json!({}));
    script.advance(4 * SECOND);
    assert!(script.received(client).is_empty());
    script.connect_browser(vec![tab(1)]);
    assert!(script.received(client).has_reply(id));
}

#[test]
fn clients_wait_no_longer_if_no_browser_finds_a_restarted_relay() {
    let mut script = Script::restarted();
    let client = script.connect_client();
    let id = script.send(client, "Target.getTargets", json!({}));
    script.advance(5 * SECOND);
    let received = script.received(client);
    assert!(received.error(id).starts_with("No browser connected. Open"));
}

#[test]
fn client_leaves_while_the_browser_is_away() {
    let (mut script, page) = live_page();
    script.disconnect_extension();
    script.send(page.client, "Browser.close", json!({}));
    assert_eq!(script.closed_clients(), [page.client]);
}

#[test]
fn unreadable_frame_fails_all_pending_calls() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Page.navigate", json!({}));
    // The frame may contain the reply.
    script.extension_text(r#"[5,{"id":7,"res"#);
    assert_eq!(script.received(&page)[0]["id"], id);
    assert!(script.extension_closed().is_some());
}

#[test]
fn reply_next_to_invalid_messages_reaches_its_client() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Page.navigate", json!({}));
    let call = script.next_command("Page.navigate");
    let reply = json!({ "id": call.id(), "result": {} });
    script.extension_text(&format!("[5,null,{reply}]"));
    assert_eq!(script.received(&page)[0]["id"], id);
    assert_eq!(script.extension_closed(), None);
}

#[test]
fn announces_a_navigation_missed_while_the_extension_was_away() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.request(&page, "Page.enable", json!({}));
    script.disconnect_extension();
    let mut navigated = tab(1);
    navigated["url"] = "https://site/elsewhere".into();
    script.connect_browser(vec![navigated]);
    let received = script.received(&page);
    assert_eq!(
        received.event("Page.frameNavigated")["frame"]["url"],
        "https://site/elsewhere"
    );
}

#[test]
fn removes_the_tabs_of_a_browser_that_stays_away() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.auto_attached_client();
    script.disconnect_extension();
    script.advance(119 * SECOND);
    assert!(script.received(client).is_empty());
    script.advance(SECOND);
    assert_eq!(
        script.received(client)[0]["method"],
        "Target.detachedFromTarget"
    );
}

#[test]
fn tabs_of_another_browser_are_other_tabs() {
    let mut script = Script::with_tabs(1);
    let (client, pages) = script.auto_attached_client();
    script.disconnect_extension();
    // Without target ids, the tabs cannot be told apart by themselves.
    let other = json!({ "tabId": 1, "url": "https://site/1", "title": "Other" });
    script.connect_browser_of("b", vec![other]);
    let received = script.received(client);
    assert_eq!(received[0]["method"], "Target.detachedFromTarget");
    let (code, _) = script.request_error(&pages[0], "Runtime.evaluate", json!({}));
    assert_eq!(code, -32001);
}

#[test]
fn nothing_about_the_tabs_of_one_browser_reaches_another() {
    let (mut script, page) = live_page();
    let client = page.client;
    let second = script.attach_to_target(client, "T1");
    script.send(&page, "Network.enable", json!({}));
    let params = json!({ "userAgent": "x" });
    script.send(&second, "Emulation.setUserAgentOverride", params);
    script.answer_calls();
    script.disconnect_extension();
    script.calls();
    script.open_extension_of("b");
    let names: Vec<_> = script
        .calls()
        .into_iter()
        .map(|call| call.name().to_owned())
        .collect();
    assert_eq!(names, ["listTabs"]);
}

#[test]
fn newer_connection_replaces_one_that_is_still_open() {
    let (mut script, page) = live_page();
    let id = script.send(&page, "Page.navigate", json!({}));
    script.next_command("Page.navigate");
    script.connect_browser(vec![attached_tab(1)]);
    assert!(
        script
            .received(&page)
            .error(id)
            .contains("outcome is unknown")
    );
    assert_eq!(script.extension_closed(), None);
}

#[test]
fn only_a_client_that_used_a_tab_counts_as_its_user() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    let (other, _) = script.auto_attached_client();
    assert!(script.tabs_in_use(client).is_empty());
    script.make_live(&pages[1]);
    assert_eq!(script.tabs_in_use(client), [2]);
    assert!(script.tabs_in_use(other).is_empty());
    script.disconnect(client);
    assert!(script.tabs_in_use(client).is_empty());
}

#[test]
fn stopping_relay_releases_every_tab() {
    let mut script = Script::with_tabs(2);
    let (_, pages) = script.auto_attached_client();
    script.make_live(&pages[1]);
    script.stop_relay();
    assert_eq!(script.next_call("detachTab").tab(), 2);
    assert!(script.calls().is_empty());
}
