//! A cross-process frame that navigates while its tab is dormant.

use serde_json::{Value, json};

use super::frames::{answer_as_chrome, frames, initialize, page_with_frames, script_with_frames};
use crate::tests::script::Script;

fn navigate_frame(script: &mut Script, url: &str) {
    let mut frames = frames(&["F1"]);
    frames[0]["url"] = url.into();
    let update = json!({ "tabId": 1, "frames": frames });
    script.extension_event("tabUpdated", update);
}

#[test]
fn its_sessions_receive_what_a_live_frame_would_send() {
    let mut script = script_with_frames(&["F1"]);
    let (page, children) = page_with_frames(&mut script);
    let frame = &children[0];
    let (old, _) = initialize(&mut script, frame, "F1");
    let lifecycle = json!({ "enabled": true });
    script.send(frame, "Page.setLifecycleEventsEnabled", lifecycle);
    let tree = script.request(frame, "Page.getFrameTree", json!({}));
    let old_loader = tree["frameTree"]["frame"]["loaderId"].clone();
    script.received(&page);

    navigate_frame(&mut script, "https://third/next");
    let received = script.received(&page);
    let changed = received.event("Target.targetInfoChanged");
    assert_eq!(changed["targetInfo"]["url"], "https://third/next");
    let order = received.methods();
    let position = |method: &str| order.iter().position(|found| *found == method).unwrap();
    let cleared = position("Runtime.executionContextsCleared");
    let navigated = position("Page.frameNavigated");
    assert!(cleared < navigated && navigated < position("Runtime.executionContextCreated"));
    let described = &received.event("Page.frameNavigated")["frame"];
    assert_eq!(described["url"], "https://third/next");
    assert_eq!(described["parentId"], "T1");
    assert_ne!(described["loaderId"], old_loader);
    let context = received.context_id("");
    assert_ne!(context, old);
    let loaded = received.events("Page.lifecycleEvent");
    let names: Vec<&Value> = loaded
        .filter(|params| params["loaderId"] == described["loaderId"])
        .map(|params| &params["name"])
        .collect();
    assert!(names.contains(&&json!("load")), "{names:?}");
    let tree = script.request(frame, "Page.getFrameTree", json!({}));
    assert_eq!(tree["frameTree"]["frame"], *described);
    assert!(script.calls().is_empty(), "nothing is attached");

    let params = json!({ "expression": "1", "contextId": context });
    script.send(frame, "Runtime.evaluate", params);
    let answered = answer_as_chrome(&mut script, "F1");
    let call = answered
        .iter()
        .find(|call| call.command() == "Runtime.evaluate");
    assert_eq!(call.unwrap().params()["contextId"], 3);
}

#[test]
fn a_session_that_comes_later_finds_the_new_address() {
    let mut script = script_with_frames(&["F1"]);
    page_with_frames(&mut script);
    navigate_frame(&mut script, "https://third/next");
    let client = script.connect_client();
    let late = script.attach_to_target(client, "F1");
    let tree = script.request(&late, "Page.getFrameTree", json!({}));
    assert_eq!(tree["frameTree"]["frame"]["url"], "https://third/next");
}

#[test]
fn a_change_of_the_fragment_keeps_the_document() {
    let mut script = script_with_frames(&["F1"]);
    let (page, children) = page_with_frames(&mut script);
    initialize(&mut script, &children[0], "F1");
    script.received(&page);
    navigate_frame(&mut script, "https://other/F1#there");
    let received = script.received(&page);
    let within = received.event("Page.navigatedWithinDocument");
    assert_eq!(within["url"], "https://other/F1#there");
    assert!(!received.has_event("Page.frameNavigated"));
    assert!(!received.has_event("Runtime.executionContextsCleared"));
}
