//! Browsers that appear when a client needs one.

use std::time::Duration;

use serde_json::json;

use super::script::{Script, tab};

#[test]
fn first_request_asks_for_a_browser_and_waits_for_it() {
    let mut script = Script::launching();
    let (first, second) = (script.connect_client(), script.connect_client());
    assert_eq!(script.launches(), 0, "connecting costs nothing");
    let one = script.send(first, "Target.getTargets", json!({}));
    let two = script.send(second, "Browser.getVersion", json!({}));
    assert_eq!(script.launches(), 1);
    assert!(script.received(first).is_empty());
    script.connect_browser(vec![tab(1)]);
    let received = script.received(first);
    assert_eq!(received.result(one)["targetInfos"][0]["targetId"], "T1");
    assert_eq!(script.received(second).reply_ids(), [two]);
}

#[test]
fn failed_launch_answers_who_waited_and_the_next_request_tries_again() {
    let mut script = Script::launching();
    let client = script.connect_client();
    let ids = [0, 1].map(|_| script.send(client, "Target.getTargets", json!({})));
    script.fail_launch("no browser is installed");
    let received = script.received(client);
    assert_eq!(received.reply_ids(), ids);
    assert!(received.error(ids[0]).contains("no browser is installed"));
    script.send(client, "Target.getTargets", json!({}));
    assert_eq!(script.launches(), 2);
}

#[test]
fn launch_that_takes_too_long_fails() {
    let mut script = Script::launching();
    let client = script.connect_client();
    let id = script.send(client, "Target.getTargets", json!({}));
    script.advance(Duration::from_secs(15));
    assert!(script.received(client).error(id).contains("in time"));
}

#[test]
fn killed_browser_is_launched_again_by_the_next_request() {
    let mut script = Script::launching();
    let client = script.connect_client();
    script.send(client, "Target.getTargets", json!({}));
    script.connect_browser(vec![tab(1)]);
    script.received(client);
    script.disconnect_extension();
    assert_eq!(script.launches(), 1, "nobody needs a browser yet");
    let id = script.send(client, "Target.getTargets", json!({}));
    assert_eq!(script.launches(), 2);
    script.connect_browser(vec![tab(7)]);
    let received = script.received(client);
    assert_eq!(received.result(id)["targetInfos"][0]["targetId"], "T7");
}

#[test]
fn client_that_leaves_launches_nothing() {
    let mut script = Script::launching();
    let client = script.connect_client();
    let id = script.send(client, "Browser.close", json!({}));
    assert_eq!(script.launches(), 0);
    assert_eq!(script.received(client).reply_ids(), [id]);
    assert_eq!(script.closed_clients(), [client]);
}

#[test]
fn client_that_leaves_does_not_wait_for_the_browser_that_another_one_needs() {
    let mut script = Script::launching();
    let (waiting, leaving) = (script.connect_client(), script.connect_client());
    let target = script.send(waiting, "Target.getTargets", json!({}));
    let close = script.send(leaving, "Browser.close", json!({}));
    assert_eq!(script.received(leaving).reply_ids(), [close]);
    assert_eq!(script.closed_clients(), [leaving]);
    let own = script.send(waiting, "Browser.close", json!({}));
    assert!(
        script.received(waiting).is_empty(),
        "its request comes first"
    );
    script.connect_browser(vec![tab(1)]);
    assert_eq!(script.received(waiting).reply_ids(), [target, own]);
}
