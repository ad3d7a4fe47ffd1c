//! Clients that connect while others use a tab: they are answered whether its page answers or not.

use serde_json::{Value, json};

use super::script::{Script, main_frame, pass, playwright_init, tab};
use crate::Input;
use crate::ids::{ClientId, TabId};

const CHILD: &str = "child-frame";

fn tree() -> Value {
    let child =
        json!({ "id": CHILD, "parentId": "T1", "loaderId": "l", "url": "https://site/child" });
    let mut tree = main_frame(1);
    tree["childFrames"] = json!([{ "frame": child }]);
    tree
}

fn context(id: i64, frame: &str, name: &str) -> Value {
    let aux = json!({ "isDefault": name.is_empty(), "frameId": frame });
    json!({ "context": { "id": id, "uniqueId": format!("u{id}"), "name": name, "origin": "", "auxData": aux } })
}

/// A tab that a client like Playwright uses, with a child frame. From here on its page says nothing unless the test does.
fn used_tab() -> (Script, ClientId, String) {
    let mut script = Script::with_tabs(2);
    let (first, sessions) = script.attached_client();
    for (method, params) in playwright_init() {
        script.ask(first, Some(&sessions[0]), method, params);
    }
    script.request(
        first,
        Some(&sessions[0]),
        "Runtime.evaluate",
        json!({ "expression": "1" }),
    );
    script.finish_waking(&tree());
    script.cdp_event(1, "Runtime.executionContextCreated", context(3, "T1", ""));
    script.cdp_event(1, "Runtime.executionContextCreated", context(5, CHILD, ""));
    script.calls();
    script.heard(first);
    (script, first, sessions[0].clone())
}

fn set_up(script: &mut Script, world: &str) -> (ClientId, String, Vec<Value>) {
    let (late, sessions) = script.attached_client();
    let mut heard = Vec::new();
    for (method, mut params) in playwright_init() {
        if params["worldName"].is_string() {
            params["worldName"] = world.into();
        }
        let id = script.request(late, Some(&sessions[0]), method, params);
        let news = script.heard(late);
        let reply = news
            .iter()
            .find(|m| m["id"] == id)
            .unwrap_or_else(|| panic!("no answer to {method}"));
        assert!(reply["result"].is_object(), "{method}: {reply}");
        heard.extend(news);
    }
    (late, sessions[0].clone(), heard)
}

fn id_of(heard: &[Value], world: &str) -> i64 {
    let created = |m: &&Value| {
        m["method"] == "Runtime.executionContextCreated" && m["params"]["context"]["name"] == world
    };
    heard
        .iter()
        .find(created)
        .unwrap_or_else(|| panic!("no context of {world}: {heard:?}"))["params"]["context"]["id"]
        .as_i64()
        .unwrap()
}

fn methods(calls: &[Value]) -> Vec<&str> {
    calls
        .iter()
        .filter_map(|call| call["params"]["method"].as_str())
        .collect()
}

#[test]
fn a_client_sets_up_in_a_tab_whose_page_says_nothing() {
    let (mut script, _, _) = used_tab();
    let (_, _, heard) = set_up(&mut script, "theirs");
    let tree = heard
        .iter()
        .find(|m| m["result"]["frameTree"].is_object())
        .unwrap();
    assert_eq!(
        tree["result"]["frameTree"]["childFrames"][0]["frame"]["id"],
        CHILD
    );
    assert_eq!(
        tree["result"]["frameTree"]["frame"]["loaderId"],
        "real-loader"
    );
    let contexts: Vec<_> = heard
        .iter()
        .filter_map(|m| m["params"]["context"]["auxData"]["frameId"].as_str())
        .collect();
    assert_eq!(
        contexts,
        ["T1", "T1", CHILD, "T1"],
        "the page's two, the child's, and its own world"
    );
    let calls = script.calls();
    let told = methods(&calls);
    assert!(
        told.contains(&"Page.addScriptToEvaluateOnNewDocument")
            && told.contains(&"Page.createIsolatedWorld"),
        "{told:?}"
    );
    assert!(
        !told.contains(&"Runtime.enable") && !told.contains(&"Emulation.setEmulatedMedia"),
        "{told:?}"
    );
}

#[test]
fn a_command_in_a_world_that_is_not_made_yet_waits_for_it_and_later_ones_wait_behind() {
    let (mut script, first, _) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let world = id_of(&heard, "theirs");
    script.heard(first);
    let calls = script.calls();
    let evaluate = script.request(
        late,
        Some(&session),
        "Runtime.evaluate",
        json!({ "contextId": world, "expression": "2" }),
    );
    let title = script.request(late, Some(&session), "Page.captureScreenshot", json!({}));
    let questions = script.calls();
    assert_eq!(
        methods(&questions),
        ["Runtime.getIsolateId", "Runtime.getIsolateId"]
    );
    script.request(
        late,
        Some(&session),
        "Page.handleJavaScriptDialog",
        json!({ "accept": true }),
    );
    script.next_command("Page.handleJavaScriptDialog");
    // The page goes on.
    for call in &calls {
        let result = if call["params"]["method"] == "Page.createIsolatedWorld" {
            script.cdp_event(
                1,
                "Runtime.executionContextCreated",
                context(9, "T1", "theirs"),
            );
            json!({ "executionContextId": 9 })
        } else {
            json!({ "identifier": "real-2" })
        };
        script.reply(call, result);
    }
    assert!(
        script
            .heard(first)
            .iter()
            .all(|m| m["method"] != "Runtime.executionContextCreated"),
        "everyone knows it already"
    );
    for question in &questions {
        script.reply(question, json!({ "id": "i" }));
    }
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call["params"]["params"]["contextId"], 9);
    script.reply(&call, json!({ "result": { "value": 2 } }));
    let call = script.next_command("Page.captureScreenshot");
    script.reply(&call, json!({ "data": "" }));
    let replies: Vec<_> = script
        .heard(late)
        .iter()
        .filter_map(|m| m["id"].as_i64())
        .collect();
    assert_eq!(replies, [evaluate, title]);
}

#[test]
fn a_command_whose_turn_does_not_come_fails_in_time_and_the_next_one_goes_through() {
    let (mut script, _, _) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let world = id_of(&heard, "theirs");
    let calls = script.calls();
    let helper = json!({ "contextId": world, "expression": "new UtilityScript()" });
    script.request(late, Some(&session), "Runtime.evaluate", helper.clone());
    pass(&mut script, 31);
    let heard = script.heard(late);
    assert!(
        heard[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did not respond for 30 seconds"),
        "{heard:?}"
    );
    assert_eq!(
        heard[1]["method"], "Runtime.executionContextDestroyed",
        "so that Playwright asks for its helper again"
    );
    assert_eq!(id_of(&heard, "theirs"), world);
    script.calls();
    for call in &calls {
        script.reply(
            call,
            json!({ "executionContextId": 9, "identifier": "real-2" }),
        );
    }
    script.request(late, Some(&session), "Runtime.evaluate", helper);
    assert_eq!(
        script.next_command("Runtime.evaluate")["params"]["params"]["contextId"],
        9
    );
}

#[test]
fn a_script_that_is_taken_back_before_chrome_named_it_is_removed() {
    let (mut script, _, _) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let identifier = heard
        .iter()
        .find_map(|m| m["result"]["identifier"].as_str())
        .unwrap();
    let calls = script.calls();
    script.ask(
        late,
        Some(&session),
        "Page.removeScriptToEvaluateOnNewDocument",
        json!({ "identifier": identifier }),
    );
    let add = calls
        .iter()
        .find(|call| call["params"]["method"] == "Page.addScriptToEvaluateOnNewDocument")
        .unwrap();
    script.reply(add, json!({ "identifier": "real-2" }));
    assert_eq!(
        script.next_command("Page.removeScriptToEvaluateOnNewDocument")["params"]["params"]["identifier"],
        "real-2"
    );
}

#[test]
fn a_world_that_cannot_be_made_ends() {
    let (mut script, _, _) = used_tab();
    let (late, _, heard) = set_up(&mut script, "theirs");
    let calls = script.calls();
    let make = calls
        .iter()
        .find(|call| call["params"]["method"] == "Page.createIsolatedWorld")
        .unwrap();
    script.reply_error(
        make,
        json!({ "code": -32000, "message": "No frame for given id found" }),
    );
    let ended = script.heard(late);
    assert_eq!(ended[0]["method"], "Runtime.executionContextDestroyed");
    assert_eq!(
        ended[0]["params"]["executionContextId"],
        id_of(&heard, "theirs")
    );
}

#[test]
fn a_client_sets_up_while_a_tab_wakes_and_its_world_is_made_on_the_way() {
    for replies in 0..12 {
        let mut script = Script::with_tabs(1);
        let (first, sessions) = script.attached_client();
        for (method, params) in playwright_init() {
            script.ask(first, Some(&sessions[0]), method, params);
        }
        script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
        let attach = script.next_call("attachTab");
        if replies > 0 {
            script.reply(&attach, json!({}));
        }
        let answer = |script: &mut Script, call: &Value| match call["params"]["method"]
            .as_str()
            .unwrap_or_default()
        {
            "Page.getFrameTree" => script.reply(call, json!({ "frameTree": tree() })),
            "Runtime.enable" => {
                script.cdp_event(1, "Runtime.executionContextCreated", context(3, "T1", ""));
                script.reply(call, json!({}));
            }
            "Page.createIsolatedWorld" => {
                let asked = &call["params"]["params"];
                let (frame, name) = (
                    asked["frameId"].as_str().unwrap(),
                    asked["worldName"].as_str().unwrap(),
                );
                let id = if name == "theirs" { 9 } else { 4 } + if frame == CHILD { 10 } else { 0 };
                script.cdp_event(
                    1,
                    "Runtime.executionContextCreated",
                    context(id, frame, name),
                );
                script.reply(call, json!({ "executionContextId": id }));
            }
            _ => script.reply(call, json!({ "identifier": call["id"].to_string() })),
        };
        let mut unanswered = script.calls();
        for _ in 1..replies {
            if !unanswered.is_empty() {
                let call = unanswered.remove(0);
                answer(&mut script, &call);
                unanswered.extend(script.calls());
            }
        }
        let (late, session, mut heard) = set_up(&mut script, "theirs");
        let evaluate = json!({ "contextId": id_of(&heard, "theirs"), "expression": "theirs" });
        script.request(late, Some(&session), "Runtime.evaluate", evaluate);
        if replies == 0 {
            script.reply(&attach, json!({}));
        }
        let mut sent = Vec::new();
        loop {
            unanswered.extend(script.calls());
            if unanswered.is_empty() {
                break;
            }
            let call = unanswered.remove(0);
            sent.push(call["params"].clone());
            answer(&mut script, &call);
        }
        let evaluated = sent
            .iter()
            .find(|call| call["params"]["expression"] == "theirs")
            .unwrap();
        assert_eq!(
            evaluated["params"]["contextId"], 9,
            "after {replies} replies"
        );
        heard.extend(script.heard(late));
        let mut contexts: Vec<_> = heard
            .iter()
            .filter_map(|m| m["params"]["context"]["id"].as_i64())
            .collect();
        let count = contexts.len();
        contexts.sort_unstable();
        contexts.dedup();
        assert_eq!(contexts.len(), count, "each context once: {heard:?}");
        let is_attached = heard.iter().any(|m| m["method"] == "Page.frameAttached");
        let is_in_tree = heard
            .iter()
            .any(|m| m["result"]["frameTree"]["childFrames"].is_array());
        assert!(
            is_attached != is_in_tree,
            "the child frame once, after {replies} replies"
        );
    }
}

#[test]
fn child_frames_of_a_page_that_nobody_listened_to_are_told_when_chrome_has_answered() {
    let mut script = Script::with_tabs(1);
    let (first, session) = script.asking_client("T1");
    script.request(first, Some(&session), "Runtime.evaluate", json!({}));
    script.finish_waking(&main_frame(1));
    script.calls();
    let (late, _, heard) = set_up(&mut script, "theirs");
    assert!(
        heard
            .iter()
            .all(|m| m["result"]["frameTree"]["childFrames"].is_null())
    );
    for call in script.calls() {
        let result = if call["params"]["method"] == "Page.getFrameTree" {
            json!({ "frameTree": tree() })
        } else {
            json!({})
        };
        script.reply(&call, result);
    }
    let told: Vec<_> = script
        .heard(late)
        .iter()
        .filter_map(|m| m["params"]["frameId"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(told, [CHILD]);
}

#[test]
fn a_late_client_learns_that_the_page_has_crashed_and_can_reload_it() {
    let (mut script, _, _) = used_tab();
    script.cdp_event(1, "Inspector.targetCrashed", json!({}));
    let (late, session, heard) = set_up(&mut script, "theirs");
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Inspector.targetCrashed")
    );
    script.calls();
    script.request(late, Some(&session), "Page.reload", json!({}));
    script.next_command("Page.reload");
}

#[test]
fn what_chrome_says_late_of_a_debugger_that_has_gone_counts_for_nothing() {
    let (mut script, first, _) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let world = id_of(&heard, "theirs");
    let calls = script.calls();
    script.extension_event(
        "tabDetached",
        json!({ "tabId": 1, "reason": "target_closed" }),
    );
    for call in &calls {
        script.reply(
            call,
            json!({ "executionContextId": 9, "identifier": "old" }),
        );
    }
    script.heard(first);
    let heard = script.heard(late);
    let world_of_next = id_of(&heard, "theirs");
    assert_ne!(world_of_next, world);
    script.request(
        late,
        Some(&session),
        "Runtime.evaluate",
        json!({ "contextId": world_of_next }),
    );
    script.finish_waking(&tree());
    assert_eq!(
        script.next_command("Runtime.evaluate")["params"]["params"]["contextId"],
        99
    );
}

/// A tab that a raw client uses without `Page`.
fn raw_tab(tree: &Value) -> (Script, ClientId, String) {
    let mut script = Script::with_tabs(1);
    let (first, session) = script.asking_client("T1");
    script.request(first, Some(&session), "Runtime.evaluate", json!({}));
    script.finish_waking(tree);
    let call = script.next_command("Runtime.evaluate");
    script.reply(&call, json!({}));
    script.heard(first);
    (script, first, session)
}

/// The page goes on: Chrome answers all that it was asked.
fn answer_all(script: &mut Script, tree: &Value) {
    for call in script.calls() {
        let result = if call["params"]["method"] == "Page.getFrameTree" {
            json!({ "frameTree": tree })
        } else {
            json!({})
        };
        script.reply(&call, result);
    }
}

#[test]
fn frames_that_nobody_kept_the_book_of_are_not_told_as_they_once_were() {
    let (mut script, ..) = raw_tab(&tree());
    // Nobody has `Page` on, so Chrome says nothing of it; the extension does.
    script.extension_event(
        "tabNavigated",
        json!({ "tabId": 1, "url": "https://elsewhere/" }),
    );
    let (late, _, mut heard) = set_up(&mut script, "theirs");
    let mut now = main_frame(1);
    now["frame"]["url"] = "https://elsewhere/".into();
    answer_all(&mut script, &now);
    heard.extend(script.heard(late));
    let told = &heard
        .iter()
        .find(|m| m["result"]["frameTree"].is_object())
        .unwrap()["result"]["frameTree"];
    let corrected = heard
        .iter()
        .any(|m| m["method"] == "Page.frameNavigated" && m["params"]["frame"]["id"] == "T1");
    assert!(
        told["frame"]["url"] == "https://elsewhere/" || corrected,
        "url: {told}"
    );
    let gone = heard.iter().any(|m| m["method"] == "Page.frameDetached");
    assert!(told["childFrames"].is_null() || gone, "ghost: {told}");
}

#[test]
fn a_tree_that_another_asked_for_is_told_to_whoever_was_answered_before_it_came() {
    let mut script = Script::with_tabs(0);
    let (first, _) = script.attached_client();
    script.request(
        first,
        None,
        "Target.createTarget",
        json!({ "url": "https://site/1" }),
    );
    let create = script.next_call("createTab");
    let mut report = tab(1);
    report["attached"] = true.into();
    script.reply(&create, report);
    let heard = script.heard(first);
    let session = heard
        .iter()
        .find(|m| m["method"] == "Target.attachedToTarget")
        .unwrap()["params"]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    script.request(first, Some(&session), "Page.enable", json!({}));
    script.request(first, Some(&session), "Page.getFrameTree", json!({}));
    let (late, _, mut heard) = set_up(&mut script, "theirs");
    assert!(heard.iter().any(|m| m["result"]["frameTree"].is_object()));
    answer_all(&mut script, &tree());
    heard.extend(script.heard(late));
    let in_tree = heard
        .iter()
        .any(|m| m["result"]["frameTree"]["childFrames"].is_array());
    let attached = heard.iter().any(|m| m["method"] == "Page.frameAttached");
    assert!(in_tree || attached, "{heard:?}");
}

#[test]
fn page_enable_said_again_is_answered_after_what_chrome_tells() {
    let (mut script, ..) = used_tab();
    let (late, session, _) = set_up(&mut script, "theirs");
    answer_all(&mut script, &tree());
    script.heard(late);
    let info = json!({ "targetId": CHILD, "type": "iframe" });
    script.cdp_event(
        1,
        "Page.frameDetached",
        json!({ "frameId": CHILD, "reason": "swap" }),
    );
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "c", "targetInfo": info, "waitingForDebugger": false }),
    );
    // The frame comes back into its parent's process.
    script.cdp_event(1, "Target.detachedFromTarget", json!({ "sessionId": "c" }));
    script.heard(late);
    script.calls();
    let id = script.request(late, Some(&session), "Page.enable", json!({}));
    script.cdp_event(
        1,
        "Page.frameAttached",
        json!({ "frameId": CHILD, "parentFrameId": "T1" }),
    );
    for call in script.calls() {
        script.reply(&call, json!({}));
    }
    let heard = script.heard(late);
    let at = |is: &dyn Fn(&Value) -> bool| heard.iter().position(is).unwrap();
    assert!(
        at(&|m| m["method"] == "Page.frameAttached") < at(&|m| m["id"] == id),
        "{heard:?}"
    );
}

#[test]
fn a_context_is_told_after_its_frame() {
    let (mut script, first, a) = raw_tab(&main_frame(1));
    script.request(first, Some(&a), "Runtime.enable", json!({}));
    script.cdp_event(1, "Runtime.executionContextCreated", context(3, "T1", ""));
    // A frame that came while nobody had `Page` on.
    script.cdp_event(1, "Runtime.executionContextCreated", context(5, CHILD, ""));
    answer_all(&mut script, &tree());
    let (late, _, mut heard) = set_up(&mut script, "theirs");
    answer_all(&mut script, &tree());
    heard.extend(script.heard(late));
    let frame = heard
        .iter()
        .position(|m| m["method"] == "Page.frameAttached")
        .expect("told of the frame");
    let context = heard
        .iter()
        .rposition(|m| m["params"]["context"]["id"] == 5)
        .expect("told of its context");
    assert!(
        frame < context,
        "the context is told at {context}, its frame at {frame}"
    );
}

#[test]
fn a_command_whose_turn_does_not_come_is_named_in_its_error() {
    let (mut script, ..) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let world = heard
        .iter()
        .find(|m| m["params"]["context"]["name"] == "theirs")
        .unwrap()["params"]["context"]["id"]
        .clone();
    script.request(
        late,
        Some(&session),
        "Runtime.evaluate",
        json!({ "contextId": world, "expression": "1" }),
    );
    pass(&mut script, 31);
    let heard = script.heard(late);
    let message = heard[0]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("Runtime.evaluate"), "{message}");
}

#[test]
fn a_late_client_learns_that_a_page_out_of_the_cache_is_loaded() {
    let (mut script, ..) = used_tab();
    for name in ["init", "commit"] {
        script.cdp_event(
            1,
            "Page.lifecycleEvent",
            json!({ "frameId": "T1", "loaderId": "l2", "name": name, "timestamp": 1 }),
        );
    }
    let frame = json!({ "id": "T1", "loaderId": "real-loader", "url": "https://site/1" });
    script.cdp_event(
        1,
        "Page.frameNavigated",
        json!({ "frame": frame, "type": "BackForwardCacheRestore" }),
    );
    let (_, _, heard) = set_up(&mut script, "theirs");
    let names: Vec<_> = heard
        .iter()
        .filter(|m| m["method"] == "Page.lifecycleEvent")
        .map(|m| m["params"]["name"].clone())
        .collect();
    assert!(names.contains(&json!("load")), "{names:?}");
}

#[test]
fn a_world_that_was_made_before_runtime_was_on_is_told_when_it_is() {
    let (mut script, ..) = raw_tab(&main_frame(1));
    let (late, sessions) = script.attached_client();
    let s = &sessions[0];
    let mut heard = Vec::new();
    for (method, params) in [
        ("Page.enable", json!({})),
        (
            "Page.createIsolatedWorld",
            json!({ "frameId": "T1", "worldName": "w" }),
        ),
        ("Runtime.enable", json!({})),
    ] {
        script.request(late, Some(s), method, params);
        heard.extend(script.heard(late));
    }
    for call in script.calls() {
        if call["params"]["method"] == "Runtime.enable" {
            script.cdp_event(1, "Runtime.executionContextCreated", context(3, "T1", ""));
            script.cdp_event(1, "Runtime.executionContextCreated", context(9, "T1", "w"));
        }
        script.reply(&call, json!({ "executionContextId": 9 }));
    }
    heard.extend(script.heard(late));
    assert!(
        heard.iter().any(|m| m["params"]["context"]["name"] == "w"),
        "{heard:?}"
    );
}

#[test]
fn what_a_stopped_page_is_told_does_not_pile_up() {
    let (mut script, ..) = used_tab();
    let before = script.core.out.calls.iter().count();
    for n in 0..200 {
        let (late, ..) = set_up(&mut script, &format!("w{n}"));
        script.input(Input::ClientClosed(late));
        script.heard(late);
        script.calls();
        pass(&mut script, 60);
    }
    let after = script.core.out.calls.iter().count();
    let contexts = script
        .core
        .world
        .tabs
        .get(TabId(1))
        .unwrap()
        .contexts()
        .iter()
        .count();
    assert!(
        after - before < 100,
        "{before} -> {after}, contexts {contexts}"
    );
}

#[test]
fn what_waits_for_its_turn_is_bounded() {
    let (mut script, ..) = used_tab();
    let (late, session, heard) = set_up(&mut script, "theirs");
    let world = heard
        .iter()
        .find(|m| m["params"]["context"]["name"] == "theirs")
        .unwrap()["params"]["context"]["id"]
        .clone();
    script.cdp_event(
        1,
        "Page.javascriptDialogOpening",
        json!({ "type": "alert" }),
    );
    script.heard(late);
    for _ in 0..9 {
        script.request(
            late,
            Some(&session),
            "Runtime.evaluate",
            json!({ "contextId": world, "expression": "x".repeat(10 << 20) }),
        );
    }
    assert!(
        script.heard(late).iter().any(|m| m["error"].is_object()),
        "90 MB wait"
    );
}
