//! Init commands to a dormant tab are answered without waking it, and a library's defaults never
//! reach the page.

use serde_json::{Value, json};

use super::initialized_page;
use crate::tests::script::{Script, playwright_init};

#[test]
fn answers_playwright_init_without_attaching() {
    let (mut script, _, received) = initialized_page();
    let results = received.iter().filter(|m| m.get("result").is_some());
    assert_eq!(results.count(), playwright_init().len());
    assert!(script.calls().is_empty(), "nothing is attached");
    let contexts = received.contexts();
    let worlds: Vec<_> = contexts.iter().map(|context| &context["name"]).collect();
    assert_eq!(worlds, ["", "utility"]);
    for name in ["load", "DOMContentLoaded"] {
        let mut lifecycle = received.events("Page.lifecycleEvent");
        assert!(lifecycle.any(|params| params["name"] == name), "{name}");
    }
}

#[test]
fn recorded_clients_connect_without_waking_the_page() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/transcripts");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert_connects_without_waking(&serde_json::from_str(&text).unwrap());
        count += 1;
    }
    assert!(count >= 3, "transcripts of three clients");
}

fn assert_connects_without_waking(transcript: &Value) {
    let client = &transcript["client"];
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    for message in transcript["toPage"].as_array().unwrap() {
        let mut params = message["params"].clone();
        if params["frameId"].is_string() {
            params["frameId"] = "T1".into();
        }
        let id = script.send(&page, message["method"].as_str().unwrap(), params);
        let received = script.received(&page);
        assert!(received.result(id).is_object(), "{client} {message}");
    }
    assert!(script.calls().is_empty(), "{client}");
}

#[test]
fn answers_a_probe_without_attaching_and_wakes_on_another_evaluation() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let probe = json!({ "expression": "1", "returnByValue": true });
    let reply = script.request(&page, "Runtime.evaluate", probe.clone());
    assert_eq!(
        reply["result"],
        json!({ "type": "number", "value": 1, "description": "1" })
    );
    assert!(script.calls().is_empty(), "nothing is attached");
    script.make_live(&page);
    script.send(&page, "Runtime.evaluate", probe);
    let forwarded = script.next_command("Runtime.evaluate");
    assert_eq!(
        forwarded.params()["returnByValue"],
        true,
        "a live page is asked"
    );
}

#[test]
fn frame_tree_of_a_dormant_tab_has_the_real_main_frame() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let result = script.request(&page, "Page.getFrameTree", json!({}));
    let frame = &result["frameTree"]["frame"];
    assert_eq!(frame["id"], "T1");
    assert_eq!(frame["url"], "https://site/1");
}

#[test]
fn forwards_malformed_init_commands_for_chrome_to_reject() {
    for (method, params) in [
        ("Page.addScriptToEvaluateOnNewDocument", json!({})),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": 5 }),
        ),
        (
            "Page.setLifecycleEventsEnabled",
            json!({ "enabled": "yes" }),
        ),
        (
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 1, "height": 1, "deviceScaleFactor": null, "mobile": true }),
        ),
    ] {
        let mut script = Script::with_tabs(1);
        let page = script.auto_attached_page();
        let id = script.send(&page, method, params);
        script.finish_waking();
        let call = script.next_command(method);
        let error = json!({ "code": -32602, "message": "Invalid parameters" });
        script.reply_error(&call, error);
        let code = script.received(&page).error_code(id);
        assert_eq!(code, -32602, "{method}");
    }
}

#[test]
fn does_not_replay_client_defaults_on_existing_tabs() {
    let (mut script, page, _) = initialized_page();
    script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    for method in ["Emulation.setEmulatedMedia", "Page.setFontFamilies"] {
        assert!(!replayed.iter().any(|m| m == method), "{replayed:?}");
    }
    assert!(replayed.contains(&"Emulation.setFocusEmulationEnabled".to_owned()));
}

#[test]
fn focus_emulation_of_a_library_can_be_withheld_like_other_defaults() {
    const METHOD: &str = "Emulation.setFocusEmulationEnabled";
    let (mut script, page, _) = initialized_page();
    script.withhold_focus_emulation();
    script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    assert!(!replayed.contains(&METHOD.to_owned()), "{replayed:?}");
    script.next_command("Runtime.evaluate");
    // The client's user asks for it.
    script.send(&page, METHOD, json!({ "enabled": true }));
    script.next_command(METHOD);
}

#[test]
fn override_after_init_wakes_the_tab_and_reaches_it() {
    let (mut script, page, _) = initialized_page();
    let params = json!({ "media": "print" });
    script.send(&page, "Emulation.setEmulatedMedia", params);
    script.finish_waking();
    script.next_command("Emulation.setEmulatedMedia");
}

#[test]
fn override_on_an_explicit_session_is_never_a_default() {
    let mut script = Script::with_tabs(1);
    let page = script.explicitly_attached_page("T1");
    let params = json!({ "media": "print" });
    script.send(&page, "Emulation.setEmulatedMedia", params);
    script.finish_waking();
    script.next_command("Emulation.setEmulatedMedia");
}
