//! Overrides of sessions: a library's defaults reach neither live tabs nor their frames, and what a
//! session overrode is undone when it ends.

use serde_json::json;

use super::{two_clients, two_initialized_clients};
use crate::tests::script::{Script, Session, auto_attach, child_target, main_frame};

const SET_MEDIA: &str = "Emulation.setEmulatedMedia";

fn set_media(script: &mut Script, page: &Session, media: &str) {
    script.send(page, SET_MEDIA, json!({ "media": media }));
}

fn add_binding(script: &mut Script, page: &Session) {
    script.send(page, "Runtime.addBinding", json!({ "name": "f" }));
}

#[test]
fn client_defaults_do_not_reach_a_live_tab() {
    let (mut script, [_, second]) = two_clients();
    script.request(&second, SET_MEDIA, json!({ "media": "" }));
    assert!(script.calls().is_empty());
    script.send(&second, "Runtime.runIfWaitingForDebugger", json!({}));
    set_media(&mut script, &second, "print");
    assert!(script.calls().has_command(SET_MEDIA));
}

#[test]
fn client_defaults_do_not_reach_a_frame_of_an_existing_tab() {
    let (mut script, [first, _]) = two_clients();
    script.send(&first, "Target.setAutoAttach", auto_attach());
    let frame = child_target("f", "iframe", true);
    script.cdp_event(1, "Target.attachedToTarget", frame);
    let received = script.received(&first);
    let frame = received.attached_sessions(first.client).remove(0);
    script.calls();
    script.request(&frame, SET_MEDIA, json!({ "media": "" }));
    assert!(script.calls().is_empty());
    script.send(&frame, "Runtime.runIfWaitingForDebugger", json!({}));
    set_media(&mut script, &frame, "print");
    script.next_command("Runtime.runIfWaitingForDebugger");
    script.next_command(SET_MEDIA);
}

#[test]
fn undoes_the_overrides_of_a_disconnected_client() {
    let (mut script, [first, _]) = two_initialized_clients();
    set_media(&mut script, &first, "print");
    let offline = json!({ "offline": true });
    script.send(&first, "Network.emulateNetworkConditions", offline);
    add_binding(&mut script, &first);
    script.calls();
    script.disconnect(first.client);
    let calls = script.calls();
    let media = json!({ "media": "", "features": [] });
    assert_eq!(calls.command(SET_MEDIA).params(), &media);
    let conditions = calls.command("Network.emulateNetworkConditions").params();
    assert_eq!(conditions["offline"], false);
    let binding = calls.command("Runtime.removeBinding").params();
    assert_eq!(binding, &json!({ "name": "f" }));
}

#[test]
fn restores_the_overrides_of_the_remaining_session() {
    let (mut script, [first, second]) = two_initialized_clients();
    set_media(&mut script, &second, "screen");
    set_media(&mut script, &first, "print");
    add_binding(&mut script, &first);
    add_binding(&mut script, &second);
    script.calls();
    script.disconnect(first.client);
    let calls = script.calls();
    let media = json!({ "media": "screen" });
    assert_eq!(calls.command(SET_MEDIA).params(), &media);
    assert!(!calls.has_command("Runtime.removeBinding"), "{calls:?}");
}

#[test]
fn undoes_overrides_of_a_client_that_disconnects_during_the_wake() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    let set_headers = "Network.setExtraHTTPHeaders";
    let params = json!({ "headers": { "x": "y" } });
    script.request(&second, set_headers, params);
    script.start_waking(&first);
    script.disconnect(second.client);
    let calls = script.answer_all_with_tree(&main_frame(1));
    let mut latest_first = calls.iter().rev();
    let last = latest_first.find(|call| call.command() == set_headers);
    assert_eq!(last.unwrap().params()["headers"], json!({}), "{calls:?}");
}
