//! Changes of permissions that arrive while another one is under way, and those that fail.

use serde_json::json;

use super::{GRANT, RESET, SET, SITE, accept, change, grant, rules_of, set};
use crate::model::permissions::MAX_RULES;
use crate::tests::script::{Script, tab};

const CAMERA: &str = "camera https://example.com/* allow";
const LOCATION: &str = "location https://example.com/* allow";

#[test]
fn change_that_chrome_rejects_does_not_fail_the_next_one() {
    let mut script = Script::with_tabs(1);
    let (a, b) = (script.connect_client(), script.connect_client());
    for (first, second) in [(a, a), (a, b)] {
        let bad = script.send(first, SET, set("geolocation", "granted", Some(SITE)));
        let good = script.send(second, SET, set("camera", "granted", Some(SITE)));
        let call = script.next_call("setPermissions");
        assert!(script.calls().is_empty(), "one change at a time");
        script.reply_error(&call, json!("no such pattern"));
        assert_eq!(accept(&mut script), [] as [&str; 0]);
        assert_eq!(accept(&mut script), [CAMERA]);
        assert_eq!(script.received(first).error(bad), "no such pattern");
        if first != second {
            assert_eq!(script.received(second).result(good), &json!({}));
        }
        assert_eq!(
            change(&mut script, second, RESET, json!({})),
            [] as [&str; 0]
        );
    }
}

#[test]
fn several_that_fail_leave_nothing_behind() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let ids = ["granted", "denied"]
        .map(|setting| script.send(client, SET, set("geolocation", setting, Some(SITE))));
    for _ in ids {
        let call = script.next_call("setPermissions");
        assert_eq!(rules_of(&call).len(), 1);
        script.reply_error(&call, json!("no such pattern"));
        assert_eq!(accept(&mut script), [] as [&str; 0]);
    }
    let received = script.received(client);
    for id in ids {
        assert_eq!(received.error(id), "no such pattern");
    }
    let rules = change(
        &mut script,
        client,
        SET,
        set("camera", "granted", Some(SITE)),
    );
    assert_eq!(rules, [CAMERA]);
}

#[test]
fn client_that_leaves_does_not_block_those_that_wait() {
    let mut script = Script::with_tabs(1);
    let (a, b) = (script.connect_client(), script.connect_client());
    script.send(a, SET, set("geolocation", "granted", Some(SITE)));
    script.send(a, SET, set("notifications", "granted", Some(SITE)));
    let id = script.send(b, SET, set("camera", "granted", Some(SITE)));
    assert_eq!(rules_of(&script.next_call("setPermissions")), [LOCATION]);
    script.disconnect(a);
    assert_eq!(accept(&mut script), [] as [&str; 0]);
    assert_eq!(accept(&mut script), [CAMERA]);
    assert_eq!(script.received(b).result(id), &json!({}));
    script.disconnect(b);
    assert_eq!(accept(&mut script), [] as [&str; 0]);
    assert!(script.is_idle());
}

#[test]
fn changes_that_wait_fail_with_the_connection() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let ids = ["geolocation", "camera"]
        .map(|name| script.send(client, SET, set(name, "granted", Some(SITE))));
    script.next_call("setPermissions");
    script.disconnect_extension();
    let received = script.received(client);
    for id in ids {
        assert!(!received.error(id).is_empty());
    }
    script.connect_browser(vec![tab(1)]);
    assert!(script.calls().is_empty(), "no rule is left");
    let rules = change(
        &mut script,
        client,
        SET,
        set("camera", "granted", Some(SITE)),
    );
    assert_eq!(rules, [CAMERA]);
}

#[test]
fn setting_again_what_another_client_has_changed_takes_effect() {
    let mut script = Script::with_tabs(1);
    let (a, b) = (script.connect_client(), script.connect_client());
    for (client, setting, rule) in [
        (a, "granted", "allow"),
        (b, "denied", "block"),
        (a, "granted", "allow"),
    ] {
        let params = set("geolocation", setting, Some(SITE));
        let rules = change(&mut script, client, SET, params);
        assert_eq!(rules, [format!("location https://example.com/* {rule}")]);
    }
}

#[test]
fn number_of_rules_is_limited() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let origin = |number: usize| format!("https://site{number}.example");
    // Each grant sets all five content settings of the origin.
    for number in 0..MAX_RULES / 5 {
        let params = grant(&["videoCapture"], Some(&origin(number)));
        change(&mut script, client, GRANT, params);
    }
    let more = set("camera", "granted", Some(SITE));
    let (code, message) = script.request_error(client, SET, more);
    assert_eq!(code, -32000);
    assert!(message.contains(RESET), "{message}");
    assert!(script.calls().is_empty());
    let again = set("camera", "denied", Some(&origin(0)));
    assert_eq!(change(&mut script, client, SET, again).len(), MAX_RULES);
}
