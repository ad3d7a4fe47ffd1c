//! Permissions of sites: which rules the extension has to set, and that those of a client end with
//! it. None of it wakes a tab.

use serde_json::{Value, json};

use super::script::{Call, ClientId, Script, tab};

mod changes;

const SITE: &str = "https://example.com";

/// Sends a command that changes permissions, and answers the call that follows. Returns the rules.
#[track_caller]
fn change(script: &mut Script, client: ClientId, method: &str, params: Value) -> Vec<String> {
    let id = script.send(client, method, params);
    let rules = accept(script);
    assert_eq!(script.received(client).result(id), &json!({}));
    rules
}

/// Answers the next call, which sets permissions. Returns its rules.
#[track_caller]
fn accept(script: &mut Script) -> Vec<String> {
    let call = script.next_call("setPermissions");
    script.reply(&call, json!({}));
    rules_of(&call)
}

fn rules_of(call: &Call) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = call.params()["rules"].as_array().unwrap();
    let line = |rule: &Value| {
        let [kind, pattern, setting] = ["type", "pattern", "setting"].map(|key| text(&rule[key]));
        format!("{kind} {pattern} {setting}")
    };
    rules.iter().map(line).collect()
}

fn grant(permissions: &[&str], origin: Option<&str>) -> Value {
    let mut params = json!({ "permissions": permissions });
    if let Some(origin) = origin {
        params["origin"] = origin.into();
    }
    params
}

fn set(name: &str, setting: &str, origin: Option<&str>) -> Value {
    let mut params = json!({ "permission": { "name": name }, "setting": setting });
    if let Some(origin) = origin {
        params["origin"] = origin.into();
    }
    params
}

const GRANT: &str = "Browser.grantPermissions";
const SET: &str = "Browser.setPermission";
const RESET: &str = "Browser.resetPermissions";

#[test]
fn grants_to_an_origin_and_rejects_the_others_there() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let permissions = ["geolocation", "videoCapture", "clipboardSanitizedWrite"];
    let params = grant(&permissions, Some("https://example.com/path"));
    let rules = change(&mut script, client, GRANT, params);
    assert_eq!(
        rules,
        [
            "camera https://example.com/* allow",
            "clipboard https://example.com/* block",
            "location https://example.com/* allow",
            "microphone https://example.com/* block",
            "notifications https://example.com/* block",
        ]
    );
    assert!(script.calls().is_empty());
    assert!(!script.is_live(1));
}

#[test]
fn without_an_origin_only_what_is_named_changes() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let params = grant(&["notifications"], None);
    let rules = change(&mut script, client, GRANT, params);
    assert_eq!(
        rules,
        [
            "notifications http://*/* allow",
            "notifications https://*/* allow"
        ]
    );
    let (code, message) = script.request_error(client, GRANT, grant(&[], None));
    assert_eq!(code, -32000);
    assert!(
        message.contains(GRANT) && message.contains("origin"),
        "{message}"
    );
}

#[test]
fn another_grant_for_the_same_origin_replaces_the_first() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    change(
        &mut script,
        client,
        GRANT,
        grant(&["geolocation"], Some(SITE)),
    );
    let params = grant(&["notifications"], Some(SITE));
    let rules = change(&mut script, client, GRANT, params.clone());
    assert_eq!(rules.len(), 5);
    assert!(rules.contains(&"location https://example.com/* block".to_owned()));
    assert!(rules.contains(&"notifications https://example.com/* allow".to_owned()));
    assert_eq!(
        script.request(client, GRANT, params),
        json!({}),
        "nothing to change"
    );
    assert!(script.calls().is_empty());
}

#[test]
fn sets_one_permission_and_nothing_else() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (name, setting, rule) in [
        (
            "geolocation",
            "granted",
            "location https://example.com/* allow",
        ),
        (
            "geolocation",
            "denied",
            "location https://example.com/* block",
        ),
        (
            "geolocation",
            "prompt",
            "location https://example.com/* ask",
        ),
    ] {
        let rules = change(&mut script, client, SET, set(name, setting, Some(SITE)));
        assert_eq!(rules, [rule]);
    }
    let mut push = set("push", "granted", Some(SITE));
    push["permission"]["userVisibleOnly"] = true.into();
    let rules = change(&mut script, client, SET, push);
    assert_eq!(rules[1], "notifications https://example.com/* allow");
}

#[test]
fn writing_to_the_clipboard_is_granted_to_every_page() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let granted = set("clipboard-write", "granted", None);
    assert_eq!(script.request(client, SET, granted), json!({}));
    let (code, message) = script.request_error(client, SET, set("clipboard-write", "denied", None));
    assert_eq!(code, -32000);
    assert!(message.contains("clipboard-write"), "{message}");
    assert!(script.calls().is_empty());
}

#[test]
fn names_the_permission_that_no_extension_can_change() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let mut tilt = set("camera", "granted", None);
    tilt["permission"]["panTiltZoom"] = true.into();
    for (method, params, name) in [
        (GRANT, grant(&["geolocation", "midi"], None), "'midi'"),
        (GRANT, grant(&["sensors"], Some(SITE)), "'sensors'"),
        (
            SET,
            set("local-fonts", "granted", Some(SITE)),
            "'local-fonts'",
        ),
        (SET, tilt, "'camera'"),
    ] {
        let (code, message) = script.request_error(client, method, params);
        assert_eq!(code, -32000);
        for part in [method, name, "Chrome lets an extension", "--direct"] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert!(script.calls().is_empty(), "not even what could be granted");
}

#[test]
fn rejects_bad_parameters_in_the_words_of_chrome() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (method, params, message) in [
        (
            GRANT,
            grant(&["nope"], None),
            "Unknown permission type: nope",
        ),
        (
            GRANT,
            grant(&["geolocation"], Some("about:blank")),
            "Permission can't be granted to opaque origins.",
        ),
        (
            SET,
            set("nope", "granted", None),
            "Invalid PermissionDescriptor name: nope",
        ),
        (
            SET,
            set("geolocation", "maybe", None),
            "Unknown permission setting: maybe",
        ),
        (
            SET,
            set("push", "granted", None),
            "Push Permission without userVisibleOnly:true isn't supported",
        ),
        (
            RESET,
            json!({ "browserContextId": "x" }),
            "Failed to find browser context for id x",
        ),
    ] {
        let error = script.request_error(client, method, params);
        assert_eq!(error, (-32602, message.to_owned()));
    }
    for (method, params) in [
        (GRANT, json!({})),
        (GRANT, json!({ "permissions": "geolocation" })),
        (SET, json!({ "setting": "granted" })),
    ] {
        assert_eq!(script.request_error(client, method, params).0, -32602);
    }
    let file = grant(&["geolocation"], Some("file:///tmp"));
    let (_, message) = script.request_error(client, GRANT, file);
    assert!(message.contains("file:"), "{message}");
    let mut embedded = set("geolocation", "granted", Some(SITE));
    embedded["embeddedOrigin"] = "https://other.example".into();
    let (_, message) = script.request_error(client, SET, embedded);
    assert!(message.contains("embeddedOrigin"), "{message}");
    assert!(script.calls().is_empty());
}

#[test]
fn reset_takes_back_the_clients_own_rules_only() {
    let mut script = Script::with_tabs(1);
    let (a, b) = (script.connect_client(), script.connect_client());
    change(
        &mut script,
        a,
        SET,
        set("geolocation", "granted", Some(SITE)),
    );
    change(&mut script, b, SET, set("camera", "granted", Some(SITE)));
    let rules = change(&mut script, a, RESET, json!({}));
    assert_eq!(rules, ["camera https://example.com/* allow"]);
    assert_eq!(
        script.request(a, RESET, json!({})),
        json!({}),
        "nothing to reset"
    );
    assert_eq!(change(&mut script, b, RESET, json!({})), [] as [&str; 0]);
}

#[test]
fn rules_end_with_their_client() {
    let mut script = Script::with_tabs(1);
    let (a, b) = (script.connect_client(), script.connect_client());
    change(
        &mut script,
        a,
        SET,
        set("geolocation", "granted", Some(SITE)),
    );
    let rules = change(
        &mut script,
        b,
        SET,
        set("geolocation", "denied", Some(SITE)),
    );
    assert_eq!(
        rules,
        ["location https://example.com/* block"],
        "the last one wins"
    );
    script.disconnect(b);
    assert_eq!(
        accept(&mut script),
        ["location https://example.com/* allow"]
    );
    script.disconnect(a);
    assert_eq!(accept(&mut script), [] as [&str; 0]);
    let c = script.connect_client();
    script.disconnect(c);
    assert!(script.calls().is_empty(), "it had set nothing");
}

#[test]
fn rules_of_a_client_that_leaves_without_a_browser_end_when_it_is_back() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    change(
        &mut script,
        client,
        SET,
        set("geolocation", "granted", Some(SITE)),
    );
    script.disconnect_extension();
    script.disconnect(client);
    script.open_extension();
    let list = script.next_call("listTabs");
    script.reply(&list, json!({ "tabs": [tab(1)], "hasPermissions": true }));
    assert_eq!(accept(&mut script), [] as [&str; 0]);
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    assert!(script.calls().is_empty(), "nothing is left");
}

#[test]
fn a_browser_that_comes_back_without_the_rules_gets_them_again() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    change(
        &mut script,
        client,
        SET,
        set("geolocation", "granted", Some(SITE)),
    );
    script.disconnect_extension();
    script.connect_browser(vec![tab(1)]);
    assert_eq!(
        accept(&mut script),
        ["location https://example.com/* allow"]
    );
}

#[test]
fn rules_that_cannot_be_set_are_as_before() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    change(
        &mut script,
        client,
        SET,
        set("geolocation", "granted", Some(SITE)),
    );
    let id = script.send(client, SET, set("camera", "granted", Some(SITE)));
    let call = script.next_call("setPermissions");
    assert_eq!(rules_of(&call).len(), 2);
    script.reply_error(&call, json!("no such pattern"));
    assert_eq!(script.received(client).error(id), "no such pattern");
    assert_eq!(
        accept(&mut script),
        ["location https://example.com/* allow"]
    );
    let id = script.send(client, SET, set("camera", "granted", Some(SITE)));
    script.next_call("setPermissions");
    script.disconnect_extension();
    assert!(
        script
            .received(client)
            .error(id)
            .contains("outcome is unknown")
    );
    script.connect_browser(vec![tab(1)]);
    assert_eq!(
        accept(&mut script),
        ["location https://example.com/* allow"]
    );
}
