//! Barriers: a command that depends on an earlier one which Chrome has not answered waits behind a
//! command that Chrome answers in order. The wait is bounded in time and size.

use serde_json::json;

use super::{LATE_WORLD, evaluate_in, join, used_tab};
use crate::tests::script::{Calls, Script};

const BARRIER: &str = "Runtime.getIsolateId";

/// Chrome answers the commands of a late client. Its world becomes context 9.
fn answer_join(script: &mut Script, calls: &Calls) {
    for call in calls.iter() {
        if call.command() == "Page.createIsolatedWorld" {
            script.create_context(9, "T1", LATE_WORLD);
            script.reply(call, json!({ "executionContextId": 9 }));
        } else {
            script.reply(call, json!({ "identifier": "real-2" }));
        }
    }
}

#[test]
fn command_and_its_successors_wait_until_its_world_exists() {
    let (mut script, first) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    script.received(&first);
    let calls = script.calls();
    let evaluate = evaluate_in(&mut script, &page, received.context_id(LATE_WORLD));
    let screenshot = script.send(&page, "Page.captureScreenshot", json!({}));
    let barriers = script.calls();
    assert_eq!(barriers.commands(), [BARRIER, BARRIER]);
    let params = json!({ "accept": true });
    script.send(&page, "Page.handleJavaScriptDialog", params);
    script.next_command("Page.handleJavaScriptDialog");

    answer_join(&mut script, &calls);
    let announced = script.received(&first).contexts().len();
    assert_eq!(announced, 0, "the world has already been announced");
    for barrier in barriers {
        script.reply(&barrier, json!({ "id": "i" }));
    }
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.params()["contextId"], 9);
    script.reply(&call, json!({ "result": { "value": 2 } }));
    let call = script.next_command("Page.captureScreenshot");
    script.reply(&call, json!({ "data": "" }));
    assert_eq!(script.received(&page).reply_ids(), [evaluate, screenshot]);
}

#[test]
fn command_behind_a_barrier_times_out_and_the_next_one_succeeds() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let world = received.context_id(LATE_WORLD);
    let calls = script.calls();
    let helper = json!({ "contextId": world, "expression": "new UtilityScript()" });
    let id = script.send(&page, "Runtime.evaluate", helper.clone());
    script.elapse(31);
    let received = script.received(&page);
    assert_eq!(received[0]["id"], id);
    let error = received.error(id);
    assert!(error.contains("did not respond for 30 seconds"), "{error}");
    assert_eq!(
        received[1]["method"], "Runtime.executionContextDestroyed",
        "so that Playwright creates its helper again"
    );
    assert_eq!(received.context_id(LATE_WORLD), world);
    script.calls();
    for call in calls {
        let result = json!({ "executionContextId": 9, "identifier": "real-2" });
        script.reply(&call, result);
    }
    script.send(&page, "Runtime.evaluate", helper);
    let call = script.next_command("Runtime.evaluate");
    assert_eq!(call.params()["contextId"], 9);
}

#[test]
fn error_of_a_command_behind_a_barrier_names_the_command() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let id = evaluate_in(&mut script, &page, received.context_id(LATE_WORLD));
    script.elapse(31);
    let received = script.received(&page);
    assert_eq!(received[0]["id"], id);
    let error = received.error(id);
    assert!(error.starts_with("Runtime.evaluate"), "{error}");
}

#[test]
fn bounds_the_commands_behind_a_barrier() {
    let (mut script, _) = used_tab();
    let (page, received) = join(&mut script, LATE_WORLD);
    let world = received.context_id(LATE_WORLD);
    script.open_dialog(1);
    script.received(&page);
    for _ in 0..9 {
        let params = json!({ "contextId": world, "expression": "x".repeat(10 << 20) });
        script.send(&page, "Runtime.evaluate", params);
    }
    assert!(script.received(&page).error_count() > 0, "90 MB are queued");
}
