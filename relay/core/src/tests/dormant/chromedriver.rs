//! Chromedriver: when it connects, it adds a script to every page and runs it there. The relay answers
//! this on a dormant page and runs the script when the page wakes.

use serde_json::json;

use crate::tests::script::{Script, Session, main_frame};

const KEEPER: &str =
    "(function () {window.cdc_adoQ_Array = window.Array;window.cdc_adoQ_JSON = window.JSON;}) ();";

/// What chromedriver sends to every page, with this script. Returns the id of the last request.
fn connect(script: &mut Script, page: &Session, source: &str) -> i64 {
    script.request(page, "Page.enable", json!({}));
    let params = json!({ "source": source });
    script.request(page, "Page.addScriptToEvaluateOnNewDocument", params);
    script.send(page, "Runtime.evaluate", json!({ "expression": source }))
}

#[test]
fn connects_without_waking_and_runs_its_script_on_waking() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let id = connect(&mut script, &page, KEEPER);
    let received = script.received(&page);
    assert_eq!(
        received.result(id)["result"],
        json!({ "type": "undefined" })
    );
    script.request(&page, "Runtime.enable", json!({}));
    assert!(script.calls().is_empty(), "nothing is attached");

    script.send(&page, "Runtime.evaluate", json!({ "expression": "1" }));
    script.accept_attach();
    let calls = script.answer_all_with_tree(&main_frame(1));
    let sent = calls.commands_with_params();
    let evaluated = sent
        .iter()
        .filter(|(method, _)| *method == "Runtime.evaluate");
    let expressions: Vec<_> = evaluated.map(|(_, params)| &params["expression"]).collect();
    assert_eq!(expressions, [KEEPER, "1"], "before the command that wakes");
}

#[test]
fn other_scripts_wake_the_tab() {
    for source in [
        "1",
        "(function () {window.cdc_a = window.Array;return 1;}) ();",
        "(function () {window.cdc_a = alert();}) ();",
        "(function () {window.cdc_a = 1;}) (); window.b = 1",
    ] {
        let mut script = Script::with_tabs(1);
        let page = script.auto_attached_page();
        connect(&mut script, &page, source);
        script.next_call("attachTab");
    }
}

#[test]
fn script_that_was_not_added_wakes_the_tab() {
    for params in [
        json!({ "expression": KEEPER }),
        json!({ "expression": KEEPER, "contextId": 1 }),
    ] {
        let mut script = Script::with_tabs(1);
        let page = script.auto_attached_page();
        script.send(&page, "Runtime.evaluate", params);
        script.next_call("attachTab");
    }
}
