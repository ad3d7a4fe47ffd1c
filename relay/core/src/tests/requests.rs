//! Every request gets exactly one reply, whatever it is and whenever it arrives.

use serde_json::json;

use super::script::{Script, tab};

#[test]
fn rejects_requests_without_an_extension() {
    let mut script = Script::new();
    let client = script.connect_client();
    let (code, message) = script.request_error(client, "Browser.getVersion", json!({}));
    assert_eq!(code, -32000);
    assert!(message.contains("extension"), "{message}");
}

#[test]
fn names_the_method_when_it_is_unknown() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for method in [
        "Browser.nonsense",
        "Target.exposeDevToolsProtocol",
        "SystemInfo.getInfo",
        "Nonsense",
        "Nonsense.more",
    ] {
        let (code, message) = script.request_error(client, method, json!({}));
        assert_eq!(code, -32601, "{method}");
        assert!(message.contains(method), "{message}");
    }
}

#[test]
fn refuses_what_chrome_never_grants_without_waking_the_tab() {
    let mut script = Script::with_tabs(2);
    let (_, pages) = script.auto_attached_client();
    script.make_live(&pages[1]);
    for page in &pages {
        for method in [
            "Security.setIgnoreCertificateErrors",
            "DOMStorage.enable",
            "Profiler.enable",
            "Page.clearDeviceOrientationOverride",
        ] {
            let (code, message) = script.request_error(page, method, json!({}));
            assert_eq!(code, -32601, "{method}");
            assert!(message.contains(method), "{message}");
            assert!(message.contains("tabwire launch --direct"), "{message}");
        }
    }
    assert!(script.calls().is_empty());
}

#[test]
fn names_what_chrome_does_not_let_extensions_do() {
    let mut script = Script::with_tabs(1);
    let (client, pages) = script.auto_attached_client();
    for (method, reason) in [
        ("Profiler.enable", "coverage"),
        ("HeapProfiler.takeHeapSnapshot", "heap snapshots"),
        ("Memory.getDOMCounters", "Performance.getMetrics"),
        ("DOMStorage.getDOMStorageItems", "localStorage"),
        ("Security.setIgnoreCertificateErrors", "certificates"),
        ("Extensions.loadUnpacked", "other extensions"),
        ("Target.createBrowserContext", "browser.contexts()[0]"),
    ] {
        let (_, message) = script.request_error(&pages[0], method, json!({}));
        assert!(message.contains(method), "{message}");
        assert!(message.contains(reason), "{message}");
        assert!(message.contains("tabwire launch --direct"), "{message}");
    }
    let (code, message) = script.request_error(client, "Tracing.start", json!({}));
    assert_eq!(code, -32601);
    assert!(message.contains("only the process of a page"), "{message}");
    assert!(message.contains("the session of a page"), "{message}");
    assert!(message.contains("tabwire launch --direct"), "{message}");
}

#[test]
fn answers_malformed_messages_with_an_error() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (text, code) in [
        ("{", -32700),
        ("hello", -32700),
        ("null", -32600),
        ("[]", -32600),
        (r#"{"method":"Page.enable"}"#, -32600),
    ] {
        script.send_text(client, text);
        let received = script.received(client);
        assert_eq!(received.len(), 1, "{text}");
        assert_eq!(received[0]["error"]["code"], code, "{text}");
    }
}

#[test]
fn rejects_sessions_that_belong_to_another_client() {
    let mut script = Script::with_tabs(1);
    let theirs = script.auto_attached_page();
    let mut session = theirs.clone();
    session.client = script.connect_client();
    for id in [
        theirs.id.as_str(),
        "nonsense",
        "00000000000000000000000000000000",
    ] {
        session.id = id.to_owned();
        let (code, _) = script.request_error(&session, "Runtime.evaluate", json!({}));
        assert_eq!(code, -32001, "{id}");
    }
    assert!(script.calls().is_empty());
}

#[test]
fn rejects_invalid_parameters() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (method, params, expected) in [
        (
            "Target.setDiscoverTargets",
            json!({ "discover": "yes" }),
            -32602,
        ),
        ("Target.createTarget", json!({}), -32602),
        ("Target.closeTarget", json!({ "targetId": "none" }), -32000),
    ] {
        let (code, _) = script.request_error(client, method, params);
        assert_eq!(code, expected, "{method}");
    }
}

#[test]
fn holds_requests_until_the_extension_is_ready_and_answers_in_order() {
    let mut script = Script::new();
    script.open_extension();
    let client = script.connect_client();
    let version = script.send(client, "Browser.getVersion", json!({}));
    let targets = script.send(client, "Target.getTargets", json!({}));
    assert!(script.received(client).is_empty());
    let call = script.next_call("listTabs");
    script.reply(&call, json!({ "tabs": [tab(1)] }));
    let received = script.received(client);
    assert_eq!(received.reply_ids(), [version, targets]);
    assert_eq!(received.len(), 2, "{received:?}");
    assert_eq!(received.result(targets)["targetInfos"][0]["targetId"], "T1");
}

#[test]
fn reports_the_version_of_the_browser() {
    let mut script = Script::with_tabs(0);
    let client = script.connect_client();
    let version = script.request(client, "Browser.getVersion", json!({}));
    assert_eq!(version["product"], "Chrome/156.0.1.2");
    assert_eq!(version["userAgent"], "UA/156");
}

#[test]
fn browser_close_disconnects_only_the_client() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    script.request(client, "Browser.close", json!({}));
    assert_eq!(script.closed_clients(), [client]);
    assert!(script.calls().is_empty());
}

#[test]
fn keeps_no_state_after_everyone_has_disconnected() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    script.make_live(&pages[0]);
    script.send(&pages[0], "Runtime.evaluate", json!({}));
    script.send(&pages[1], "Runtime.evaluate", json!({}));
    script.disconnect(client);
    script.disconnect_extension();
    assert!(script.is_idle());
    assert!(script.received(client).is_empty());
}

#[test]
fn refuses_a_data_address_in_a_page_without_waking_it() {
    let mut script = Script::with_tabs(2);
    let (_, pages) = script.auto_attached_client();
    script.make_live(&pages[1]);
    for (page, frame) in [(&pages[0], "T1"), (&pages[1], "T2")] {
        for params in [
            json!({ "url": "data:text/html,x" }),
            json!({ "url": " DATA:text/html,x", "frameId": frame }),
        ] {
            let (code, message) = script.request_error(page, "Page.navigate", params);
            assert_eq!(code, -32000);
            for part in ["Page.navigate", "data:", "setContent", "--direct"] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
    assert!(script.calls().is_empty());
    for params in [
        json!({ "url": "data:text/html,x", "frameId": "F1" }),
        json!({ "url": "https://example.com/data:" }),
        json!({ "url": "é" }),
        json!({ "url": 5 }),
    ] {
        script.send(&pages[1], "Page.navigate", params.clone());
        let call = script.next_command("Page.navigate");
        assert_eq!(call.params(), &params);
    }
}

#[test]
fn takes_an_empty_list_of_parameters_for_none() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    script.make_live(&pages[1]);
    let none = || json!([]);
    let version = script.request(client, "Browser.getVersion", none());
    assert_eq!(version["protocolVersion"], "1.3");
    let targets = script.request(client, "Target.getTargets", none());
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 2);
    script.send(client, "Storage.getCookies", none());
    let call = script.next_browser_command("Storage.getCookies");
    assert_eq!(call.params(), &json!({}));
    script.reply(&call, json!({ "cookies": [] }));
    assert_eq!(script.request(&pages[0], "Page.enable", none()), json!({}));
    assert!(!script.is_live(1), "answered while dormant");
    script.send(&pages[1], "Page.getLayoutMetrics", none());
    let call = script.next_command("Page.getLayoutMetrics");
    assert_eq!(
        call.params(),
        &json!({}),
        "Chrome itself would reject a list"
    );
    let error = script.request_error(client, "Browser.getVersion", json!([1]));
    assert_eq!(error.0, -32602);
}
