//! One reply to every request, always.

use serde_json::json;

use super::script::Script;
use crate::Input;

#[test]
fn without_an_extension_a_request_is_refused_at_once_and_says_what_is_missing() {
    let mut script = Script::new();
    let client = script.client();
    let (code, message) = script.error_of(client, None, "Browser.getVersion", json!({}));
    assert_eq!(code, -32000);
    assert!(message.contains("extension"), "{message}");
}

#[test]
fn unknown_browser_methods_are_errors_that_name_the_method() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    for method in [
        "Browser.grantPermissions",
        "Target.exposeDevToolsProtocol",
        "SystemInfo.getInfo",
        "Nonsense",
        "Nonsense.more",
    ] {
        let (code, message) = script.error_of(client, None, method, json!({}));
        assert_eq!(code, -32601, "{method}");
        assert!(message.contains(method), "{message}");
    }
}

#[test]
fn what_is_not_a_request_gets_an_error_too() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    for (text, code) in [
        ("{", -32700),
        ("hello", -32700),
        ("null", -32600),
        ("[]", -32600),
        (r#"{"method":"Page.enable"}"#, -32600),
    ] {
        script.text(client, text);
        let heard = script.heard(client);
        assert_eq!(heard.len(), 1, "{text}");
        assert_eq!(heard[0]["error"]["code"], code, "{text}");
    }
}

#[test]
fn a_session_that_is_not_the_clients_own_is_unknown() {
    let mut script = Script::with_tabs(1);
    let (_, sessions) = script.attached_client();
    let other = script.client();
    for session in [
        sessions[0].as_str(),
        "nonsense",
        "00000000000000000000000000000000",
    ] {
        let (code, _) = script.error_of(other, Some(session), "Runtime.evaluate", json!({}));
        assert_eq!(code, -32001, "{session}");
    }
    assert!(script.calls().is_empty());
}

#[test]
fn parameters_of_the_wrong_shape_are_refused() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    assert_eq!(
        script
            .error_of(
                client,
                None,
                "Target.setDiscoverTargets",
                json!({ "discover": "yes" })
            )
            .0,
        -32602
    );
    assert_eq!(
        script
            .error_of(client, None, "Target.createTarget", json!({}))
            .0,
        -32602
    );
    assert_eq!(
        script
            .error_of(
                client,
                None,
                "Target.closeTarget",
                json!({ "targetId": "none" })
            )
            .0,
        -32000
    );
}

#[test]
fn what_clients_say_while_the_extension_greets_waits_and_is_answered_in_order() {
    let mut script = Script::new();
    script.input(Input::ExtensionOpened);
    let client = script.client();
    let first = script.request(client, None, "Browser.getVersion", json!({}));
    let second = script.request(client, None, "Target.getTargets", json!({}));
    assert!(script.heard(client).is_empty());
    script.say_hello();
    let call = script.next_call("listTabs");
    script.reply(&call, json!({ "tabs": [super::script::tab(1)] }));
    let heard = script.heard(client);
    assert_eq!(
        (heard[0]["id"].as_i64(), heard[1]["id"].as_i64()),
        (Some(first), Some(second))
    );
    assert_eq!(heard[1]["result"]["targetInfos"][0]["targetId"], "T1");
}

#[test]
fn the_version_is_the_browsers_own() {
    let mut script = Script::with_tabs(0);
    let client = script.client();
    let version = script.ask(client, None, "Browser.getVersion", json!({}));
    assert_eq!(
        (version["product"].as_str(), version["userAgent"].as_str()),
        (Some("Chrome/156.0.1.2"), Some("UA/156"))
    );
}

#[test]
fn closing_the_browser_ends_only_the_clients_own_connection() {
    let mut script = Script::with_tabs(1);
    let client = script.client();
    script.ask(client, None, "Browser.close", json!({}));
    assert_eq!(script.closed_clients, [client]);
    assert!(script.calls().is_empty());
}

#[test]
fn nothing_stays_when_everyone_has_gone() {
    let mut script = Script::with_tabs(2);
    let (client, sessions) = script.attached_client();
    script.make_live(client, &sessions[0], 1);
    script.request(client, Some(&sessions[0]), "Runtime.evaluate", json!({}));
    script.request(client, Some(&sessions[1]), "Runtime.evaluate", json!({}));
    script.input(Input::ClientClosed(client));
    script.input(Input::ExtensionClosed);
    assert!(script.core.is_idle());
    assert!(script.heard(client).is_empty());
}
