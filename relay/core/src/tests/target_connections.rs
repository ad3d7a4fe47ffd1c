//! Clients that are connected to one target, as on Chrome's `/devtools/page/ID`, and clients that
//! exist for one HTTP request.

use serde_json::json;

use super::script::{Script, attached_tab, auto_attach, child_target, tab};
use crate::Connection;

#[test]
fn message_without_a_session_is_for_the_page() {
    let mut script = Script::with_tabs(2);
    let client = script.connect_client_to(Connection::Target("T2"));
    let info = script.request(client, "Target.getTargetInfo", json!({}));
    assert_eq!(info["targetInfo"]["targetId"], "T2");
    let frames = script.request(client, "Page.getFrameTree", json!({}));
    assert_eq!(frames["frameTree"]["frame"]["url"], "https://site/2");
    assert!(script.calls().is_empty(), "no debugger is attached");

    script.send(client, "Runtime.evaluate", json!({ "expression": "1" }));
    let call = script.next_call("attachTab");
    assert_eq!(call.tab(), 2);
}

#[test]
fn children_of_the_page_have_sessions_of_their_own() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client_to(Connection::Target("T1"));
    script.send(client, "Target.setAutoAttach", auto_attach());
    script.send(client, "Runtime.evaluate", json!({}));
    script.finish_waking();
    script.received(client);
    let child = child_target("c1", "iframe", false);
    script.cdp_event(1, "Target.attachedToTarget", child);
    let received = script.received(client);
    let attached = received.event("Target.attachedToTarget");
    assert_eq!(attached["targetInfo"]["type"], "iframe");
    assert!(attached["sessionId"].is_string());
}

#[test]
fn client_leaves_with_its_target_as_in_chrome() {
    let mut script = Script::with_tabs(2);
    let client = script.connect_client_to(Connection::Target("T1"));
    let other = script.connect_client_to(Connection::Target("T2"));
    let in_flight = script.send(client, "Runtime.evaluate", json!({}));
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let received = script.received(client);
    assert!(received.error(in_flight).contains("closed"));
    let detached = received.event("Inspector.detached");
    assert_eq!(detached["reason"], "target_closed");
    assert_eq!(script.closed_clients(), [client]);
    // What arrives until the socket is closed has no effect.
    script.send(client, "Runtime.evaluate", json!({}));
    script.disconnect(client);
    assert!(script.received(client).is_empty());
    script.request(other, "Target.getTargetInfo", json!({}));
    script.disconnect(other);
    script.answer_calls();
    assert!(script.is_idle());
}

#[test]
fn client_whose_target_has_just_been_closed_is_disconnected() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client_to(Connection::Target("T7"));
    assert_eq!(script.received(client).methods(), ["Inspector.detached"]);
    assert_eq!(script.closed_clients(), [client]);
    script.disconnect(client);
    assert!(script.is_idle());
}

#[test]
fn client_survives_a_restart_of_the_extension() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client_to(Connection::Target("T1"));
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    let info = script.request(client, "Target.getTargetInfo", json!({}));
    assert_eq!(info["targetInfo"]["targetId"], "T1");
    assert!(script.closed_clients().is_empty());
}

#[test]
fn tab_that_a_request_creates_is_not_attached_and_stays() {
    let mut script = Script::with_tabs(1);
    script.close_created_tabs_on_disconnect();
    let client = script.connect_client_to(Connection::Request);
    let params = json!({ "url": "https://site/9" });
    script.send(client, "Target.createTarget", params);
    let call = script.next_call("createTab");
    assert_eq!(call.params()["attach"], false);
    script.reply(&call, tab(9));
    script.disconnect(client);
    assert!(script.calls().is_empty(), "neither closed nor detached");

    let owner = script.connect_client();
    let params = json!({ "url": "https://site/8" });
    script.send(owner, "Target.createTarget", params);
    let call = script.next_call("createTab");
    assert_eq!(call.params()["attach"], true);
    script.reply(&call, attached_tab(8));
    script.disconnect(owner);
    assert!(script.calls().has_call("closeTab"));
}
