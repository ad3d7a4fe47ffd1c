//! Clients that are connected to a cross-process frame, as on Chrome's `/devtools/page/ID`.

use serde_json::json;

use super::frame_targets::{ids, listed_frames, live_page};
use super::frames::{answer_as_chrome, script_with_frames};
use crate::Connection;

#[test]
fn client_is_connected_to_a_frame_as_in_chrome() {
    let mut script = script_with_frames(&["F1"]);
    let client = script.connect_client_to(Connection::Target("F1"));
    let info = script.request(client, "Target.getTargetInfo", json!({}));
    assert_eq!(info["targetInfo"]["targetId"], "F1");
    script.request(client, "Page.enable", json!({}));
    assert!(script.calls().is_empty(), "connecting wakes nothing");
    let id = script.send(client, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    assert!(script.received(client).result(id).is_object());
    script.cdp_event(1, "Target.detachedFromTarget", json!({ "sessionId": "c1" }));
    assert_eq!(script.closed_clients(), [client]);
}

#[test]
fn messages_to_a_frame_of_a_live_tab_wait_until_it_is_attached() {
    let mut script = script_with_frames(&["F1", "F2"]);
    live_page(&mut script);
    let client = script.connect_client_to(Connection::Target("F1"));
    let gone = script.connect_client_to(Connection::Target("F2"));
    let enable = script.send(client, "Runtime.enable", json!({}));
    let evaluate = script.send(client, "Runtime.evaluate", json!({}));
    assert!(script.received(client).is_empty());
    answer_as_chrome(&mut script, "F1");
    let received = script.received(client);
    assert_eq!(received.reply_ids(), [enable, evaluate]);
    assert_eq!(script.closed_clients(), [gone]);
}

#[test]
fn client_that_leaves_before_its_frame_is_attached_leaves_nothing() {
    let mut script = script_with_frames(&["F1"]);
    live_page(&mut script);
    let client = script.connect_client_to(Connection::Target("F1"));
    let other = script.connect_client();
    script.disconnect(client);
    let calls = script.calls();
    let last = calls.iter().last().unwrap();
    assert_eq!(last.params()["autoAttach"], false, "nobody needs it");
    assert_eq!(ids(&listed_frames(&mut script, other)), ["F1"]);
    let frame = &listed_frames(&mut script, other)[0];
    assert_eq!(frame["attached"], false);
}

#[test]
fn frame_of_a_tab_that_the_person_took_back_is_closed_to_its_client() {
    let mut script = script_with_frames(&["F1"]);
    let client = script.connect_client_to(Connection::Target("F1"));
    let id = script.send(client, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    assert!(script.received(client).result(id).is_object());
    script.detach_debugger(1, "canceled_by_user");
    script.calls();
    let id = script.send(client, "Page.reload", json!({}));
    assert!(script.calls().is_empty(), "nothing attaches again");
    let received = script.received(client);
    assert!(received.error(id).contains("detached by the person"));
}
