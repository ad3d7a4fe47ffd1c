//! Dormant tabs: init is answered here, the first real command wakes, and ids stay what clients were told.

use serde_json::{Value, json};

use super::script::{Script, main_frame, playwright_init, tab};
use crate::Input;

/// A client that has said all Playwright says, with what it heard.
fn initialized(script: &mut Script) -> (crate::ids::ClientId, String, Vec<Value>) {
    let (client, sessions) = script.attached_client();
    for (method, params) in playwright_init() {
        script.request(client, Some(&sessions[0]), method, params);
    }
    let heard = script.heard(client);
    (client, sessions[0].clone(), heard)
}

fn contexts(heard: &[Value]) -> Vec<(String, i64)> {
    let created = heard
        .iter()
        .filter(|m| m["method"] == "Runtime.executionContextCreated");
    created
        .map(|m| {
            (
                m["params"]["context"]["name"].as_str().unwrap().to_owned(),
                m["params"]["context"]["id"].as_i64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn all_that_playwright_says_to_a_page_is_answered_without_the_browser() {
    let mut script = Script::with_tabs(1);
    let (_, _, heard) = initialized(&mut script);
    let replies = heard.iter().filter(|m| m.get("result").is_some()).count();
    assert_eq!(replies, playwright_init().len());
    assert!(script.calls().is_empty(), "nothing is attached");
    let names: Vec<_> = contexts(&heard).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["", "utility"]);
    let lifecycle = heard
        .iter()
        .filter(|m| m["method"] == "Page.lifecycleEvent")
        .map(|m| m["params"]["name"].as_str().unwrap());
    assert!(
        lifecycle.clone().any(|name| name == "load")
            && lifecycle.clone().any(|name| name == "DOMContentLoaded")
    );
}

#[test]
fn recorded_clients_connect_to_a_dormant_page_without_waking_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/transcripts");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let transcript: Value = serde_json::from_str(&text).unwrap();
        let mut script = Script::with_tabs(1);
        let (client, sessions) = script.attached_client();
        for said in transcript["toPage"].as_array().unwrap() {
            let mut params = said["params"].clone();
            if params["frameId"].is_string() {
                params["frameId"] = "T1".into();
            }
            let id = script.request(
                client,
                Some(&sessions[0]),
                said["method"].as_str().unwrap(),
                params,
            );
            let heard = script.heard(client);
            let reply = heard.iter().find(|m| m["id"] == id);
            assert!(
                reply.is_some_and(|reply| reply["result"].is_object()),
                "{} {said}",
                transcript["client"]
            );
        }
        assert!(script.calls().is_empty(), "{}", transcript["client"]);
        count += 1;
    }
    assert!(count >= 3, "transcripts of three clients");
}

#[test]
fn the_frame_tree_of_a_dormant_tab_names_the_real_main_frame() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let tree = script.ask(client, Some(&sessions[0]), "Page.getFrameTree", json!({}));
    assert_eq!(
        (
            tree["frameTree"]["frame"]["id"].as_str(),
            tree["frameTree"]["frame"]["url"].as_str()
        ),
        (Some("T1"), Some("https://site/1"))
    );
}

#[test]
fn the_first_real_command_wakes_the_tab_once_however_many_race() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    let ids: Vec<_> = (0..3)
        .map(|n| {
            script.request(
                client,
                Some(&session),
                "Runtime.evaluate",
                json!({ "n": n }),
            )
        })
        .collect();
    let replayed = script.finish_waking(&main_frame(1));
    assert!(replayed.contains(&"Runtime.enable".to_owned()));
    for (n, id) in ids.into_iter().enumerate() {
        let call = script.next_command("Runtime.evaluate");
        assert_eq!(call["params"]["params"]["n"], n);
        script.reply(&call, json!({ "result": { "value": n } }));
        let heard = script.heard(client);
        let reply = heard.iter().find(|m| m["id"] == id).unwrap();
        assert_eq!(reply["result"]["result"]["value"], n);
    }
}

#[test]
fn a_clients_defaults_do_not_reach_the_persons_tab() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking(&main_frame(1));
    assert!(
        !replayed.iter().any(
            |method| method == "Emulation.setEmulatedMedia" || method == "Page.setFontFamilies"
        ),
        "{replayed:?}"
    );
    assert!(replayed.contains(&"Emulation.setFocusEmulationEnabled".to_owned()));
}

#[test]
fn what_a_client_wishes_later_wakes_the_tab_and_reaches_it() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(
        client,
        Some(&session),
        "Emulation.setEmulatedMedia",
        json!({ "media": "print" }),
    );
    script.finish_waking(&main_frame(1));
    script.next_command("Emulation.setEmulatedMedia");
}

#[test]
fn context_ids_that_clients_were_told_stay_valid_after_waking() {
    let mut script = Script::with_tabs(1);
    let (client, session, heard) = initialized(&mut script);
    let told = contexts(&heard);
    let (main, utility) = (told[0].1, told[1].1);
    script.request(
        client,
        Some(&session),
        "Runtime.callFunctionOn",
        json!({ "executionContextId": utility }),
    );
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        real_context(3, "T1", ""),
    );
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        real_context(4, "T1", "utility"),
    );
    for call in script.calls() {
        let result = if call["params"]["method"] == "Page.getFrameTree" {
            json!({ "frameTree": main_frame(1) })
        } else {
            json!({})
        };
        script.reply(&call, result);
    }
    assert!(
        contexts(&script.heard(client)).is_empty(),
        "what was announced is not announced again"
    );
    let call = script.next_command("Runtime.callFunctionOn");
    assert_eq!(call["params"]["params"]["executionContextId"], 4);
    script.reply(
        &call,
        json!({ "result": {}, "exceptionDetails": { "executionContextId": 4 } }),
    );
    assert_eq!(
        script.heard(client)[0]["result"]["exceptionDetails"]["executionContextId"],
        utility
    );
    script.cdp_event(
        1,
        "Runtime.consoleAPICalled",
        json!({ "executionContextId": 3, "args": [] }),
    );
    assert_eq!(
        script.heard(client)[0]["params"]["executionContextId"],
        main
    );
    script.cdp_event(
        1,
        "Runtime.executionContextDestroyed",
        json!({ "executionContextId": 3, "executionContextUniqueId": "u3" }),
    );
    let destroyed = &script.heard(client)[0]["params"];
    assert_eq!(
        (
            destroyed["executionContextId"].as_i64(),
            destroyed["executionContextUniqueId"].as_str()
        ),
        (Some(main), Some(format!("tabwire.{main}").as_str()))
    );
}

fn real_context(id: i64, frame: &str, name: &str) -> Value {
    let aux = json!({ "isDefault": name.is_empty(), "frameId": frame });
    json!({ "context": { "id": id, "uniqueId": format!("u{id}"), "name": name, "origin": "", "auxData": aux } })
}

#[test]
fn child_frames_are_announced_before_their_contexts_and_get_the_clients_worlds() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        real_context(3, "T1", ""),
    );
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        real_context(5, "child", ""),
    );
    let mut tree = main_frame(1);
    tree["childFrames"] =
        json!([{ "frame": { "id": "child", "parentId": "T1", "url": "https://site/child" } }]);
    for call in script.calls() {
        let result = if call["params"]["method"] == "Page.getFrameTree" {
            json!({ "frameTree": tree })
        } else {
            json!({})
        };
        script.reply(&call, result);
    }
    let world = script.next_command("Page.createIsolatedWorld");
    assert_eq!(world["params"]["params"]["frameId"], "child");
    assert_eq!(world["params"]["params"]["worldName"], "utility");
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        real_context(4, "T1", "utility"),
    );
    script.reply(&world, json!({ "executionContextId": 6 }));
    let methods: Vec<_> = script
        .heard(client)
        .iter()
        .map(|m| m["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        methods,
        [
            "Page.frameAttached",
            "Page.frameNavigated",
            "Runtime.executionContextCreated"
        ]
    );
    script.next_command("Runtime.evaluate");
}

#[test]
fn an_init_command_that_lacks_something_is_for_chrome_to_refuse() {
    for (method, params) in [
        ("Page.addScriptToEvaluateOnNewDocument", json!({})),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": 5 }),
        ),
        (
            "Page.setLifecycleEventsEnabled",
            json!({ "enabled": "yes" }),
        ),
        (
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 1, "height": 1, "deviceScaleFactor": null, "mobile": true }),
        ),
    ] {
        let mut script = Script::with_tabs(1);
        let (client, sessions) = script.attached_client();
        let id = script.request(client, Some(&sessions[0]), method, params);
        script.finish_waking(&main_frame(1));
        let call = script.next_command(method);
        script.reply_error(
            &call,
            json!({ "code": -32602, "message": "Invalid parameters" }),
        );
        assert!(
            script
                .heard(client)
                .iter()
                .any(|m| m["id"] == id && m["error"]["code"] == -32602),
            "{method}"
        );
    }
}

#[test]
fn an_attach_that_fails_tells_each_waiting_command_why_and_the_next_one_tries_again() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    let first = script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let second = script.request(client, Some(&session), "Page.navigate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply_error(
        &attach,
        json!("Another debugger is already attached to the tab with id: 1."),
    );
    let heard = script.heard(client);
    assert_eq!(
        (heard[0]["id"].as_i64(), heard[1]["id"].as_i64()),
        (Some(first), Some(second))
    );
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Close DevTools"),
        "{heard:?}"
    );
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    script.next_call("attachTab");
}

#[test]
fn scripts_are_removed_under_the_name_that_the_client_was_given() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let session = Some(sessions[0].as_str());
    let add = |script: &mut Script| {
        let result = script.ask(
            client,
            session,
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "1" }),
        );
        result["identifier"].as_str().unwrap().to_owned()
    };
    let (removed_dormant, removed_live) = (add(&mut script), add(&mut script));
    script.ask(
        client,
        session,
        "Page.removeScriptToEvaluateOnNewDocument",
        json!({ "identifier": removed_dormant }),
    );
    script.make_live(client, &sessions[0], 1);
    script.request(
        client,
        session,
        "Page.removeScriptToEvaluateOnNewDocument",
        json!({ "identifier": removed_live }),
    );
    assert_eq!(
        script.next_command("Page.removeScriptToEvaluateOnNewDocument")["params"]["params"]["identifier"],
        "real-1"
    );
}

#[test]
fn a_navigation_of_the_person_is_told_as_a_live_tab_would() {
    let mut script = Script::with_tabs(1);
    let (client, _, heard) = initialized(&mut script);
    let before = contexts(&heard);
    script.extension_event(
        "tabUpdated",
        json!({ "tabId": 1, "status": "loading", "url": "https://site/next" }),
    );
    script.extension_event(
        "tabNavigated",
        json!({ "tabId": 1, "url": "https://site/next", "sameDocument": false }),
    );
    script.extension_event("tabUpdated", json!({ "tabId": 1, "status": "interactive" }));
    script.extension_event("tabUpdated", json!({ "tabId": 1, "status": "complete" }));
    let heard = script.heard(client);
    let methods: Vec<_> = heard
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods[..4],
        [
            "Runtime.executionContextsCleared",
            "Page.frameNavigated",
            "Runtime.executionContextCreated",
            "Runtime.executionContextCreated"
        ]
    );
    assert_eq!(heard[1]["params"]["frame"]["url"], "https://site/next");
    let after = contexts(&heard);
    assert!(
        after
            .iter()
            .all(|(_, id)| before.iter().all(|(_, old)| old != id))
    );
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Page.lifecycleEvent" && m["params"]["name"] == "load")
    );
    assert!(script.calls().is_empty());
}

#[test]
fn a_place_or_state_of_the_same_document_is_told_as_such() {
    let mut script = Script::with_tabs(1);
    let (client, _, _) = initialized(&mut script);
    script.extension_event(
        "tabUpdated",
        json!({ "tabId": 1, "status": "loading", "url": "https://site/1#there" }),
    );
    script.extension_event(
        "tabNavigated",
        json!({ "tabId": 1, "url": "https://site/1#there", "sameDocument": true }),
    );
    script.extension_event("tabUpdated", json!({ "tabId": 1, "status": "complete" }));
    let heard = script.heard(client);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        (
            heard[0]["method"].as_str(),
            heard[0]["params"]["url"].as_str()
        ),
        (
            Some("Page.navigatedWithinDocument"),
            Some("https://site/1#there")
        )
    );
}

#[test]
fn a_tab_that_loses_its_debugger_is_woken_to_the_same_state() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.make_live(client, &session, 1);
    let in_flight = script.request(client, Some(&session), "Page.navigate", json!({}));
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "replaced_with_devtools" }),
    );
    let heard = script.heard(client);
    assert_eq!(heard[0]["id"], in_flight);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("outcome is unknown")
    );
    assert_eq!(
        heard
            .iter()
            .filter(|m| m["method"] == "Runtime.executionContextCreated")
            .count(),
        2
    );
    script.calls();
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking(&main_frame(1));
    for method in [
        "Page.enable",
        "Runtime.enable",
        "Network.enable",
        "Page.addScriptToEvaluateOnNewDocument",
    ] {
        assert!(
            replayed.iter().any(|replayed| replayed == method),
            "{method}"
        );
    }
}

#[test]
fn when_the_person_cancels_the_debugger_sessions_end_and_nothing_attaches_again() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.make_live(client, &session, 1);
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "canceled_by_user" }),
    );
    let heard = script.heard(client);
    let reason = heard
        .iter()
        .find(|m| m["method"] == "Inspector.detached")
        .unwrap();
    assert_eq!(reason["params"]["reason"], "canceled_by_user");
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Target.detachedFromTarget")
    );
    assert!(script.calls().is_empty());
}

#[test]
fn a_tab_that_closes_while_it_wakes_answers_those_who_wait() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    let id = script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let heard = script.heard(client);
    assert_eq!(heard.iter().filter(|m| m["id"] == id).count(), 1);
    assert!(heard[0]["error"].is_object());
}

#[test]
fn the_debugger_is_taken_off_when_the_last_client_leaves() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    let (second, _) = script.attached_client();
    script.make_live(first, &sessions[0], 1);
    script.input(Input::ClientClosed(first));
    assert!(script.calls().is_empty());
    script.input(Input::ClientClosed(second));
    script.next_call("detachTab");
}

#[test]
fn a_client_that_leaves_while_its_tab_wakes_leaves_no_debugger_behind() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.input(Input::ClientClosed(client));
    script.reply(&attach, json!({}));
    for call in script.calls() {
        script.reply(&call, json!({ "frameTree": main_frame(1) }));
    }
    script.next_call("detachTab");
    assert!(script.heard(client).is_empty());
}

#[test]
fn frames_reach_only_sessions_that_asked_for_a_screencast() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.ask(client, Some(&sessions[0]), "Page.enable", json!({}));
    script.make_live(client, &sessions[0], 1);
    script.cdp_event(1, "Page.screencastFrame", json!({ "data": "" }));
    assert!(script.heard(client).is_empty());
    script.request(
        client,
        Some(&sessions[0]),
        "Page.startScreencast",
        json!({}),
    );
    script.cdp_event(1, "Page.screencastFrame", json!({ "data": "" }));
    assert_eq!(script.heard(client)[0]["method"], "Page.screencastFrame");
}

#[test]
fn a_second_tab_of_the_same_number_is_another_tab() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.attached_client();
    let mut replaced = tab(2);
    replaced["removedTabId"] = 1.into();
    script.extension_event("tabReplaced", replaced);
    let heard = script.heard(client);
    assert_eq!(heard[0]["method"], "Target.detachedFromTarget");
    assert_eq!(heard[1]["params"]["targetInfo"]["targetId"], "T2");
}

#[test]
fn a_page_that_does_not_answer_while_it_wakes_is_dormant_again_after_the_deadline_and_can_be_tried_again()
 {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.calls();
    for _ in 0..12 {
        script.advance(std::time::Duration::from_secs(1));
        script.extension_event("pong", json!({}));
    }
    let heard = script.heard(client);
    let error = heard.last().unwrap()["error"]["message"].as_str().unwrap();
    assert!(
        error.contains("Page.getFrameTree") && error.contains("10 s"),
        "{error}"
    );
    assert!(
        script
            .calls()
            .iter()
            .any(|call| call["method"] == "detachTab")
    );
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(1));
    script.next_command("Runtime.evaluate");
}

#[test]
fn what_a_session_of_its_own_asks_for_is_a_wish_from_the_first_word() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    let opened = script.ask(
        client,
        None,
        "Target.attachToTarget",
        json!({ "targetId": "T1", "flatten": true }),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    script.request(
        client,
        Some(&session),
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 1 }),
    );
    script.finish_waking(&main_frame(1));
    script.next_command("Emulation.setDeviceMetricsOverride");
}

#[test]
fn a_world_made_without_runtime_keeps_its_id_after_waking() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let world = script.ask(
        client,
        Some(&sessions[0]),
        "Page.createIsolatedWorld",
        json!({ "frameId": "T1", "worldName": "w" }),
    );
    script.request(
        client,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "contextId": world["executionContextId"] }),
    );
    script.finish_waking(&main_frame(1));
    assert_eq!(
        script.next_command("Runtime.evaluate")["params"]["params"]["contextId"],
        99
    );
}

#[test]
fn a_client_that_leaves_with_a_command_under_way_leaves_no_debugger() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    script.request(
        client,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "awaitPromise": true }),
    );
    script.calls();
    script.input(Input::ClientClosed(client));
    script.next_call("detachTab");
    assert!(script.core.is_idle());
}

#[test]
fn a_tab_made_for_a_client_that_has_gone_gets_no_debugger() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.attached_client();
    script.request(
        client,
        None,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let call = script.next_call("createTab");
    script.input(Input::ClientClosed(client));
    let mut created = tab(7);
    created["attached"] = true.into();
    script.reply(&call, created);
    script.next_call("detachTab");
}

#[test]
fn an_answer_that_comes_too_late_is_set_right() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    for _ in 0..11 {
        script.advance(std::time::Duration::from_secs(1));
        script.extension_event("pong", json!({}));
    }
    assert!(script.heard(client)[0]["error"].is_object());
    script.calls();
    script.reply(&attach, json!({}));
    script.next_call("detachTab");
}

#[test]
fn a_dialog_is_told_and_answered_though_its_tab_is_only_waking() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.calls();
    script.cdp_event(
        1,
        "Page.javascriptDialogOpening",
        json!({ "message": "hello" }),
    );
    assert_eq!(
        script.heard(client)[0]["method"],
        "Page.javascriptDialogOpening"
    );
    script.request(
        client,
        Some(&session),
        "Page.handleJavaScriptDialog",
        json!({ "accept": true }),
    );
    script.next_command("Page.handleJavaScriptDialog");
}

/// Does what Playwright does in each page when a function is exposed in one; gives the helper's handle.
fn prepare_for_functions(
    script: &mut Script,
    client: crate::ids::ClientId,
    session: &str,
    context: i64,
) -> String {
    script.ask(
        client,
        Some(session),
        "Runtime.addBinding",
        json!({ "name": "__playwright__binding__" }),
    );
    script.ask(
        client,
        Some(session),
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": "controller()" }),
    );
    let make =
        json!({ "expression": "new (module.exports.UtilityScript())()", "contextId": context });
    let helper = script.ask(client, Some(session), "Runtime.evaluate", make);
    let handle = helper["result"]["objectId"].as_str().unwrap().to_owned();
    script.ask(
        client,
        Some(session),
        "Runtime.callFunctionOn",
        run_through(&handle, "controller()"),
    );
    handle
}

fn run_through(handle: &str, source: &str) -> Value {
    json!({ "functionDeclaration": "run", "objectId": handle, "arguments": [{ "objectId": handle }, { "value": false }, { "value": source }] })
}

#[test]
fn a_page_is_prepared_for_exposed_functions_without_waking_and_is_so_once_awake() {
    let mut script = Script::with_tabs(1);
    let (client, session, heard) = initialized(&mut script);
    let main = contexts(&heard)[0].1;
    let handle = prepare_for_functions(&mut script, client, &session, main);
    assert!(script.calls().is_empty(), "nothing is attached");

    script.request(
        client,
        Some(&session),
        "Runtime.callFunctionOn",
        run_through(&handle, "addBinding('f')"),
    );
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let mut done = Vec::new();
    loop {
        let calls = script.calls();
        if calls.is_empty() {
            break;
        }
        for call in calls {
            let (method, params) = (
                call["params"]["method"].as_str().unwrap(),
                call["params"]["params"].clone(),
            );
            let result = match method {
                "Page.getFrameTree" => json!({ "frameTree": main_frame(1) }),
                "Runtime.enable" => {
                    let context = json!({ "id": 3, "uniqueId": "u", "origin": "", "name": "", "auxData": { "isDefault": true, "frameId": "T1" } });
                    script.cdp_event(
                        1,
                        "Runtime.executionContextCreated",
                        json!({ "context": context }),
                    );
                    json!({})
                }
                "Runtime.evaluate" => {
                    json!({ "result": { "type": "object", "objectId": "real.1" } })
                }
                _ => json!({}),
            };
            if matches!(method, "Runtime.evaluate" | "Runtime.callFunctionOn") {
                done.push(params);
            }
            script.reply(&call, result);
        }
    }
    assert_eq!(
        done[0]["contextId"], 3,
        "the helper is made in the real context"
    );
    assert_eq!(
        done[1..],
        [
            run_through("real.1", "controller()"),
            run_through("real.1", "addBinding('f')")
        ],
        "then the script, then what woke"
    );
}

#[test]
fn only_the_helper_of_playwright_and_scripts_of_the_same_session_are_kept_for_waking() {
    let mut script = Script::with_tabs(1);
    let (client, session, heard) = initialized(&mut script);
    let main = contexts(&heard)[0].1;
    script.ask(
        client,
        Some(&session),
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": "controller()" }),
    );
    script.request(
        client,
        Some(&session),
        "Runtime.evaluate",
        json!({ "expression": "document.body", "contextId": main }),
    );
    script.next_call("attachTab");
}

#[test]
fn a_person_who_navigates_takes_what_was_prepared_with_the_document() {
    let mut script = Script::with_tabs(1);
    let (client, session, heard) = initialized(&mut script);
    let main = contexts(&heard)[0].1;
    prepare_for_functions(&mut script, client, &session, main);
    script.extension_event(
        "tabNavigated",
        json!({ "tabId": 1, "url": "https://site/other", "sameDocument": false }),
    );
    script.heard(client);
    script.request(client, Some(&session), "Page.reload", json!({}));
    let replayed = script.finish_waking(&main_frame(1));
    assert!(
        !replayed.contains(&"Runtime.evaluate".to_owned()),
        "{replayed:?}"
    );
}

#[test]
fn a_prerendered_page_in_the_place_of_the_first_keeps_the_frame_id_that_clients_know() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.request(
        client,
        Some(&session),
        "Page.navigate",
        json!({ "url": "https://site/next", "frameId": "T1" }),
    );
    let replayed = script.finish_waking(
        &json!({ "frame": { "id": "real-main", "loaderId": "l", "url": "https://site/1" } }),
    );
    let worlds = replayed
        .iter()
        .filter(|method| *method == "Page.createIsolatedWorld")
        .count();
    assert_eq!(
        worlds, 2,
        "asked for in the frame that was known, and again in the real one"
    );
    let navigate = script.next_command("Page.navigate");
    assert_eq!(navigate["params"]["params"]["frameId"], "real-main");
    script.reply(
        &navigate,
        json!({ "frameId": "real-main", "loaderId": "l2" }),
    );
    script.cdp_event(
        1,
        "Page.frameNavigated",
        json!({ "frame": { "id": "real-main", "url": "https://site/next" } }),
    );
    let heard = script.heard(client);
    let reply = heard
        .iter()
        .find(|m| m["result"]["loaderId"] == "l2")
        .unwrap();
    assert_eq!(reply["result"]["frameId"], "T1");
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Page.frameNavigated" && m["params"]["frame"]["id"] == "T1")
    );
}

#[test]
fn a_debugger_that_is_lost_while_worlds_are_made_leaves_no_frame_behind() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    let mut tree = main_frame(1);
    tree["childFrames"] =
        json!([{ "frame": { "id": "child", "parentId": "T1", "url": "https://site/child" } }]);
    script.request(client, Some(&session), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    for call in script.calls() {
        let result = if call["params"]["method"] == "Page.getFrameTree" {
            json!({ "frameTree": tree })
        } else {
            json!({})
        };
        script.reply(&call, result);
    }
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    let told: Vec<_> = script
        .heard(client)
        .iter()
        .filter_map(|m| m["method"].as_str().map(str::to_owned))
        .collect();
    let of = |method: &str| told.iter().filter(|told| *told == method).count();
    assert_eq!(
        (of("Page.frameAttached"), of("Page.frameDetached")),
        (1, 1),
        "{told:?}"
    );
}

#[test]
fn a_script_added_to_a_live_page_keeps_its_name_when_chrome_counts_anew() {
    let mut script = Script::with_tabs(1);
    let (client, session, _) = initialized(&mut script);
    script.make_live(client, &session, 1);
    let add = |script: &mut Script, source: &str, real: &str| {
        let id = script.request(
            client,
            Some(&session),
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": source }),
        );
        let call = script.next_command("Page.addScriptToEvaluateOnNewDocument");
        script.reply(&call, json!({ "identifier": real }));
        let heard = script.heard(client);
        heard.iter().find(|m| m["id"] == id).unwrap()["result"]["identifier"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = add(&mut script, "first()", "2");
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    script.make_live(client, &session, 1);
    let second = add(&mut script, "second()", "2");
    assert_ne!(first, second);
    script.request(
        client,
        Some(&session),
        "Page.removeScriptToEvaluateOnNewDocument",
        json!({ "identifier": second }),
    );
    assert_eq!(
        script.next_command("Page.removeScriptToEvaluateOnNewDocument")["params"]["params"]["identifier"],
        "2"
    );
}

#[test]
fn a_world_that_a_debugger_made_which_went_is_made_anew() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    let mut heard = Vec::new();
    for (method, params) in playwright_init() {
        script.request(first, Some(&sessions[0]), method, params);
        heard.extend(script.heard(first));
    }
    let world = heard
        .iter()
        .find(|m| m["params"]["context"]["name"] == "utility")
        .unwrap()["params"]["context"]["id"]
        .clone();
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let calls = script.calls();
    let made = calls
        .iter()
        .find(|c| c["params"]["method"] == "Page.createIsolatedWorld")
        .unwrap();
    script.reply(made, json!({ "executionContextId": 7 }));
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    script.heard(first);
    script.request(
        first,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "contextId": world, "expression": "2" }),
    );
    script.finish_waking(&main_frame(1));
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call["params"]["params"]["contextId"], 99);
}
