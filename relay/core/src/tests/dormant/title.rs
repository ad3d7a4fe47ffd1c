//! Playwright's `page.title()` is answered without waking the page, if the title is certain.

use serde_json::{Value, json};

use super::initialized_page;
use crate::tests::script::{Script, Session, main_frame};

const HELPER: &str = "(() => {\n  const module = {};\n  code();\n  return new (module.exports.UtilityScript())(globalThis, false);\n})();";

/// Creates Playwright's helper in its own world. Returns the helper's object id.
fn create_helper(script: &mut Script, page: &Session, context: i64) -> String {
    let params = json!({ "expression": HELPER, "contextId": context });
    let created = script.request(page, "Runtime.evaluate", params);
    created["result"]["objectId"].as_str().unwrap().to_owned()
}

fn call(helper: &str, function: &str) -> Value {
    let value = |value: Value| json!({ "value": value });
    json!({
        "functionDeclaration": "(utilityScript, ...args) => utilityScript.evaluate(...args)",
        "objectId": helper,
        "arguments": [
            { "objectId": helper }, value(true.into()), value(true.into()), value(function.into()),
            value(1.into()), value(json!({ "v": "undefined" })),
        ],
        "returnByValue": true, "awaitPromise": true, "userGesture": true,
    })
}

/// A dormant page with Playwright's helper.
fn page_with_helper() -> (Script, Session, String) {
    let (mut script, page, received) = initialized_page();
    let helper = create_helper(&mut script, &page, received.context_id("utility"));
    (script, page, helper)
}

fn ask(script: &mut Script, page: &Session, helper: &str) -> i64 {
    let params = call(helper, "() => document.title");
    script.send(page, "Runtime.callFunctionOn", params)
}

#[test]
fn title_is_answered_without_attaching() {
    let (mut script, page, helper) = page_with_helper();
    for _ in 0..2 {
        let id = ask(&mut script, &page, &helper);
        let received = script.received(&page);
        let title = json!({ "result": { "type": "string", "value": "Tab 1" } });
        assert_eq!(received.result(id), &title);
    }
    assert!(script.calls().is_empty());
}

#[test]
fn title_of_a_discarded_tab_does_not_load_it() {
    let (mut script, page, helper) = page_with_helper();
    let discarded = json!({ "tabId": 1, "status": "unloaded", "title": "Later" });
    script.extension_event("tabUpdated", discarded);
    script.received(&page);
    let id = ask(&mut script, &page, &helper);
    assert_eq!(
        script.received(&page).result(id)["result"]["value"],
        "Later"
    );
}

#[test]
fn anything_else_wakes_the_tab_and_finds_the_helper_there() {
    let (mut script, page, helper) = page_with_helper();
    ask(&mut script, &page, &helper);
    script.send(&page, "Runtime.callFunctionOn", call(&helper, "() => 1"));
    script.accept_attach();
    let mut executed = Vec::new();
    loop {
        let calls = script.calls();
        if calls.is_empty() {
            break;
        }
        for call in calls {
            let result = match call.command() {
                "Page.getFrameTree" => json!({ "frameTree": main_frame(1) }),
                "Page.createIsolatedWorld" => json!({ "executionContextId": 4 }),
                "Runtime.evaluate" => json!({ "result": { "objectId": "real.1" } }),
                _ => json!({}),
            };
            if call.command().starts_with("Runtime.evaluate") {
                assert_eq!(call.params()["contextId"], 4);
            } else if call.command() == "Runtime.callFunctionOn" {
                executed.push(call.params().clone());
            }
            script.reply(&call, result);
        }
    }
    assert_eq!(executed, [self::call("real.1", "() => 1")], "and no title");
}

#[test]
fn uncertain_title_wakes_the_tab() {
    for change in [
        json!({ "tabId": 1, "title": "site/1" }),
        json!({ "tabId": 1, "status": "loading" }),
        json!({ "tabId": 1, "pdf": true }),
    ] {
        let (mut script, page, helper) = page_with_helper();
        script.extension_event("tabUpdated", change);
        ask(&mut script, &page, &helper);
        script.next_call("attachTab");
    }
}

#[test]
fn helper_of_another_session_wakes_the_tab() {
    let (mut script, _, helper) = page_with_helper();
    let other = script.auto_attached_page();
    ask(&mut script, &other, &helper);
    script.next_call("attachTab");
}

#[test]
fn title_of_a_live_page_is_read_there() {
    let (mut script, page, helper) = page_with_helper();
    script.make_live(&page);
    ask(&mut script, &page, &helper);
    script.next_command("Runtime.callFunctionOn");
}
