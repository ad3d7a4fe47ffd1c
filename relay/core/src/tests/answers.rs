//! What is reported of requests that were answered.

use std::time::Duration;

use serde_json::json;

use super::script::{Script, tab};

/// The method, the milliseconds, and the error code.
fn summary(script: &mut Script) -> Vec<(String, u128, Option<i64>)> {
    let answers = script.answers().into_iter();
    let summary = answers.map(|it| {
        let method = it.method.as_str().to_owned();
        (method, it.took.as_millis(), it.error)
    });
    summary.collect()
}

fn one(method: &str, milliseconds: u128, error: Option<i64>) -> Vec<(String, u128, Option<i64>)> {
    vec![(method.to_owned(), milliseconds, error)]
}

#[test]
fn answer_has_method_session_duration_and_error() {
    let mut script = Script::with_tabs(1);
    let session = script.auto_attached_page();
    script.make_live(&session);
    script.answers();
    script.send(&session, "Runtime.evaluate", json!({}));
    script.advance(Duration::from_millis(1_500));
    assert_eq!(script.answers(), []);
    let call = script.next_command("Runtime.evaluate");
    script.reply_error(&call, json!("no"));
    let answers = script.answers();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].client_id, session.client);
    let session_id = answers[0].session_id.map(|id| id.to_string());
    assert_eq!(session_id, Some(session.id.clone()));
    assert_eq!(answers[0].method.as_str(), "Runtime.evaluate");
    assert_eq!(answers[0].took, Duration::from_millis(1_500));
    assert_eq!(answers[0].error, Some(-32000));
    script.send(session.client, "Browser.getVersion", json!({}));
    let answers = script.answers();
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].session_id, answers[0].error), (None, None));
}

#[test]
fn duration_includes_the_wait_for_a_tab_to_wake() {
    let mut script = Script::with_tabs(1);
    let session = script.auto_attached_page();
    script.answers();
    script.send(&session, "Runtime.evaluate", json!({}));
    script.advance(Duration::from_millis(700));
    script.finish_waking();
    script.advance(Duration::from_millis(50));
    script.answer_calls();
    assert_eq!(summary(&mut script), one("Runtime.evaluate", 750, None));
}

#[test]
fn duration_includes_the_wait_for_a_browser() {
    let mut script = Script::launching();
    let client = script.connect_client();
    script.send(client, "Target.getTargets", json!({}));
    script.advance(Duration::from_millis(900));
    script.connect_browser(vec![tab(1)]);
    assert_eq!(summary(&mut script), one("Target.getTargets", 900, None));
}

#[test]
fn messages_that_reach_no_session_are_reported() {
    let mut script = Script::with_tabs(1);
    let mut session = script.auto_attached_page();
    script.answers();
    script.send_text(session.client, "nonsense");
    assert_eq!(summary(&mut script), one("", 0, Some(-32700)));
    let ended = session.id.clone();
    script.send(
        session.client,
        "Target.detachFromTarget",
        json!({ "sessionId": ended }),
    );
    script.answers();
    script.send(&session, "Page.enable", json!({}));
    let answers = script.answers();
    assert_eq!(answers[0].session_id.map(|id| id.to_string()), Some(ended));
    assert_eq!(answers[0].error, Some(-32001));
    session.id = "nonsense".to_owned();
    script.send(&session, "Page.enable", json!({}));
    assert_eq!(script.answers()[0].session_id, None);
}

#[test]
fn requests_with_the_same_id_are_told_apart() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    script.answers();
    for method in ["Target.createTarget", "Target.getTargets"] {
        let request = json!({ "id": 7, "method": method, "params": { "url": "about:blank" } });
        script.send_text(client, &request.to_string());
    }
    script.advance(Duration::from_secs(60));
    let mut methods: Vec<String> = summary(&mut script).into_iter().map(|it| it.0).collect();
    methods.sort();
    assert_eq!(methods, ["Target.createTarget", "Target.getTargets"]);
}

#[test]
fn client_that_leaves_is_reported_no_more() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    script.send(
        client,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    script.answers();
    script.disconnect(client);
    script.advance(Duration::from_secs(60));
    assert_eq!(script.answers(), []);
}
