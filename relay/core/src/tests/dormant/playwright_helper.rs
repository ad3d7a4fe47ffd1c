//! Exposed functions: Playwright creates its `UtilityScript` helper in every page and runs a script
//! through it. The relay answers both on a dormant page and repeats them when the page wakes.

use serde_json::{Value, json};

use super::initialized_page;
use crate::tests::script::{Call, Script, Session, main_frame};

const CREATE_HELPER: &str = "new (module.exports.UtilityScript())()";

/// Does what Playwright does in each page when a function is exposed. Returns the object id of its
/// helper.
fn prepare_exposed_functions(script: &mut Script, page: &Session, context: i64) -> String {
    let params = json!({ "name": "__playwright__binding__" });
    script.request(page, "Runtime.addBinding", params);
    let params = json!({ "source": "controller()" });
    script.request(page, "Page.addScriptToEvaluateOnNewDocument", params);
    let params = json!({ "expression": CREATE_HELPER, "contextId": context });
    let created = script.request(page, "Runtime.evaluate", params);
    let helper = created["result"]["objectId"].as_str().unwrap().to_owned();
    let params = run_through(&helper, "controller()");
    script.request(page, "Runtime.callFunctionOn", params);
    helper
}

fn run_through(helper: &str, source: &str) -> Value {
    json!({ "functionDeclaration": "run", "objectId": helper, "arguments": [{ "objectId": helper }, { "value": false }, { "value": source }] })
}

/// Chrome's reply during the wake. The main world becomes context 3, and the helper becomes object
/// `real.1`.
fn reply_as_chrome(script: &mut Script, call: &Call) {
    let result = match call.command() {
        "Page.getFrameTree" => json!({ "frameTree": main_frame(1) }),
        "Runtime.evaluate" => json!({ "result": { "type": "object", "objectId": "real.1" } }),
        "Runtime.enable" => {
            script.create_context(3, "T1", "");
            json!({})
        }
        _ => json!({}),
    };
    script.reply(call, result);
}

#[test]
fn prepares_exposed_functions_and_replays_them_on_waking() {
    let (mut script, page, received) = initialized_page();
    let context = received.context_id("");
    let helper = prepare_exposed_functions(&mut script, &page, context);
    assert!(script.calls().is_empty(), "nothing is attached");

    let params = run_through(&helper, "addBinding('f')");
    script.send(&page, "Runtime.callFunctionOn", params);
    script.accept_attach();
    let mut executed = Vec::new();
    loop {
        let calls = script.calls();
        if calls.is_empty() {
            break;
        }
        for call in calls {
            if ["Runtime.evaluate", "Runtime.callFunctionOn"].contains(&call.command()) {
                executed.push(call.params().clone());
            }
            reply_as_chrome(&mut script, &call);
        }
    }
    assert_eq!(
        executed[0]["contextId"], 3,
        "creates the helper in the real context"
    );
    assert_eq!(
        executed[1..],
        [
            run_through("real.1", "controller()"),
            run_through("real.1", "addBinding('f')")
        ],
        "then runs the script, then the command that woke the tab"
    );
}

#[test]
fn other_evaluations_wake_the_tab() {
    let (mut script, page, received) = initialized_page();
    let params = json!({ "source": "controller()" });
    script.request(&page, "Page.addScriptToEvaluateOnNewDocument", params);
    let context = received.context_id("");
    let params = json!({ "expression": "document.body", "contextId": context });
    script.send(&page, "Runtime.evaluate", params);
    script.next_call("attachTab");
}

#[test]
fn navigation_discards_what_was_prepared_in_the_old_document() {
    let (mut script, page, received) = initialized_page();
    prepare_exposed_functions(&mut script, &page, received.context_id(""));
    let params = json!({ "tabId": 1, "url": "https://site/other", "sameDocument": false });
    script.extension_event("tabNavigated", params);
    script.received(&page);
    script.send(&page, "Page.reload", json!({}));
    let replayed = script.finish_waking();
    assert!(
        !replayed.contains(&"Runtime.evaluate".to_owned()),
        "{replayed:?}"
    );
}
