//! Sessions that end, by `Target.detachFromTarget` or with their client, leave the others intact.

use serde_json::json;

use super::two_clients;
use crate::tests::script::{Script, Session, auto_attach, child_target};

#[test]
fn ending_a_second_session_of_a_client_leaves_the_first() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.attach_to_target(first.client, "T1");
    assert_ne!(second.id, first.id);
    let params = json!({ "sessionId": second.id });
    script.send(first.client, "Target.detachFromTarget", params);
    let received = script.received(first.client);
    assert_eq!(received.methods(), ["Target.detachedFromTarget"]);
    let (code, _) = script.request_error(&second, "Runtime.evaluate", json!({}));
    assert_eq!(code, -32001);
    script.make_live(&first);
}

#[test]
fn reply_for_a_disconnected_client_reaches_nobody() {
    let (mut script, [first, second]) = two_clients();
    script.use_live(&second);
    script.send(&first, "Page.navigate", json!({}));
    let call = script.next_command("Page.navigate");
    script.disconnect(first.client);
    script.reply(&call, json!({}));
    assert!(script.received(&first).is_empty());
    assert!(script.received(&second).is_empty());
}

#[test]
fn ends_deeply_nested_sessions() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let attach = "Target.attachToBrowserTarget";
    let session = |id: &serde_json::Value| Session {
        client,
        id: id.as_str().unwrap().to_owned(),
    };
    let top = session(&script.request(client, attach, json!({}))["sessionId"]);
    let mut innermost = top.clone();
    for _ in 1..5_000 {
        innermost = session(&script.request(&innermost, attach, json!({}))["sessionId"]);
    }
    let params = json!({ "sessionId": top.id });
    script.request(client, "Target.detachFromTarget", params);
    let (code, _) = script.request_error(&innermost, "Browser.getVersion", json!({}));
    assert_eq!(code, -32001);
}

#[test]
fn ended_session_stops_intercepting_but_keeps_domains_of_others() {
    let (mut script, [first, second]) = two_clients();
    script.send(&first, "Fetch.enable", json!({}));
    script.send(&second, "Network.enable", json!({}));
    script.calls();
    script.use_live(&second);
    script.disconnect(first.client);
    assert_eq!(script.calls().commands(), ["Fetch.disable"]);
}

#[test]
fn resumes_a_target_that_waits_for_a_disconnected_client() {
    let (mut script, [first, _]) = two_clients();
    script.send(&first, "Target.setAutoAttach", auto_attach());
    let worker = child_target("w", "worker", true);
    script.cdp_event(1, "Target.attachedToTarget", worker);
    script.calls();
    script.disconnect(first.client);
    script.calls().command("Runtime.runIfWaitingForDebugger");
}
