//! Pages that do not answer: stopped, crashed, or waiting for somebody themselves.

use serde_json::json;

use super::script::{Script, main_frame, pass};
use crate::ids::ClientId;

/// A client of a live tab that has just asked for something.
fn asked() -> (Script, ClientId, String) {
    let mut script = Script::with_tabs(2);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    script.request(
        client,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "expression": "work()" }),
    );
    script.next_command("Runtime.evaluate");
    (script, client, sessions[0].clone())
}

#[test]
fn a_command_to_a_page_that_answers_nothing_fails_after_its_time() {
    let (mut script, client, _) = asked();
    let probes = pass(&mut script, 29);
    assert_eq!(
        probes.len(),
        1,
        "asked once whether it is there: {probes:?}"
    );
    assert!(script.heard(client).is_empty());
    pass(&mut script, 2);
    let heard = script.heard(client);
    let error = heard[0]["error"]["message"].as_str().unwrap();
    assert!(
        error.contains("Runtime.evaluate") && error.contains("30 seconds"),
        "{error}"
    );
}

#[test]
fn a_command_to_a_page_that_is_only_slow_may_take_as_long_as_it_likes() {
    let (mut script, client, _) = asked();
    for _ in 0..10 {
        for probe in pass(&mut script, 28) {
            script.reply(
                &probe,
                json!({ "result": { "type": "number", "value": 0 } }),
            );
        }
    }
    assert!(script.heard(client).is_empty(), "it still waits");
}

#[test]
fn a_page_with_an_open_dialog_is_not_silent() {
    let (mut script, client, _) = asked();
    script.cdp_event(
        1,
        "Page.javascriptDialogOpening",
        json!({ "type": "alert" }),
    );
    let calls = pass(&mut script, 100);
    assert!(
        calls.is_empty() && script.heard(client).is_empty(),
        "{calls:?}"
    );
    script.cdp_event(1, "Page.javascriptDialogClosed", json!({}));
    pass(&mut script, 40);
    assert!(script.heard(client)[0]["error"].is_object());
}

#[test]
fn a_crash_fails_what_waits_for_the_page_and_a_reload_revives_it() {
    let (mut script, client, session) = asked();
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let heard = script.heard(client);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("crashed"),
        "{heard:?}"
    );
    assert_eq!(heard[1]["method"], "Inspector.targetCrashed");
    let (_, error) = script.error_of(client, Some(&session), "Runtime.evaluate", json!({}));
    assert!(error.contains("Reload"), "{error}");
    script.request(client, Some(&session), "Page.reload", json!({}));
    let reload = script.next_command("Page.reload");
    script.reply(&reload, json!({}));
    script.cdp_event(1, "Inspector.targetReloadedAfterCrash", json!({}));
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    script.next_command("Runtime.evaluate");
}

#[test]
fn a_page_that_crashed_before_it_was_used_says_so_at_once() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let heard = script.heard(client);
    assert!(
        heard.iter().any(|m| m["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("crashed"))),
        "{heard:?}"
    );
    script.calls();
    script.request(client, Some(&sessions[0]), "Page.reload", json!({}));
    script.next_command("Page.reload");
}

#[test]
fn a_silent_tab_holds_up_no_other() {
    let (mut script, client, _) = asked();
    let (other, theirs) = script.attached_client();
    script.request(other, Some(&theirs[1]), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(2));
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": { "type": "number", "value": 2 } }));
    assert!(
        script
            .heard(other)
            .iter()
            .any(|m| m["result"]["result"]["value"] == 2)
    );
    assert!(script.heard(client).iter().all(|m| m.get("id").is_none()));
}

#[test]
fn where_playwrights_helper_could_not_be_made_the_context_begins_anew() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.request(client, Some(&sessions[0]), "Runtime.enable", json!({}));
    let heard = script.heard(client);
    let created = heard
        .iter()
        .find(|m| m["method"] == "Runtime.executionContextCreated")
        .unwrap()
        .clone();
    let make = json!({ "expression": "new UtilityScript()", "contextId": created["params"]["context"]["id"] });
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", make);
    let attach = script.next_call("attachTab");
    script.reply_error(
        &attach,
        json!("Another debugger is already attached to the tab with id: 1."),
    );
    let heard = script.heard(client);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Close DevTools"),
        "{heard:?}"
    );
    assert_eq!(heard[1]["method"], "Runtime.executionContextDestroyed");
    assert_eq!(heard[2], created);
}

#[test]
fn late_words_of_a_debugger_that_was_given_up_change_nothing() {
    let (mut script, client, session) = asked();
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    script.cdp_event(
        1,
        "Page.javascriptDialogOpening",
        json!({ "type": "alert" }),
    );
    script.heard(client);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    script.finish_waking(&main_frame(1));
    script.next_command("Runtime.evaluate");
    pass(&mut script, 40);
    let heard = script.heard(client);
    assert!(
        heard.iter().any(|m| m["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("did not respond"))),
        "{heard:?}"
    );
}

/// A client that listens to the network has just told its page to go to another document.
fn navigating() -> (Script, ClientId, String) {
    let (mut script, client, session) = asked();
    script.request(client, Some(&session), "Network.enable", json!({}));
    let enable = script.next_command("Network.enable");
    script.reply(&enable, json!({}));
    script.request(
        client,
        Some(&session),
        "Page.navigate",
        json!({ "url": "https://slow/" }),
    );
    script.next_command("Page.navigate");
    script.cdp_event(
        1,
        "Network.requestWillBeSent",
        json!({ "requestId": "r", "type": "Document", "frameId": "T1" }),
    );
    script.heard(client);
    (script, client, session)
}

#[test]
fn a_slow_server_is_waited_for() {
    let (mut script, client, _) = navigating();
    let calls = pass(&mut script, 200);
    assert!(
        calls.is_empty() && script.heard(client).is_empty(),
        "{calls:?}"
    );
}

#[test]
fn a_page_that_stays_silent_though_the_server_has_answered_is_not_waited_for() {
    let (mut script, client, _) = navigating();
    script.cdp_event(
        1,
        "Network.responseReceived",
        json!({ "requestId": "other", "type": "Image" }),
    );
    pass(&mut script, 60);
    script.cdp_event(
        1,
        "Network.responseReceived",
        json!({ "requestId": "r", "type": "Document" }),
    );
    script.heard(client);
    pass(&mut script, 60);
    let errors = script
        .heard(client)
        .into_iter()
        .filter(|m| m["error"].is_object())
        .count();
    assert_eq!(errors, 2, "the evaluation and the navigation");
}

#[test]
fn a_server_that_never_answers_is_not_waited_for_without_end() {
    let (mut script, client, _) = navigating();
    pass(&mut script, 360);
    let errors = script
        .heard(client)
        .into_iter()
        .filter(|m| m["error"].is_object())
        .count();
    assert_eq!(errors, 2, "the evaluation and the navigation");
}

#[test]
fn a_dialog_of_a_wake_that_failed_is_forgotten() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.cdp_event(
        1,
        "Page.javascriptDialogOpening",
        json!({ "type": "alert" }),
    );
    pass(&mut script, 12);
    script.heard(first);
    script.calls();
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(1));
    script.calls();
    pass(&mut script, 60);
    assert!(!script.heard(first).is_empty());
}

#[test]
fn a_frame_of_another_process_waits_for_its_server_too() {
    let (mut script, client, session) = asked();
    script.request(
        client,
        Some(&session),
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "flatten": true }),
    );
    let info = json!({ "targetId": "F", "type": "iframe" });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "c", "targetInfo": info, "waitingForDebugger": false }),
    );
    let heard = script.heard(client);
    let attached = heard
        .iter()
        .find(|m| m["method"] == "Target.attachedToTarget")
        .unwrap();
    let frame = attached["params"]["sessionId"].as_str().unwrap();
    script.request(client, Some(frame), "Network.enable", json!({}));
    script.answer_all();
    script.heard(client);
    let navigation = script.request(
        client,
        Some(frame),
        "Page.navigate",
        json!({ "url": "https://slow/" }),
    );
    script.child_event(
        1,
        "c",
        "Network.requestWillBeSent",
        json!({ "requestId": "r", "frameId": "F", "type": "Document" }),
    );
    let is_over = |script: &mut Script| script.heard(client).iter().any(|m| m["id"] == navigation);
    pass(&mut script, 60);
    assert!(!is_over(&mut script));
    script.child_event(
        1,
        "c",
        "Network.responseReceived",
        json!({ "requestId": "r", "frameId": "F", "type": "Document" }),
    );
    pass(&mut script, 60);
    assert!(
        is_over(&mut script),
        "the server has answered, and the frame says nothing"
    );
}

#[test]
fn a_page_that_is_silent_as_it_wakes_can_be_left() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.ask(client, Some(&sessions[0]), "Page.enable", json!({}));
    let evaluation = script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.calls();
    let navigation = script.request(
        client,
        Some(&sessions[0]),
        "Page.navigate",
        json!({ "url": "https://site/2" }),
    );
    let calls = pass(&mut script, 11);
    let heard = script.heard(client);
    let failed = heard.iter().find(|m| m["id"] == evaluation).unwrap();
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did not respond"),
        "{heard:?}"
    );
    let navigate = calls
        .iter()
        .find(|call| call["params"]["method"] == "Page.navigate")
        .unwrap();
    assert!(calls.iter().all(|call| call["method"] != "detachTab"));
    script.reply(navigate, json!({ "frameId": "T1", "loaderId": "next" }));
    assert!(
        script
            .heard(client)
            .iter()
            .any(|m| m["id"] == navigation && m["result"]["loaderId"] == "next")
    );
    let title = script.request(
        client,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "expression": "document.title" }),
    );
    script.next_call("detachTab");
    let next = json!({ "frame": { "id": "T1", "loaderId": "next", "url": "https://site/2" } });
    script.finish_waking(&next);
    let heard = script.heard(client);
    let navigated = heard
        .iter()
        .find(|m| m["method"] == "Page.frameNavigated")
        .unwrap();
    assert_eq!(navigated["params"]["frame"], next["frame"]);
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({ "result": { "value": "two" } }));
    assert_eq!(script.heard(client)[0]["id"], title);
}

#[test]
fn a_silent_page_that_cannot_be_left_either_is_given_up() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let navigation = script.request(
        client,
        Some(&sessions[0]),
        "Page.navigate",
        json!({ "url": "https://site/2" }),
    );
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let later = script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let calls = pass(&mut script, 11);
    let navigate = calls
        .iter()
        .find(|call| call["params"]["method"] == "Page.navigate")
        .unwrap();
    script.reply_error(
        navigate,
        json!({ "code": -32000, "message": "Cannot navigate to invalid URL" }),
    );
    let heard = script.heard(client);
    assert!(
        heard
            .iter()
            .any(|m| m["id"] == navigation
                && m["error"]["message"] == "Cannot navigate to invalid URL"),
        "{heard:?}"
    );
    assert!(
        heard
            .iter()
            .any(|m| m["id"] == later && m["error"].is_object()),
        "{heard:?}"
    );
    script.next_call("detachTab");
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(1));
    script.next_command("Runtime.evaluate");
}

#[test]
fn a_client_that_leaves_while_it_leaves_a_silent_page_keeps_nobody_else_waiting() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    let (other, theirs) = script.attached_client();
    script.request(
        first,
        Some(&sessions[0]),
        "Page.navigate",
        json!({ "url": "https://site/2" }),
    );
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    pass(&mut script, 11);
    let waiting = script.request(other, Some(&theirs[0]), "Runtime.evaluate", json!({}));
    script.input(crate::Input::ClientClosed(first));
    assert!(
        script
            .heard(other)
            .iter()
            .any(|m| m["id"] == waiting && m["error"].is_object())
    );
    script.next_call("detachTab");
    script.request(other, Some(&theirs[0]), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(1));
    script.next_command("Runtime.evaluate");
}
