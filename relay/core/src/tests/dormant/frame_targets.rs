//! Cross-process frames as targets of their own, as on Chrome's port: clients list and discover them,
//! and attach to one by its id, in dormant and in live tabs.

use serde_json::{Value, json};

use super::frames::{answer_as_chrome, frames, page_with_frames, script_with_frames};
use crate::tests::script::{ClientId, Messages, Script, auto_attach, tab};

const ATTACH: &str = "Target.attachToTarget";
const CREATED: &str = "Target.targetCreated";
const CHANGED: &str = "Target.targetInfoChanged";
const DESTROYED: &str = "Target.targetDestroyed";

pub(super) fn listed_frames(script: &mut Script, client: ClientId) -> Vec<Value> {
    let targets = script.request(client, "Target.getTargets", json!({}));
    let infos = targets["targetInfos"].as_array().unwrap().iter();
    infos
        .filter(|info| info["type"] == "iframe")
        .cloned()
        .collect()
}

pub(super) fn ids(infos: &[Value]) -> Vec<&str> {
    let ids = infos.iter().map(|info| info["targetId"].as_str().unwrap());
    ids.collect()
}

/// The ids of the frames in these events, in order.
fn frame_ids(received: &Messages, method: &str) -> Vec<String> {
    let events = received.events(method);
    let id = |params: &Value| match &params["targetInfo"] {
        Value::Null => params["targetId"].as_str().unwrap().to_owned(),
        info => info["targetId"].as_str().unwrap().to_owned(),
    };
    events.map(id).filter(|id| id.starts_with('F')).collect()
}

fn discovering_client(script: &mut Script) -> ClientId {
    let client = script.connect_client();
    let params = json!({ "discover": true });
    script.send(client, "Target.setDiscoverTargets", params);
    client
}

fn report_frames(script: &mut Script, frames: &Value) {
    let update = json!({ "tabId": 1, "frames": frames });
    script.extension_event("tabUpdated", update);
}

/// A client that uses the page but does not ask for its children, so that Chrome attaches none.
pub(super) fn live_page(script: &mut Script) -> ClientId {
    let page = script.explicitly_attached_page("T1");
    script.make_live(&page);
    page.client
}

#[test]
fn frames_are_listed_as_in_chrome_and_nothing_is_attached() {
    let mut script = script_with_frames(&["F1", "F2"]);
    let client = script.connect_client();
    let listed = listed_frames(&mut script, client);
    assert_eq!(ids(&listed), ["F1", "F2"]);
    let context = listed[0]["browserContextId"].clone();
    let described = json!({
        "targetId": "F1", "type": "iframe", "title": "https://other/F1", "url": "https://other/F1",
        "attached": false, "parentId": "T1", "canAccessOpener": false, "parentFrameId": "T1",
        "browserContextId": context,
    });
    assert_eq!(listed[0], described);
    let params = json!({ "targetId": "F1" });
    let info = script.request(client, "Target.getTargetInfo", params);
    assert_eq!(info["targetInfo"], described);
    let only_pages = json!({ "filter": [{ "type": "page" }] });
    let targets = script.request(client, "Target.getTargets", only_pages);
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    assert!(script.calls().is_empty());
}

#[test]
fn frames_are_discovered_with_their_changes() {
    let mut script = script_with_frames(&["F1"]);
    let client = discovering_client(&mut script);
    let received = script.received(client);
    assert_eq!(frame_ids(&received, CREATED), ["F1"]);
    let mut changed = frames(&["F1", "F2"]);
    changed[0]["url"] = "https://other/next".into();
    report_frames(&mut script, &changed);
    let received = script.received(client);
    assert_eq!(frame_ids(&received, CREATED), ["F2"]);
    let info = &received.event(CHANGED)["targetInfo"];
    assert_eq!(
        (&info["targetId"], &info["url"]),
        (&json!("F1"), &json!("https://other/next"))
    );
    report_frames(&mut script, &frames(&["F2"]));
    assert_eq!(frame_ids(&script.received(client), DESTROYED), ["F1"]);
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let received = script.received(client);
    assert_eq!(frame_ids(&received, DESTROYED), ["F2"]);
    let page = received.position(|message| message["params"]["targetId"] == "T1");
    let frame = received.position(|message| message["params"]["targetId"] == "F2");
    assert!(frame < page, "as in Chrome");
}

#[test]
fn frames_of_the_previous_document_are_gone_in_a_live_tab() {
    let mut script = script_with_frames(&["F1"]);
    live_page(&mut script);
    let client = discovering_client(&mut script);
    assert_eq!(frame_ids(&script.received(client), CREATED), ["F1"]);
    let params = json!({ "tabId": 1, "url": "https://site/other", "sameDocument": false });
    script.extension_event("tabNavigated", params);
    assert_eq!(frame_ids(&script.received(client), DESTROYED), ["F1"]);
    assert!(listed_frames(&mut script, client).is_empty());
}

#[test]
fn nodriver_attaches_to_a_frame_of_a_dormant_tab_several_times() {
    let mut script = script_with_frames(&["F1"]);
    let client = script.connect_client();
    let one = script.attach_to_target(client, "F1");
    let other = script.attach_to_target(client, "F1");
    assert_ne!(one.id, other.id);
    let listed = listed_frames(&mut script, client);
    assert_eq!(
        (ids(&listed), &listed[0]["attached"]),
        (vec!["F1"], &json!(true))
    );
    assert!(script.calls().is_empty(), "attaching wakes nothing");

    let id = script.send(&one, "Runtime.evaluate", json!({}));
    let sent = answer_as_chrome(&mut script, "F1");
    let evaluated = sent
        .iter()
        .find(|call| call.command() == "Runtime.evaluate");
    assert_eq!(evaluated.unwrap().child(), Some("c1"));
    assert!(script.received(&one).result(id).is_object());
    script.send(&other, "Runtime.evaluate", json!({}));
    assert_eq!(script.next_command("Runtime.evaluate").child(), Some("c1"));
    assert_eq!(ids(&listed_frames(&mut script, client)), ["F1"]);
    script.disconnect(client);
    assert!(script.calls().has_call("detachTab"));
    script.answer_calls();
    assert!(script.is_idle());
}

#[test]
fn frame_of_a_live_tab_is_attached_when_a_client_asks_for_it() {
    let mut script = script_with_frames(&["F1"]);
    let client = live_page(&mut script);
    let params = json!({ "targetId": "F1", "flatten": true });
    let id = script.send(client, ATTACH, params.clone());
    let missing = script.send(client, ATTACH, json!({ "targetId": "F9", "flatten": true }));
    answer_as_chrome(&mut script, "F1");
    let received = script.received(client);
    let frame = received.attached_sessions(client).remove(0);
    assert_eq!(received.result(id)["sessionId"], frame.id);
    assert!(received.error(missing).contains("No target"));
    script.send(&frame, "Runtime.evaluate", json!({}));
    assert_eq!(script.next_command("Runtime.evaluate").child(), Some("c1"));

    // Chrome need not attach children any more when the last one who asked has left.
    let session = json!({ "sessionId": frame.id });
    script.send(client, "Target.detachFromTarget", session);
    let calls = script.calls();
    let off = calls.command("Target.setAutoAttach");
    assert_eq!(
        (off.child(), &off.params()["autoAttach"]),
        (None, &json!(false))
    );
}

#[test]
fn frame_that_is_gone_from_a_live_tab_is_not_found() {
    let mut script = script_with_frames(&["F1"]);
    let client = live_page(&mut script);
    let discovering = discovering_client(&mut script);
    script.received(discovering);
    let id = script.send(client, ATTACH, json!({ "targetId": "F1", "flatten": true }));
    answer_as_chrome(&mut script, "F2");
    assert!(script.received(client).error(id).contains("No target"));
    let received = script.received(discovering);
    assert_eq!(frame_ids(&received, CREATED), ["F2"]);
    assert_eq!(frame_ids(&received, DESTROYED), ["F1"]);
}

#[test]
fn attaching_to_a_frame_of_a_waking_tab_waits_for_it() {
    let mut script = script_with_frames(&["F1"]);
    let page = script.explicitly_attached_page("T1");
    script.start_waking(&page);
    let params = json!({ "targetId": "F1", "flatten": true });
    let id = script.send(page.client, ATTACH, params);
    answer_as_chrome(&mut script, "F1");
    let received = script.received(&page);
    let frame = received.attached_sessions(page.client).remove(0);
    assert_eq!(received.result(id)["sessionId"], frame.id);
    script.send(&frame, "Runtime.evaluate", json!({}));
    assert_eq!(script.next_command("Runtime.evaluate").child(), Some("c1"));
}

#[test]
fn client_that_leaves_while_it_waits_for_a_frame_leaves_nothing() {
    let mut script = script_with_frames(&["F1"]);
    let user = live_page(&mut script);
    let client = script.connect_client();
    script.send(client, ATTACH, json!({ "targetId": "F1", "flatten": true }));
    script.disconnect(client);
    let calls = script.calls();
    let last = calls.iter().last().unwrap();
    assert_eq!(last.params()["autoAttach"], false, "nobody needs it");
    script.disconnect(user);
    script.answer_calls();
    assert!(script.is_idle());
}

#[test]
fn own_sessions_on_a_frame_come_besides_those_of_auto_attach() {
    let mut script = script_with_frames(&["F1"]);
    let (page, children) = page_with_frames(&mut script);
    let own = script.attach_to_target(page.client, "F1");
    assert_ne!(children[0].id, own.id);
    script.send(&children[0], "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    let received = script.received(&page);
    assert!(
        received.attached_sessions(page.client).is_empty(),
        "no other"
    );
    // Who no longer wants children automatically keeps what was asked for.
    let off = json!({ "autoAttach": false, "flatten": true });
    script.send(&page, "Target.setAutoAttach", off);
    let calls = script.calls();
    let sent = calls.command("Target.setAutoAttach");
    assert_eq!(sent.params()["autoAttach"], true);
    let received = script.received(&page);
    let ended: Vec<_> = received.events("Target.detachedFromTarget").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["sessionId"], children[0].id);
}

#[test]
fn frames_are_announced_once_while_a_tab_wakes_and_becomes_dormant() {
    let mut script = script_with_frames(&["F1"]);
    let client = discovering_client(&mut script);
    let (page, _) = page_with_frames(&mut script);
    script.send(&page, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    script.disconnect(page.client);
    script.answer_calls();
    let received = script.received(client);
    assert_eq!(frame_ids(&received, CREATED), ["F1"]);
    assert!(frame_ids(&received, DESTROYED).is_empty());
}

#[test]
fn frame_of_a_live_tab_is_described_with_the_address_it_went_to() {
    let mut script = script_with_frames(&[]);
    let client = discovering_client(&mut script);
    let page = script.auto_attached_page();
    script.send(&page, "Target.setAutoAttach", auto_attach());
    script.send(&page, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    script.received(client);
    script.received(&page);
    let info = json!({
        "targetId": "F1", "type": "iframe", "url": "https://other/next", "title": "https://other/next",
        "browserContextId": "of Chrome", "parentFrameId": "T1",
    });
    script.cdp_event(1, CHANGED, json!({ "targetInfo": info }));
    let received = script.received(&page);
    let own = &received.event(CHANGED)["targetInfo"];
    assert_eq!(own["url"], "https://other/next");
    assert_ne!(own["browserContextId"], "of Chrome");
    assert_eq!(script.received(client).event(CHANGED)["targetInfo"], *own);
    assert_eq!(listed_frames(&mut script, client)[0], *own);
    // Dormant again, it is still there.
    script.detach_debugger(1, "canceled_by_user");
    let listed = listed_frames(&mut script, client);
    assert_eq!(listed[0]["url"], "https://other/next");
}

#[test]
fn frame_that_the_page_removes_is_gone_for_good() {
    let mut script = script_with_frames(&["F1"]);
    let (page, _) = page_with_frames(&mut script);
    let client = discovering_client(&mut script);
    script.send(&page, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    script.received(client);
    script.cdp_event(1, "Target.detachedFromTarget", json!({ "sessionId": "c1" }));
    assert_eq!(frame_ids(&script.received(client), DESTROYED), ["F1"]);
    script.detach_debugger(1, "canceled_by_user");
    assert!(listed_frames(&mut script, client).is_empty());
}

#[test]
fn closing_a_frame_is_refused_and_activating_it_shows_its_tab() {
    let mut script = script_with_frames(&["F1"]);
    let client = script.connect_client();
    let params = json!({ "targetId": "F1" });
    let (_, message) = script.request_error(client, "Target.closeTarget", params.clone());
    assert!(
        message.contains("close the whole tab") && message.contains("T1"),
        "{message}"
    );
    script.send(client, "Target.activateTarget", params);
    assert_eq!(script.next_call("activateTab").tab(), 1);
}

#[test]
fn frames_of_a_new_tab_are_announced_after_it() {
    let mut script = Script::with_tabs(0);
    let client = discovering_client(&mut script);
    let mut report = tab(1);
    report["frames"] = frames(&["F1"]);
    script.extension_event("tabCreated", report);
    let received = script.received(client);
    let created = received.events(CREATED);
    let order: Vec<_> = created
        .map(|params| &params["targetInfo"]["targetId"])
        .collect();
    assert_eq!(order, ["T1", "F1"]);
}

#[test]
fn frame_that_was_gone_when_the_tab_woke_does_not_come_back() {
    let mut script = script_with_frames(&["F1"]);
    let (page, _) = page_with_frames(&mut script);
    script.send(&page, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F2");
    script.detach_debugger(1, "canceled_by_user");
    let client = script.connect_client();
    assert_eq!(ids(&listed_frames(&mut script, client)), ["F2"]);
}

#[test]
fn client_gets_the_frames_of_a_tab_that_did_not_wake_for_another() {
    let mut script = script_with_frames(&["F1"]);
    let user = script.explicitly_attached_page("T1");
    script.send(&user, "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    let page = script.auto_attached_page();
    script.send(&page, "Target.setAutoAttach", auto_attach());
    let received = script.received(&page);
    assert!(received.attached_sessions(page.client).is_empty());
    script.reply_error(
        &attach,
        json!({ "code": -32000, "message": "Cannot access" }),
    );
    let received = script.received(&page);
    assert_eq!(
        received.attached_sessions(page.client).len(),
        1,
        "Puppeteer waits for it"
    );
}
