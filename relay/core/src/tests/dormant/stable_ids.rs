//! Ids that clients received from a dormant tab stay valid: contexts, scripts, isolated worlds and
//! frames.

use serde_json::{Value, json};

use super::initialized_page;
use crate::tests::script::{Script, Session, main_frame};

#[test]
fn context_ids_stay_valid_after_waking() {
    let (mut script, page, received) = initialized_page();
    let utility = received.context_id("utility");
    let params = json!({ "executionContextId": utility });
    let id = script.send(&page, "Runtime.callFunctionOn", params);
    script.accept_attach();
    script.create_context(3, "T1", "");
    script.create_context(4, "T1", "utility");
    script.answer_calls_with_tree(&main_frame(1));
    let announced = script.received(&page).contexts().len();
    assert_eq!(announced, 0, "no context is announced twice");

    let call = script.next_command("Runtime.callFunctionOn");
    assert_eq!(call.params()["executionContextId"], 4);
    let result = json!({ "result": {}, "exceptionDetails": { "executionContextId": 4 } });
    script.reply(&call, result);
    let received = script.received(&page);
    let exception = &received.result(id)["exceptionDetails"];
    assert_eq!(exception["executionContextId"], utility);
}

#[test]
fn events_of_a_real_context_carry_the_announced_id() {
    let (mut script, page, received) = initialized_page();
    let main = received.context_id("");
    script.start_waking(&page);
    script.create_context(3, "T1", "");
    script.create_context(4, "T1", "utility");
    script.answer_calls_with_tree(&main_frame(1));
    script.received(&page);

    let params = json!({ "executionContextId": 3, "args": [] });
    script.cdp_event(1, "Runtime.consoleAPICalled", params);
    let received = script.received(&page);
    assert_eq!(received[0]["params"]["executionContextId"], main);
    let params = json!({ "executionContextId": 3, "executionContextUniqueId": "u3" });
    script.cdp_event(1, "Runtime.executionContextDestroyed", params);
    let received = script.received(&page);
    let destroyed = received.event("Runtime.executionContextDestroyed");
    assert_eq!(destroyed["executionContextId"], main);
    let unique_id = format!("tabwire.{main}");
    assert_eq!(destroyed["executionContextUniqueId"], unique_id);
}

#[test]
fn scripts_are_removed_by_the_identifier_that_the_client_received() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let mut add = || {
        let params = json!({ "source": "1" });
        script.request(&page, "Page.addScriptToEvaluateOnNewDocument", params)
    };
    let (removed_dormant, removed_live) = (add(), add());
    let remove = "Page.removeScriptToEvaluateOnNewDocument";
    script.request(&page, remove, removed_dormant);
    script.make_live(&page);
    script.send(&page, remove, removed_live);
    let call = script.next_command(remove);
    assert_eq!(call.params()["identifier"], "real-1");
}

/// Adds a script to a live page, which Chrome calls `real`. Returns the result that the client
/// receives.
fn add_live_script(script: &mut Script, page: &Session, source: &str, real: &str) -> Value {
    let method = "Page.addScriptToEvaluateOnNewDocument";
    let id = script.send(page, method, json!({ "source": source }));
    let call = script.next_command(method);
    script.reply(&call, json!({ "identifier": real }));
    script.received(page).result(id).clone()
}

#[test]
fn script_identifiers_stay_unique_when_chrome_reuses_its_own() {
    let (mut script, page, _) = initialized_page();
    script.make_live(&page);
    let first = add_live_script(&mut script, &page, "first()", "2");
    script.detach_debugger(1, "target_closed");
    script.make_live(&page);
    let second = add_live_script(&mut script, &page, "second()", "2");
    assert!(first["identifier"].is_string() && second["identifier"].is_string());
    assert_ne!(first["identifier"], second["identifier"]);
    let remove = "Page.removeScriptToEvaluateOnNewDocument";
    script.send(&page, remove, second);
    assert_eq!(script.next_command(remove).params()["identifier"], "2");
}

#[test]
fn world_created_without_runtime_keeps_its_id_after_waking() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let params = json!({ "frameId": "T1", "worldName": "w" });
    let world = script.request(&page, "Page.createIsolatedWorld", params);
    let params = json!({ "contextId": world["executionContextId"] });
    script.send(&page, "Runtime.evaluate", params);
    script.finish_waking();
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.params()["contextId"], 99);
}

#[test]
fn world_of_a_lost_debugger_is_created_again() {
    let (mut script, page, received) = initialized_page();
    let world = received.context_id("utility");
    script.start_waking(&page);
    let calls = script.calls();
    let create = calls.command("Page.createIsolatedWorld");
    script.reply(create, json!({ "executionContextId": 7 }));
    script.detach_debugger(1, "target_closed");
    script.received(&page);
    let params = json!({ "contextId": world, "expression": "2" });
    script.send(&page, "Runtime.evaluate", params);
    script.finish_waking();
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.params()["contextId"], 99);
}

#[test]
fn activated_prerendered_page_keeps_the_announced_frame_id() {
    let (mut script, page, _) = initialized_page();
    let params = json!({ "url": "https://site/next", "frameId": "T1" });
    let id = script.send(&page, "Page.navigate", params);
    let main = json!({ "id": "real-main", "loaderId": "l", "url": "https://site/1" });
    let replayed = script.finish_waking_with_tree(&json!({ "frame": main }));
    let worlds = replayed.iter().filter(|m| *m == "Page.createIsolatedWorld");
    assert_eq!(
        worlds.count(),
        2,
        "one in the announced frame, one more in the real frame"
    );
    let navigate = script.next_command("Page.navigate");
    assert_eq!(navigate.params()["frameId"], "real-main");
    let result = json!({ "frameId": "real-main", "loaderId": "l2" });
    script.reply(&navigate, result);
    let frame = json!({ "id": "real-main", "url": "https://site/next" });
    script.cdp_event(1, "Page.frameNavigated", json!({ "frame": frame }));
    let received = script.received(&page);
    assert_eq!(received.result(id)["loaderId"], "l2");
    assert_eq!(received.result(id)["frameId"], "T1");
    let mut navigated = received.events("Page.frameNavigated");
    assert!(navigated.any(|params| params["frame"]["id"] == "T1"));
}
