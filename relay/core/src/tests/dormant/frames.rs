//! Cross-process frames of a dormant tab: clients find them and can use them, and using one wakes the
//! tab.

use serde_json::{Value, json};

use crate::tests::script::{
    Call, Script, Session, auto_attach, child_target, execution_context, main_frame, tab,
};

const ATTACHED: &str = "Target.attachedToTarget";
const DETACHED: &str = "Target.detachedFromTarget";

pub(super) fn frames(ids: &[&str]) -> Value {
    let frame = |id: &&str| json!({ "targetId": id, "url": format!("https://other/{id}") });
    ids.iter().map(frame).collect()
}

/// A dormant tab with these frames.
pub(super) fn script_with_frames(ids: &[&str]) -> Script {
    let mut script = Script::with_tabs(0);
    let mut report = tab(1);
    report["frames"] = frames(ids);
    script.extension_event("tabCreated", report);
    script
}

/// The page of a client that wants its children, and its sessions on them.
pub(super) fn page_with_frames(script: &mut Script) -> (Session, Vec<Session>) {
    let page = script.auto_attached_page();
    let id = script.send(&page, "Target.setAutoAttach", auto_attach());
    let received = script.received(&page);
    let reply = received.position(|message| message["id"] == id);
    let attached = received.position(|message| message["method"] == ATTACHED);
    assert!(attached < reply, "children come before the reply");
    let children = received.attached_sessions(page.client);
    (page, children)
}

/// What Puppeteer sends to a frame. Returns its contexts: of the page's world, and of its own.
pub(super) fn initialize(script: &mut Script, frame: &Session, id: &str) -> (i64, i64) {
    script.request(frame, "Page.enable", json!({}));
    let tree = script.request(frame, "Page.getFrameTree", json!({}));
    let described = &tree["frameTree"]["frame"];
    assert_eq!(described["id"], id);
    assert_eq!(described["parentId"], "T1");
    assert_eq!(described["url"], format!("https://other/{id}"));
    script.send(frame, "Runtime.enable", json!({}));
    let main = script.received(frame).context_id("");
    let params = json!({ "frameId": id, "worldName": "utility" });
    let world = script.request(frame, "Page.createIsolatedWorld", params);
    (main, world["executionContextId"].as_i64().unwrap())
}

/// Chrome's reply during the wake. It attaches the frame as `c1`, with contexts 3 and 4.
fn reply_as_chrome(script: &mut Script, call: &Call, frame: &str) {
    let child = call.child().map(str::to_owned);
    let result = match (call.command(), child.as_deref()) {
        ("Page.getFrameTree", _) => json!({ "frameTree": main_frame(1) }),
        ("Target.setAutoAttach", None) if call.params()["autoAttach"] == true => {
            let mut target = child_target("c1", "iframe", false);
            target["targetInfo"]["targetId"] = frame.into();
            script.cdp_event(1, ATTACHED, target);
            json!({})
        }
        ("Runtime.enable", Some("c1")) => {
            let context = execution_context(3, frame, "");
            script.child_event(1, "c1", "Runtime.executionContextCreated", context);
            json!({})
        }
        ("Page.createIsolatedWorld", Some("c1")) => {
            let context = execution_context(4, frame, "utility");
            script.child_event(1, "c1", "Runtime.executionContextCreated", context);
            json!({ "executionContextId": 4 })
        }
        _ => json!({}),
    };
    script.reply(call, result);
}

/// Answers everything as Chrome would. Returns the commands that it received.
pub(super) fn answer_as_chrome(script: &mut Script, frame: &str) -> Vec<Call> {
    let mut answered = Vec::new();
    loop {
        let calls = script.calls();
        if calls.is_empty() {
            return answered;
        }
        for call in calls {
            reply_as_chrome(script, &call, frame);
            answered.push(call);
        }
    }
}

#[test]
fn frames_are_attached_to_clients_without_attaching_the_tab() {
    let mut script = script_with_frames(&["F1", "F2"]);
    let (_, children) = page_with_frames(&mut script);
    assert_eq!(children.len(), 2);
    initialize(&mut script, &children[0], "F1");
    assert!(script.calls().is_empty());
}

#[test]
fn using_a_frame_wakes_the_tab_and_reaches_the_frame_with_the_ids_it_had() {
    let mut script = script_with_frames(&["F1"]);
    let (page, children) = page_with_frames(&mut script);
    let (main, utility) = initialize(&mut script, &children[0], "F1");
    let ids = [main, utility].map(|context| {
        let params = json!({ "functionDeclaration": "f", "executionContextId": context });
        script.send(&children[0], "Runtime.callFunctionOn", params)
    });
    let answered = answer_as_chrome(&mut script, "F1");
    let calls = answered.iter();
    let calls = calls.filter(|call| call.command() == "Runtime.callFunctionOn");
    let calls: Vec<_> = calls
        .map(|call| (call.child(), &call.params()["executionContextId"]))
        .collect();
    assert_eq!(calls, [(Some("c1"), &json!(3)), (Some("c1"), &json!(4))]);
    let received = script.received(&page);
    for id in ids {
        assert!(received.result(id).is_object());
    }
    let attached = received.events(ATTACHED).count();
    assert_eq!(attached, 0, "clients have the frame already");
    assert!(received.contexts().is_empty(), "and its contexts");
    let log = json!({ "type": "log", "executionContextId": 4 });
    script.child_event(1, "c1", "Runtime.consoleAPICalled", log);
    let received = script.received(&page);
    let logged = received.events("Runtime.consoleAPICalled").next().unwrap();
    assert_eq!(logged["executionContextId"], utility);
}

#[test]
fn frame_that_is_gone_when_the_tab_wakes_is_detached() {
    let mut script = script_with_frames(&["F1"]);
    let (page, children) = page_with_frames(&mut script);
    let id = script.send(&children[0], "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "another");
    let received = script.received(&page);
    assert_eq!(received.error_code(id), -32001);
    let detached = received.events(DETACHED).next().unwrap();
    assert_eq!(detached["targetId"], "F1");
    assert_eq!(received.attached_sessions(page.client).len(), 1);
}

#[test]
fn frames_follow_what_the_person_does() {
    let mut script = script_with_frames(&["F1"]);
    let (page, _) = page_with_frames(&mut script);
    let update = json!({ "tabId": 1, "frames": frames(&["F2"]) });
    script.extension_event("tabUpdated", update);
    assert_eq!(script.received(&page).methods(), [DETACHED, ATTACHED]);
    let params = json!({ "tabId": 1, "url": "https://site/other", "sameDocument": false });
    script.extension_event("tabNavigated", params);
    assert_eq!(script.received(&page).events(DETACHED).count(), 1);
}

#[test]
fn frames_of_a_tab_that_nobody_uses_any_more_stay() {
    let mut script = script_with_frames(&["F1"]);
    let (other, children) = page_with_frames(&mut script);
    initialize(&mut script, &children[0], "F1");
    let user = script.auto_attached_page();
    script.send(&user, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    script.received(&other);
    script.disconnect(user.client);
    assert!(script.calls().iter().any(|call| call.name() == "detachTab"));
    let received = script.received(&other);
    assert_eq!(received.events(DETACHED).count(), 0, "it is the same frame");
    let contexts: Vec<_> = received
        .events("Runtime.executionContextsCleared")
        .collect();
    assert_eq!(contexts.len(), 1);
    let context = received.context_id("");
    let params = json!({ "expression": "1", "contextId": context });
    let id = script.send(&children[0], "Runtime.evaluate", params);
    let answered = answer_as_chrome(&mut script, "F1");
    let call = answered
        .iter()
        .find(|call| call.command() == "Runtime.evaluate");
    let call = call.unwrap();
    assert_eq!(
        (call.child(), &call.params()["contextId"]),
        (Some("c1"), &json!(3))
    );
    assert!(script.received(&other).result(id).is_object());
}

#[test]
fn frame_that_the_extension_has_not_reported_stays_when_the_tab_becomes_dormant() {
    let mut script = script_with_frames(&[]);
    let page = script.auto_attached_page();
    script.send(&page, "Target.setAutoAttach", auto_attach());
    script.send(&page, "Runtime.evaluate", json!({}));
    answer_as_chrome(&mut script, "F1");
    assert_eq!(script.received(&page).events(ATTACHED).count(), 1);
    script.detach_debugger(1, "replaced_with_devtools");
    let update = json!({ "tabId": 1, "frames": frames(&["F1"]) });
    script.extension_event("tabUpdated", update);
    assert_eq!(script.received(&page).events(DETACHED).count(), 0);
    let update = json!({ "tabId": 1, "frames": [] });
    script.extension_event("tabUpdated", update);
    assert_eq!(script.received(&page).events(DETACHED).count(), 1);
}

#[test]
fn frames_are_only_for_sessions_that_want_them() {
    let mut script = script_with_frames(&["F1"]);
    let page = script.auto_attached_page();
    let mut filtered = auto_attach();
    filtered["filter"] = json!([{ "type": "iframe", "exclude": true }, {}]);
    script.send(&page, "Target.setAutoAttach", filtered);
    assert_eq!(script.received(&page).events(ATTACHED).count(), 0);
}

#[test]
fn chromedriver_connects_to_frames_without_waking_and_its_script_runs_on_waking() {
    const KEEPER: &str = "(function () {window.cdc_a_Array = window.Array;}) ();";
    let mut script = script_with_frames(&["F1"]);
    let (_, children) = page_with_frames(&mut script);
    let frame = &children[0];
    let params = json!({ "source": KEEPER });
    script.request(frame, "Page.addScriptToEvaluateOnNewDocument", params);
    let params = json!({ "expression": KEEPER });
    let reply = script.request(frame, "Runtime.evaluate", params);
    assert_eq!(reply["result"]["type"], "undefined");
    assert!(script.calls().is_empty());
    script.send(frame, "Runtime.evaluate", json!({ "expression": "1" }));
    script.accept_attach();
    let answered = answer_as_chrome(&mut script, "F1");
    let evaluated = answered
        .iter()
        .filter(|call| call.command() == "Runtime.evaluate");
    let sent: Vec<_> = evaluated
        .map(|call| (call.child(), &call.params()["expression"]))
        .collect();
    assert_eq!(
        sent,
        [(Some("c1"), &json!(KEEPER)), (Some("c1"), &json!("1"))]
    );
}

#[test]
fn stagehand_prepares_frames_without_waking_and_its_scripts_run_on_waking() {
    const RECORD: &str =
        "(()=>{function s(c={}){window.__stagehandV3__={}}s({debug:!0,tagExisting:!1});})();";
    const RENDER: &str = "(()=>{function s(){let o=window.__stagehandV3__;if(!o)return;}s();})();";
    let mut script = script_with_frames(&["F1"]);
    let (_, children) = page_with_frames(&mut script);
    let frame = &children[0];
    let params = json!({ "source": RECORD });
    script.request(frame, "Page.addScriptToEvaluateOnNewDocument", params);
    for expression in [RECORD, RENDER, RECORD] {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let reply = script.request(frame, "Runtime.evaluate", params);
        assert_eq!(reply["result"]["type"], "undefined");
    }
    assert!(script.calls().is_empty());
    script.send(frame, "Runtime.evaluate", json!({ "expression": "1" }));
    script.accept_attach();
    let answered = answer_as_chrome(&mut script, "F1");
    let evaluated = answered
        .iter()
        .filter(|call| call.command() == "Runtime.evaluate");
    let sent: Vec<_> = evaluated
        .map(|call| (call.child(), &call.params()["expression"]))
        .collect();
    let expected = [RECORD, RENDER, "1"].map(Value::from);
    let expected = expected.each_ref().map(|script| (Some("c1"), script));
    assert_eq!(sent, expected);
}

#[test]
fn only_its_own_cookies_need_a_frame() {
    let mut script = script_with_frames(&["F1"]);
    let (_, frames) = page_with_frames(&mut script);
    for method in ["Network.setCookie", "Network.deleteCookies"] {
        script.send(&frames[0], method, json!({ "name": "a" }));
        script.next_browser_command(method);
    }
    assert!(script.calls().is_empty());
    script.send(&frames[0], "Network.getCookies", json!({}));
    assert_eq!(script.next_call("attachTab").tab(), 1);
}
