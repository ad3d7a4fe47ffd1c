//! Several views on one debugger session: each client hears its own, and what is shared stays whole.

use serde_json::{Value, json};

use super::script::{Script, main_frame};
use crate::Input;
use crate::ids::ClientId;

/// Two clients on one live tab, both with `Runtime` on.
pub fn two_clients() -> (Script, [(ClientId, String); 2]) {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    let (second, b) = script.attached_client();
    script.ask(first, Some(&a[0]), "Runtime.enable", json!({}));
    script.make_live(first, &a[0], 1);
    script.request(second, Some(&b[0]), "Runtime.enable", json!({}));
    script.heard(second);
    (script, [(first, a[0].clone()), (second, b[0].clone())])
}

pub fn names(heard: &[Value]) -> Vec<&str> {
    heard.iter().filter_map(|m| m["method"].as_str()).collect()
}

#[test]
fn an_event_reaches_each_client_under_its_own_session() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    script.cdp_event(1, "Runtime.consoleAPICalled", json!({ "args": [] }));
    for (client, session) in [(first, a), (second, b)] {
        let heard = script.heard(client);
        assert_eq!(
            (heard.len(), heard[0]["sessionId"].as_str()),
            (1, Some(session.as_str()))
        );
    }
}

#[test]
fn a_domain_that_one_session_did_not_enable_stays_silent_for_it() {
    let (mut script, [(first, a), (second, _)]) = two_clients();
    script.request(first, Some(&a), "Network.enable", json!({}));
    script.cdp_event(1, "Network.requestWillBeSent", json!({}));
    assert_eq!(names(&script.heard(first)), ["Network.requestWillBeSent"]);
    assert!(script.heard(second).is_empty());
}

#[test]
fn a_late_session_is_told_of_the_contexts_that_are_there() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    script.request(first, Some(&a[0]), "Runtime.enable", json!({}));
    script.make_live(first, &a[0], 1);
    script.cdp_event(
        1,
        "Runtime.executionContextCreated",
        json!({ "context": { "id": 9, "name": "", "auxData": { "isDefault": true, "frameId": "T1" } } }),
    );
    let (second, b) = script.attached_client();
    script.request(second, Some(&b[0]), "Runtime.enable", json!({}));
    let heard = script.heard(second);
    assert_eq!(heard[0]["params"]["context"]["id"], 9);
    assert!(heard[1]["result"].is_object());
    assert!(script.calls().is_empty(), "Chrome has it on already");
}

#[test]
fn what_a_late_session_missed_does_not_overtake_the_answers_it_waits_for() {
    let (mut script, [(first, a), _]) = two_clients();
    script.request(
        first,
        Some(&a),
        "Page.setLifecycleEventsEnabled",
        json!({ "enabled": true }),
    );
    script.calls();
    let context = |id: i64| json!({ "context": { "id": id, "name": id.to_string(), "auxData": { "isDefault": false, "frameId": "T1" } } });
    script.cdp_event(1, "Runtime.executionContextCreated", context(9));
    script.cdp_event(
        1,
        "Page.lifecycleEvent",
        json!({ "frameId": "T1", "name": "init" }),
    );
    let (late, c) = script.asking_client("T1");
    let c = Some(c.as_str());
    script.request(late, c, "Page.enable", json!({}));
    let tree = script.request(late, c, "Page.getFrameTree", json!({}));
    let lifecycle = script.request(
        late,
        c,
        "Page.setLifecycleEventsEnabled",
        json!({ "enabled": true }),
    );
    let runtime = script.request(late, c, "Runtime.enable", json!({}));
    assert!(script.heard(late).is_empty());
    let calls = script.calls();
    // What happens meanwhile is told with the rest, and once.
    script.cdp_event(1, "Runtime.executionContextCreated", context(10));
    for call in calls {
        script.reply(&call, json!({}));
    }
    let heard = script.heard(late);
    let place = |wanted: &dyn Fn(&Value) -> bool| heard.iter().position(wanted).unwrap();
    let reply_to = |id: i64| place(&|m| m["id"] == id);
    let state = place(&|m| m["method"] == "Page.lifecycleEvent");
    let contexts: Vec<_> = heard
        .iter()
        .filter_map(|m| m["params"]["context"]["id"].as_i64())
        .filter(|id| [9, 10].contains(id))
        .collect();
    assert_eq!(contexts, [9, 10]);
    let context = place(&|m| m["params"]["context"]["id"] == 9);
    assert!(
        reply_to(tree) < state
            && state < reply_to(lifecycle)
            && reply_to(lifecycle) < context
            && context < reply_to(runtime)
    );
    assert_eq!(heard[reply_to(runtime)]["result"], json!({}));
    script.cdp_event(1, "Runtime.consoleAPICalled", json!({ "args": [] }));
    assert_eq!(names(&script.heard(late)), ["Runtime.consoleAPICalled"]);
}

#[test]
fn a_late_session_has_its_domain_though_the_one_that_had_it_on_leaves_meanwhile() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    script.ask(first, Some(&a[0]), "Runtime.enable", json!({}));
    script.make_live(first, &a[0], 1);
    let (late, b) = script.asking_client("T1");
    script.request(late, Some(&b), "Page.getFrameTree", json!({}));
    let runtime = script.request(late, Some(&b), "Runtime.enable", json!({}));
    let calls = script.calls();
    script.input(Input::ClientClosed(first));
    script.calls();
    for call in calls {
        script.reply(&call, json!({}));
    }
    let call = script.next_command("Runtime.enable");
    script.reply(&call, json!({}));
    assert_eq!(script.heard(late).last().unwrap()["id"], runtime);
}

#[test]
fn disabling_ends_only_the_sessions_own_view() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    script.ask(first, Some(&a), "Runtime.disable", json!({}));
    assert!(script.calls().is_empty());
    script.cdp_event(1, "Runtime.consoleAPICalled", json!({ "args": [] }));
    assert!(script.heard(first).is_empty());
    assert_eq!(script.heard(second).len(), 1);
    script.request(second, Some(&b), "Runtime.disable", json!({}));
    script.next_command("Runtime.disable");
}

#[test]
fn a_second_session_of_one_client_is_distinct_and_its_end_leaves_the_first() {
    let mut script = Script::with_tabs(1);
    let (client, sessions) = script.attached_client();
    let second = script.ask(
        client,
        None,
        "Target.attachToTarget",
        json!({ "targetId": "T1", "flatten": true }),
    )["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(second, sessions[0]);
    script.request(
        client,
        None,
        "Target.detachFromTarget",
        json!({ "sessionId": second }),
    );
    let heard = script.heard(client);
    assert_eq!(names(&heard), ["Target.detachedFromTarget"]);
    assert_eq!(
        script
            .error_of(client, Some(&second), "Runtime.evaluate", json!({}))
            .0,
        -32001
    );
    script.make_live(client, &sessions[0], 1);
}

#[test]
fn a_librarys_defaults_do_not_reach_a_frame_of_the_persons_tab_either() {
    let (mut script, [(first, a), _]) = two_clients();
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
    );
    let info = json!({ "targetId": "F", "type": "iframe" });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "f", "targetInfo": info, "waitingForDebugger": true }),
    );
    let heard = script.heard(first);
    let frame = heard
        .iter()
        .find_map(|m| m["params"]["sessionId"].as_str())
        .unwrap();
    script.calls();
    script.ask(
        first,
        Some(frame),
        "Emulation.setEmulatedMedia",
        json!({ "media": "" }),
    );
    assert!(script.calls().is_empty());
    script.request(
        first,
        Some(frame),
        "Runtime.runIfWaitingForDebugger",
        json!({}),
    );
    script.request(
        first,
        Some(frame),
        "Emulation.setEmulatedMedia",
        json!({ "media": "print" }),
    );
    script.next_command("Runtime.runIfWaitingForDebugger");
    script.next_command("Emulation.setEmulatedMedia");
}

#[test]
fn one_client_leaving_answers_nothing_to_another() {
    let (mut script, [(first, a), (second, _)]) = two_clients();
    script.request(first, Some(&a), "Page.navigate", json!({}));
    let call = script.next_command("Page.navigate");
    script.input(Input::ClientClosed(first));
    script.reply(&call, json!({}));
    assert!(script.heard(first).is_empty() && script.heard(second).is_empty());
}

#[test]
fn sessions_nested_without_end_are_ended_without_trouble() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    let mut session = None;
    let mut top = None;
    for _ in 0..5_000 {
        let result = script.ask(
            client,
            session.as_deref(),
            "Target.attachToBrowserTarget",
            json!({}),
        );
        session = result["sessionId"].as_str().map(str::to_owned);
        top.get_or_insert_with(|| session.clone());
    }
    script.ask(
        client,
        None,
        "Target.detachFromTarget",
        json!({ "sessionId": top }),
    );
    assert_eq!(
        script
            .error_of(client, session.as_deref(), "Browser.getVersion", json!({}))
            .0,
        -32001
    );
}

#[test]
fn requests_that_a_session_held_go_on_when_it_ends() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    script.request(first, Some(&a), "Fetch.enable", json!({}));
    script.request(second, Some(&b), "Network.enable", json!({}));
    script.calls();
    script.input(Input::ClientClosed(first));
    let methods: Vec<_> = script
        .calls()
        .iter()
        .map(|call| call["params"]["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        methods,
        ["Fetch.disable"],
        "what the other session uses stays on"
    );
}

#[test]
fn a_target_that_waits_for_a_client_that_leaves_is_resumed() {
    let (mut script, [(first, a), _]) = two_clients();
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
    );
    let info = json!({ "targetId": "W", "type": "worker" });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "w", "targetInfo": info, "waitingForDebugger": true }),
    );
    script.calls();
    script.input(Input::ClientClosed(first));
    assert!(
        script
            .calls()
            .iter()
            .any(|call| call["params"]["method"] == "Runtime.runIfWaitingForDebugger")
    );
}

#[test]
fn events_of_a_domain_without_enable_reach_only_who_used_it() {
    let (mut script, [(first, a), (second, _)]) = two_clients();
    script.request(first, Some(&a), "Tracing.start", json!({}));
    script.cdp_event(1, "Tracing.dataCollected", json!({ "value": [] }));
    assert_eq!(names(&script.heard(first)), ["Tracing.dataCollected"]);
    assert!(script.heard(second).is_empty());
}

#[test]
fn a_second_clients_defaults_do_not_reach_a_live_tab_either() {
    let (mut script, [(_, _), (second, b)]) = two_clients();
    script.ask(
        second,
        Some(&b),
        "Emulation.setEmulatedMedia",
        json!({ "media": "" }),
    );
    assert!(script.calls().is_empty());
    script.request(
        second,
        Some(&b),
        "Runtime.runIfWaitingForDebugger",
        json!({}),
    );
    script.request(
        second,
        Some(&b),
        "Emulation.setEmulatedMedia",
        json!({ "media": "print" }),
    );
    let methods: Vec<_> = script
        .calls()
        .iter()
        .map(|call| call["params"]["method"].as_str().unwrap().to_owned())
        .collect();
    assert!(methods.contains(&"Emulation.setEmulatedMedia".to_owned()));
}

/// The commands that the browser is told, with their parameters.
fn commands(script: &mut Script) -> Vec<(String, Value)> {
    let calls = script.calls();
    let of = |call: &Value| {
        (
            call["params"]["method"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            call["params"]["params"].clone(),
        )
    };
    calls
        .iter()
        .filter(|call| call["method"] == "cdpCommand")
        .map(of)
        .collect()
}

/// Two clients on one live tab whose libraries have set up.
fn two_on_one_tab() -> (Script, [(ClientId, String); 2]) {
    let mut script = Script::with_tabs(1);
    let (one, mine) = script.attached_client();
    let (other, theirs) = script.attached_client();
    for (client, sessions) in [(one, &mine), (other, &theirs)] {
        script.ask(
            client,
            Some(&sessions[0]),
            "Runtime.runIfWaitingForDebugger",
            json!({}),
        );
    }
    script.make_live(one, &mine[0], 1);
    (script, [(one, mine[0].clone()), (other, theirs[0].clone())])
}

#[test]
fn what_a_session_set_is_set_back_when_it_goes_and_others_stay() {
    let (mut script, [(one, session), _]) = two_on_one_tab();
    script.request(
        one,
        Some(&session),
        "Emulation.setEmulatedMedia",
        json!({ "media": "print" }),
    );
    script.request(
        one,
        Some(&session),
        "Network.emulateNetworkConditions",
        json!({ "offline": true }),
    );
    script.request(
        one,
        Some(&session),
        "Runtime.addBinding",
        json!({ "name": "f" }),
    );
    commands(&mut script);
    script.input(Input::ClientClosed(one));
    let undone = commands(&mut script);
    assert!(
        undone.contains(&(
            "Emulation.setEmulatedMedia".to_owned(),
            json!({ "media": "", "features": [] })
        )),
        "{undone:?}"
    );
    assert!(
        undone.iter().any(
            |(method, params)| method == "Network.emulateNetworkConditions"
                && params["offline"] == false
        ),
        "{undone:?}"
    );
    assert!(
        undone.contains(&("Runtime.removeBinding".to_owned(), json!({ "name": "f" }))),
        "{undone:?}"
    );
}

#[test]
fn what_another_session_set_too_counts_again() {
    let (mut script, [(one, session), (other, theirs)]) = two_on_one_tab();
    script.request(
        other,
        Some(&theirs),
        "Emulation.setEmulatedMedia",
        json!({ "media": "screen" }),
    );
    script.request(
        one,
        Some(&session),
        "Emulation.setEmulatedMedia",
        json!({ "media": "print" }),
    );
    script.request(
        one,
        Some(&session),
        "Runtime.addBinding",
        json!({ "name": "f" }),
    );
    script.request(
        other,
        Some(&theirs),
        "Runtime.addBinding",
        json!({ "name": "f" }),
    );
    commands(&mut script);
    script.input(Input::ClientClosed(one));
    let undone = commands(&mut script);
    assert!(
        undone.contains(&(
            "Emulation.setEmulatedMedia".to_owned(),
            json!({ "media": "screen" })
        )),
        "{undone:?}"
    );
    assert!(
        !undone
            .iter()
            .any(|(method, _)| method == "Runtime.removeBinding"),
        "{undone:?}"
    );
}

#[test]
fn a_session_that_comes_late_hears_what_chrome_told_before() {
    let (mut script, [(one, session), (other, theirs)]) = two_on_one_tab();
    for method in ["Debugger.enable", "Page.enable"] {
        script.request(one, Some(&session), method, json!({}));
    }
    script.request(
        one,
        Some(&session),
        "Page.setLifecycleEventsEnabled",
        json!({ "enabled": true }),
    );
    script.cdp_event(1, "Debugger.scriptParsed", json!({ "scriptId": "7" }));
    script.cdp_event(
        1,
        "Page.lifecycleEvent",
        json!({ "frameId": "T1", "name": "load" }),
    );
    script.heard(other);
    script.calls();
    script.request(other, Some(&theirs), "Debugger.enable", json!({}));
    script.request(
        other,
        Some(&theirs),
        "Page.setLifecycleEventsEnabled",
        json!({ "enabled": true }),
    );
    for call in script.calls() {
        script.reply(&call, json!({}));
    }
    let heard: Vec<_> = script
        .heard(other)
        .iter()
        .filter_map(|m| m["method"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(heard, ["Debugger.scriptParsed", "Page.lifecycleEvent"]);
}

#[test]
fn what_a_client_set_is_undone_when_it_goes_while_the_tab_wakes() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.attached_client();
    let (second, b) = script.attached_client();
    script.ask(
        second,
        Some(&b[0]),
        "Network.setExtraHTTPHeaders",
        json!({ "headers": { "x": "y" } }),
    );
    script.request(first, Some(&a[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    script.input(Input::ClientClosed(second));
    let mut sent = Vec::new();
    loop {
        let calls = script.calls();
        if calls.is_empty() {
            break;
        }
        for call in calls {
            sent.push(call["params"].clone());
            let result = if call["params"]["method"] == "Page.getFrameTree" {
                json!({ "frameTree": main_frame(1) })
            } else {
                json!({})
            };
            script.reply(&call, result);
        }
    }
    let headers: Vec<_> = sent
        .iter()
        .filter(|c| c["method"] == "Network.setExtraHTTPHeaders")
        .map(|c| c["params"]["headers"].clone())
        .collect();
    assert_eq!(headers.last(), Some(&json!({})), "{headers:?}");
}

#[test]
fn what_is_switched_on_again_and_again_is_answered_each_time() {
    let mut script = Script::with_tabs(1);
    let (client, session) = script.asking_client("T1");
    script.make_live(client, &session, 1);
    script.request(client, Some(&session), "Runtime.enable", json!({}));
    script.answer_all();
    script.heard(client);
    script.request(
        client,
        Some(&session),
        "Runtime.evaluate",
        json!({ "expression": "1" }),
    );
    let asked =
        [(); 2].map(|()| script.request(client, Some(&session), "Runtime.enable", json!({})));
    for _ in 0..3 {
        script.answer_all();
    }
    let heard = script.heard(client);
    for id in asked {
        assert_eq!(
            heard
                .iter()
                .filter(|m| m["id"] == id && m["result"].is_object())
                .count(),
            1,
            "{heard:?}"
        );
    }
    assert!(script.calls().is_empty());
}
