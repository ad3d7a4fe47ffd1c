//! Targets below a page, and several sessions that want them differently.

use serde_json::{Value, json};

use super::script::{Script, pass};
use super::sessions::{names, two_clients};
use crate::Input;
use crate::ids::ClientId;

fn ask(filter: &Value, stops: bool) -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": stops, "flatten": true, "filter": filter })
}

fn appears(script: &mut Script, child: &str, kind: &str) {
    let info = json!({ "targetId": format!("X{child}"), "type": kind });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": child, "targetInfo": info, "waitingForDebugger": true }),
    );
}

/// The kinds of target that a client was told of since it was last asked, and whether each waits for it.
fn told(heard: &[Value]) -> Vec<(&str, bool)> {
    let attached = heard
        .iter()
        .filter(|m| m["method"] == "Target.attachedToTarget")
        .map(|m| &m["params"]);
    attached
        .map(|p| {
            (
                p["targetInfo"]["type"].as_str().unwrap(),
                p["waitingForDebugger"].as_bool().unwrap(),
            )
        })
        .collect()
}

#[test]
fn each_session_is_told_of_what_its_own_filter_wants_and_chrome_is_asked_for_all() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        ask(&json!([{ "type": "worker" }]), true),
    );
    let asked = script.next_command("Target.setAutoAttach");
    assert_eq!(
        asked["params"]["params"],
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
    );
    script.reply(&asked, json!({}));
    appears(&mut script, "one", "worker");
    appears(&mut script, "two", "iframe");
    assert_eq!(told(&script.heard(first)), [("worker", true)]);
    let resumed = script.next_command("Runtime.runIfWaitingForDebugger");
    assert_eq!(
        resumed["params"]["childSessionId"], "two",
        "nobody else will"
    );

    let (second, b) = script.asking_client("T1");
    script.ask(
        second,
        Some(&b),
        "Target.setAutoAttach",
        ask(&json!([{}]), true),
    );
    assert!(script.calls().is_empty(), "Chrome has heard it");
}

#[test]
fn a_late_session_learns_of_the_targets_that_are_there() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        ask(&json!([{}]), true),
    );
    appears(&mut script, "one", "worker");
    let (second, b) = script.asking_client("T1");
    script.request(
        second,
        Some(&b),
        "Target.setAutoAttach",
        ask(&json!([{}]), true),
    );
    assert_eq!(told(&script.heard(second)), [("worker", false)]);
}

#[test]
fn targets_stop_at_their_start_as_long_as_a_session_wants_that() {
    let mut script = Script::with_tabs(1);
    let (first, a) = script.asking_client("T1");
    script.make_live(first, &a, 1);
    let stops = |script: &mut Script| {
        script.next_command("Target.setAutoAttach")["params"]["params"]["waitForDebuggerOnStart"]
            .clone()
    };
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        ask(&json!([{}]), false),
    );
    assert_eq!(stops(&mut script), false);
    let (second, b) = script.asking_client("T1");
    script.request(
        second,
        Some(&b),
        "Target.setAutoAttach",
        ask(&json!([{ "type": "worker" }]), true),
    );
    assert_eq!(stops(&mut script), true);
    script.heard(first);
    script.heard(second);
    appears(&mut script, "one", "worker");
    assert_eq!(
        (told(&script.heard(first)), told(&script.heard(second))),
        (vec![("worker", false)], vec![("worker", true)])
    );
    assert!(script.calls().is_empty(), "the second means to resume it");
    appears(&mut script, "two", "iframe");
    assert_eq!(
        script.next_command("Runtime.runIfWaitingForDebugger")["params"]["childSessionId"],
        "two",
        "the first did not ask for it"
    );
    script.input(Input::ClientClosed(second));
    let calls = script.calls();
    let of = |method: &str| {
        calls
            .iter()
            .find(|call| call["params"]["method"] == method)
            .unwrap()["params"]
            .clone()
    };
    assert_eq!(
        of("Target.setAutoAttach")["params"]["waitForDebuggerOnStart"],
        false
    );
    assert_eq!(
        of("Runtime.runIfWaitingForDebugger")["childSessionId"],
        "one",
        "whoever would have resumed it has gone"
    );
}

#[test]
fn chrome_is_asked_anew_with_each_attachment() {
    let mut script = Script::with_tabs(1);
    let (first, sessions) = script.attached_client();
    script.ask(
        first,
        Some(&sessions[0]),
        "Target.setAutoAttach",
        ask(&json!([{}]), true),
    );
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.reply(&attach, json!({}));
    let tree = script.next_command("Page.getFrameTree");
    script.reply_error(&tree, json!({ "code": -32000, "message": "not now" }));
    script.calls();
    script.request(first, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking(&super::script::main_frame(1));
    assert!(
        replayed.contains(&"Target.setAutoAttach".to_owned()),
        "{replayed:?}"
    );
}

#[test]
fn targets_below_a_page_are_routed_by_the_sessions_own_id_both_ways() {
    let (mut script, [(first, a), (second, _)]) = two_clients();
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
    );
    script.calls();
    let info = json!({ "targetId": "F", "type": "iframe", "browserContextId": "chrome's" });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "real-child", "targetInfo": info, "waitingForDebugger": true }),
    );
    let heard = script.heard(first);
    let attached = heard
        .iter()
        .find(|m| m["method"] == "Target.attachedToTarget")
        .unwrap();
    assert_eq!(
        (
            attached["sessionId"].as_str(),
            &attached["params"]["waitingForDebugger"]
        ),
        (Some(a.as_str()), &json!(true))
    );
    assert_ne!(
        attached["params"]["targetInfo"]["browserContextId"],
        "chrome's"
    );
    let child = attached["params"]["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(child, "real-child");
    script.request(first, Some(&child), "Runtime.enable", json!({}));
    let call = script.next_command("Runtime.enable");
    assert_eq!(call["params"]["childSessionId"], "real-child");
    script.child_event(
        1,
        "real-child",
        "Runtime.executionContextCreated",
        json!({ "context": { "id": 1 } }),
    );
    assert_eq!(script.heard(first)[0]["sessionId"], child.as_str());
    assert!(script.heard(second).is_empty());

    let in_flight = script.request(first, Some(&child), "Runtime.evaluate", json!({}));
    script.cdp_event(
        1,
        "Target.detachedFromTarget",
        json!({ "sessionId": "real-child" }),
    );
    let heard = script.heard(first);
    assert!(
        heard
            .iter()
            .any(|m| m["id"] == in_flight && m["error"]["code"] == -32001)
    );
    assert!(
        heard
            .iter()
            .any(|m| m["method"] == "Target.detachedFromTarget"
                && m["params"]["sessionId"] == child.as_str())
    );
}

/// A child of this type appears below tab 1 or below one of its children, and Chrome calls its session by this name.
fn child_appears(script: &mut Script, below: Option<&str>, name: &str, kind: &str) {
    let info = json!({ "targetId": format!("target-{name}"), "type": kind });
    let params = json!({ "sessionId": name, "targetInfo": info, "waitingForDebugger": false });
    match below {
        None => script.cdp_event(1, "Target.attachedToTarget", params),
        Some(child) => script.child_event(1, child, "Target.attachedToTarget", params),
    }
}

/// Asks for the targets below a session, and gives the sessions that this announces.
fn auto_attach(script: &mut Script, client: ClientId, session: &str) -> Vec<String> {
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    script.request(client, Some(session), "Target.setAutoAttach", params);
    attached_below(script, client, session)
}

fn attached_below(script: &mut Script, client: ClientId, session: &str) -> Vec<String> {
    let heard = script.heard(client);
    let attached = heard
        .iter()
        .filter(|m| m["method"] == "Target.attachedToTarget" && m["sessionId"] == session);
    attached
        .map(|m| m["params"]["sessionId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_second_client_learns_of_nested_targets_that_the_first_has_already() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    auto_attach(&mut script, first, &a);
    child_appears(&mut script, None, "frame", "iframe");
    let frame = attached_below(&mut script, first, &a).remove(0);
    auto_attach(&mut script, first, &frame);
    child_appears(&mut script, Some("frame"), "nested", "iframe");
    assert_eq!(attached_below(&mut script, first, &frame).len(), 1);

    let frame = auto_attach(&mut script, second, &b).remove(0);
    let nested = auto_attach(&mut script, second, &frame);
    assert_eq!(nested.len(), 1);
    assert!(
        auto_attach(&mut script, second, &frame).is_empty(),
        "each is told once"
    );
    script.calls();
    script.request(second, Some(&nested[0]), "Runtime.evaluate", json!({}));
    assert_eq!(
        script.next_command("Runtime.evaluate")["params"]["childSessionId"],
        "nested"
    );
}

/// A session of the page's frame `one`, of `two` in it, and of `three` in that one.
fn threefold(script: &mut Script, client: ClientId, page: &str) -> [String; 3] {
    let mut above = page.to_owned();
    auto_attach(script, client, page);
    let sessions =
        [(None, "one"), (Some("one"), "two"), (Some("two"), "three")].map(|(below, name)| {
            child_appears(script, below, name, "iframe");
            above = attached_below(script, client, &above).remove(0);
            auto_attach(script, client, &above);
            above.clone()
        });
    script.answer_all();
    script.heard(client);
    sessions
}

fn asked(calls: &[Value]) -> Vec<[&str; 2]> {
    calls
        .iter()
        .map(|call| ["method", "childSessionId"].map(|key| call["params"][key].as_str().unwrap()))
        .collect()
}

fn answered(heard: &[Value]) -> Vec<i64> {
    heard
        .iter()
        .filter_map(|message| message["id"].as_i64())
        .collect()
}

#[test]
fn the_frames_of_a_frame_are_told_after_those_around_it_whoever_answers_first() {
    let (mut script, [(first, a), _]) = two_clients();
    let sessions = threefold(&mut script, first, &a);
    let ids: Vec<i64> = sessions
        .iter()
        .map(|session| script.request(first, Some(session), "Page.getFrameTree", json!({})))
        .collect();
    let enable = script.request(first, Some(&sessions[2]), "Runtime.enable", json!({}));
    let (tree, turn) = ("Page.getFrameTree", "Runtime.getIsolateId");
    let at_one = script.calls();
    assert_eq!(
        asked(&at_one),
        [[tree, "one"], [turn, "one"], [turn, "one"], [turn, "one"]],
        "the others wait where the first is asked"
    );
    for call in &at_one[..3] {
        script.reply(call, json!({}));
    }
    // The third one's first command waits at the second frame by now, and its second one still at the first.
    let evaluate = script.request(first, Some(&sessions[2]), "Runtime.evaluate", json!({}));
    script.reply(&at_one[3], json!({}));
    assert_eq!(answered(&script.heard(first)), [ids[0]]);
    let calls = script.calls();
    assert_eq!(
        asked(&calls),
        [[tree, "two"], [turn, "two"], [turn, "one"], [turn, "two"]]
    );
    for call in [&calls[2], &calls[0], &calls[1], &calls[3]] {
        script.reply(call, json!({}));
    }
    let calls = script.calls();
    assert_eq!(
        asked(&calls),
        [[turn, "two"], [tree, "three"], ["Runtime.enable", "three"]]
    );
    assert_eq!(answered(&script.heard(first)), [ids[1]]);
    for call in &calls {
        script.reply(call, json!({}));
    }
    let calls = script.calls();
    assert_eq!(asked(&calls), [["Runtime.evaluate", "three"]]);
    script.reply(&calls[0], json!({}));
    assert_eq!(answered(&script.heard(first)), [ids[2], enable, evaluate]);
}

#[test]
fn a_frame_does_not_fall_silent_with_the_one_around_it() {
    let (mut script, [(first, a), _]) = two_clients();
    let [one, two, _] = threefold(&mut script, first, &a);
    let around = script.request(first, Some(&one), "Page.getFrameTree", json!({}));
    script.request(first, Some(&two), "Page.getFrameTree", json!({}));
    let go_on = script.request(
        first,
        Some(&two),
        "Runtime.runIfWaitingForDebugger",
        json!({}),
    );
    script.calls();
    // Until after its deadline, and the moment in which it may answer whether it is there.
    let calls: Vec<Value> = pass(&mut script, 35)
        .into_iter()
        .filter(|call| call["params"]["childSessionId"] == "two")
        .collect();
    assert_eq!(
        asked(&calls),
        [
            ["Page.getFrameTree", "two"],
            ["Runtime.runIfWaitingForDebugger", "two"]
        ]
    );
    assert_eq!(
        answered(&script.heard(first)),
        [around],
        "and that is an error"
    );
    script.reply(&calls[1], json!({}));
    assert_eq!(answered(&script.heard(first)).last(), Some(&go_on));
}

#[test]
fn a_navigation_that_takes_a_frame_out_of_its_process_is_answered_by_what_chrome_said_of_it() {
    let (mut script, [(first, a), _]) = two_clients();
    auto_attach(&mut script, first, &a);
    child_appears(&mut script, None, "frame", "iframe");
    let frame = attached_below(&mut script, first, &a).remove(0);
    let evaluation = script.request(first, Some(&frame), "Runtime.evaluate", json!({}));
    let navigation = script.request(
        first,
        Some(&frame),
        "Page.navigate",
        json!({ "url": "https://site/2" }),
    );
    let started = json!({ "frameId": "target-frame", "loaderId": "L2", "url": "https://site/2" });
    script.child_event(1, "frame", "Page.frameStartedNavigating", started);
    script.cdp_event(
        1,
        "Target.detachedFromTarget",
        json!({ "sessionId": "frame" }),
    );
    let heard = script.heard(first);
    let reply = |id: i64| heard.iter().find(|m| m["id"] == id).unwrap();
    assert_eq!(
        reply(navigation)["result"],
        json!({ "frameId": "target-frame", "loaderId": "L2" })
    );
    assert_eq!(reply(evaluation)["error"]["code"], -32001);
    assert_eq!(names(&heard), ["Target.detachedFromTarget"]);
}

#[test]
fn a_target_that_nobody_wants_is_resumed_at_once() {
    let (mut script, [(first, _), _]) = two_clients();
    let info = json!({ "targetId": "W", "type": "worker" });
    script.cdp_event(
        1,
        "Target.attachedToTarget",
        json!({ "sessionId": "w", "targetInfo": info, "waitingForDebugger": true }),
    );
    let call = script.next_command("Runtime.runIfWaitingForDebugger");
    assert_eq!(call["params"]["childSessionId"], "w");
    assert!(script.heard(first).is_empty());
}

#[test]
fn a_late_session_learns_of_targets_below_targets_and_one_that_leaves_keeps_them_for_the_others() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    let attached = |heard: &[Value]| {
        heard
            .iter()
            .find_map(|m| m["params"]["sessionId"].as_str().map(str::to_owned))
    };
    script.request(first, Some(&a), "Target.setAutoAttach", attach.clone());
    let frame = |id: &str| json!({ "sessionId": id, "targetInfo": { "targetId": id, "type": "iframe" }, "waitingForDebugger": false });
    script.cdp_event(1, "Target.attachedToTarget", frame("outer"));
    let outer = attached(&script.heard(first)).unwrap();
    script.request(first, Some(&outer), "Target.setAutoAttach", attach.clone());
    script.child_event(1, "outer", "Target.attachedToTarget", frame("inner"));
    script.heard(first);

    script.request(second, Some(&b), "Target.setAutoAttach", attach.clone());
    let outer = attached(&script.heard(second)).unwrap();
    script.request(second, Some(&outer), "Target.setAutoAttach", attach);
    let heard = script.heard(second);
    let inner = heard
        .iter()
        .find(|m| m["method"] == "Target.attachedToTarget")
        .expect("told");
    assert_eq!(
        (
            inner["params"]["targetInfo"]["targetId"].as_str(),
            inner["sessionId"].as_str()
        ),
        (Some("inner"), Some(outer.as_str()))
    );
    script.calls();
    script.ask(
        second,
        Some(&outer),
        "Target.setAutoAttach",
        json!({ "autoAttach": false, "waitForDebuggerOnStart": false }),
    );
    assert!(script.calls().is_empty(), "the other still wants them");
}

#[test]
fn a_target_that_its_session_does_not_want_any_more_is_taken_from_it_and_resumed() {
    let (mut script, [(first, a), (second, b)]) = two_clients();
    script.request(
        first,
        Some(&a),
        "Target.setAutoAttach",
        ask(&json!([{}]), true),
    );
    script.request(
        second,
        Some(&b),
        "Target.setAutoAttach",
        ask(&json!([{ "type": "iframe" }]), true),
    );
    script.answer_all();
    appears(&mut script, "w", "worker");
    script.heard(first);
    script.ask(
        first,
        Some(&a),
        "Target.setAutoAttach",
        json!({ "autoAttach": false, "waitForDebuggerOnStart": false }),
    );
    assert_eq!(
        script.next_command("Runtime.runIfWaitingForDebugger")["params"]["childSessionId"],
        "w"
    );
    appears(&mut script, "f", "iframe");
    assert_eq!(
        (told(&script.heard(first)), told(&script.heard(second))),
        (vec![], vec![("iframe", true)])
    );
}
