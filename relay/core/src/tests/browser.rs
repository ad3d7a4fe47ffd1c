//! Commands to the browser: cookies, windows, and new tabs with options. None of them wakes a tab.

use serde_json::{Value, json};

use super::script::{ClientId, Script, attached_tab};

fn context_of(script: &mut Script, client: ClientId) -> Value {
    let contexts = script.request(client, "Target.getBrowserContexts", json!({}));
    contexts["defaultBrowserContextId"].clone()
}

#[test]
fn reads_cookies_without_a_tab() {
    let mut script = Script::with_tabs(0);
    let client = script.connect_client();
    let context = context_of(&mut script, client);
    let params = json!({ "browserContextId": context });
    let id = script.send(client, "Storage.getCookies", params);
    let call = script.next_browser_command("Storage.getCookies");
    assert_eq!(call.params(), &json!({}), "the context is the relay's own");
    script.reply(&call, json!({ "cookies": [] }));
    let received = script.received(client);
    assert_eq!(received.result(id), &json!({ "cookies": [] }));
    assert_eq!(received[0].get("sessionId"), None);
}

#[test]
fn cookie_commands_attach_nothing_although_a_tab_is_live() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    script.make_live(&pages[1]);
    for method in [
        "Storage.getCookies",
        "Storage.setCookies",
        "Storage.clearCookies",
    ] {
        script.send(client, method, json!({ "cookies": [] }));
        script.next_browser_command(method);
    }
    assert!(script.calls().is_empty());
}

#[test]
fn dormant_page_answers_cookie_commands_without_waking() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    for method in [
        "Network.clearBrowserCookies",
        "Network.deleteCookies",
        "Network.getAllCookies",
        "Network.getCookies",
        "Network.setCookie",
        "Network.setCookies",
        "Storage.clearCookies",
        "Storage.getCookies",
        "Storage.setCookies",
    ] {
        let id = script.send(&page, method, json!({ "name": "a" }));
        let call = script.next_browser_command(method);
        assert_eq!(call.params(), &json!({ "name": "a" }));
        script.reply(&call, json!({ "done": method }));
        assert_eq!(script.received(&page).result(id)["done"], method);
    }
    assert!(script.calls().is_empty());
    assert!(!script.is_live(1));
}

#[test]
fn extension_learns_whose_cookies_a_dormant_page_asks_for() {
    let mut script = Script::with_tabs(2);
    let (_, pages) = script.auto_attached_client();
    script.send(&pages[1], "Network.getCookies", json!({}));
    assert_eq!(script.next_browser_command("Network.getCookies").tab(), 2);
    let params = json!({ "name": "a", "domain": "example.com" });
    script.send(&pages[1], "Network.deleteCookies", params);
    let call = script.next_browser_command("Network.deleteCookies");
    assert_eq!(call.tab(), 0, "not those of a tab");
}

#[test]
fn live_page_receives_cookie_commands_itself() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.make_live(&page);
    script.send(&page, "Network.getAllCookies", json!({}));
    script.next_command("Network.getAllCookies");
}

#[test]
fn rejects_a_context_that_does_not_exist() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for method in [
        "Storage.getCookies",
        "Storage.clearCookies",
        "Browser.getWindowBounds",
    ] {
        let params = json!({ "browserContextId": "nope" });
        let error = script.request_error(client, method, params);
        let message = "Failed to find browser context for id nope".to_owned();
        assert_eq!(error, (-32602, message), "{method}");
    }
    let params = json!({ "url": "about:blank", "browserContextId": "nope" });
    let error = script.request_error(client, "Target.createTarget", params);
    let message = "Failed to find browser context with id nope".to_owned();
    assert_eq!(error, (-32000, message));
    assert!(script.calls().is_empty());
}

#[test]
fn thousands_of_cookies_have_more_time_than_a_tab() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let id = script.send(client, "Storage.setCookies", json!({ "cookies": [] }));
    let call = script.next_browser_command("Storage.setCookies");
    script.elapse(25);
    script.reply(&call, json!({}));
    assert_eq!(script.received(client).result(id), &json!({}));
    let id = script.send(client, "Storage.setCookies", json!({ "cookies": [] }));
    script.elapse(31);
    let received = script.received(client);
    let error = received.error(id);
    assert!(
        error.starts_with("Storage.setCookies: no reply from the browser within 30 seconds"),
        "{error}"
    );
}

#[test]
fn cookie_command_fails_with_the_reason_of_the_extension() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let id = script.send(client, "Storage.setCookies", json!({ "cookies": [] }));
    let call = script.next_call("browserCommand");
    let error = json!({ "code": -32602, "message": "Invalid cookie fields", "data": "…" });
    script.reply_error(&call, error.clone());
    assert_eq!(script.received(client)[0]["error"], error);
    let id_lost = script.send(client, "Storage.getCookies", json!({}));
    script.disconnect_extension();
    let received = script.received(client);
    assert!(received.error(id_lost).contains("outcome is unknown"));
    assert!(id_lost > id);
}

#[test]
fn finds_the_window_of_a_target() {
    let mut script = Script::with_tabs(2);
    let (client, pages) = script.auto_attached_client();
    let id = script.send(
        client,
        "Browser.getWindowForTarget",
        json!({ "targetId": "T2" }),
    );
    let call = script.next_browser_command("Browser.getWindowForTarget");
    assert_eq!(call.tab(), 2);
    script.reply(&call, json!({ "windowId": 7 }));
    assert_eq!(script.received(client).result(id)["windowId"], 7);
    script.send(&pages[0], "Browser.getWindowForTarget", json!({}));
    let call = script.next_browser_command("Browser.getWindowForTarget");
    assert_eq!(call.tab(), 1, "a page's own window");
    assert!(!script.is_live(1) && !script.is_live(2));
}

#[test]
fn rejects_targets_without_a_window_in_the_words_of_chrome() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (params, message) in [
        (json!({}), "No web contents in the target"),
        (json!({ "targetId": "nope" }), "No target with given id"),
    ] {
        let error = script.request_error(client, "Browser.getWindowForTarget", params);
        assert_eq!(error, (-32000, message.to_owned()));
    }
}

#[test]
fn checks_bounds_before_the_extension_is_asked() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (bounds, reason) in [
        (
            json!({ "windowState": "maximized", "width": 5 }),
            "cannot be combined",
        ),
        (
            json!({ "windowState": "bogus" }),
            "unknown window state 'bogus'",
        ),
        (json!({ "width": 1.5 }), "invalid parameters"),
        (Value::Null, "invalid parameters"),
    ] {
        let params = json!({ "windowId": 7, "bounds": bounds });
        let (code, message) = script.request_error(client, "Browser.setWindowBounds", params);
        assert_eq!(code, -32602);
        assert!(message.contains(reason), "{message}");
    }
    let params = json!({ "windowId": 7, "bounds": { "windowState": "normal", "width": 500 } });
    script.send(client, "Browser.setWindowBounds", params.clone());
    let call = script.next_browser_command("Browser.setWindowBounds");
    assert_eq!(call.params(), &params);
}

#[test]
fn names_what_no_extension_can_do() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    for method in [
        "Browser.getHistograms",
        "Browser.crash",
        "Browser.setDockTile",
    ] {
        let (code, message) = script.request_error(&page, method, json!({}));
        assert_eq!(code, -32601);
        assert!(
            message.contains(method) && message.contains("--direct"),
            "{message}"
        );
    }
    assert!(script.calls().is_empty());
}

/// The parameters of the `createTab` call that follows from these of `Target.createTarget`.
fn created_with(params: Value) -> Value {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    script.send(client, "Target.createTarget", params);
    let call = script.next_call("createTab");
    let created = call.params().clone();
    script.reply(&call, attached_tab(9));
    created
}

#[test]
fn new_tabs_stay_in_the_background_unless_the_client_asks() {
    for (params, active) in [
        (json!({}), false),
        (json!({ "background": true }), false),
        (json!({ "newWindow": true }), false),
        (json!({ "focus": false }), false),
        (json!({ "background": false }), true),
        (json!({ "focus": true }), true),
    ] {
        let mut full = params.clone();
        full["url"] = "about:blank".into();
        assert_eq!(created_with(full)["active"], active, "{params}");
    }
}

#[test]
fn new_window_gets_its_size_position_and_state() {
    let created = created_with(json!({
        "url": "", "newWindow": true, "left": 1, "top": 2, "width": 300, "height": 400,
        "windowState": "normal", "enableBeginFrameControl": false,
    }));
    assert_eq!(created["url"], "about:blank");
    let window =
        json!({ "left": 1, "top": 2, "width": 300, "height": 400, "windowState": "normal" });
    assert_eq!(created["window"], window);
    let plain = created_with(json!({ "url": "about:blank", "newWindow": true }));
    assert_eq!(plain.get("window"), None);
}

#[test]
fn rejects_what_only_a_new_window_can_have_in_the_words_of_chrome() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (mut params, expected) in [
        (
            json!({ "width": 640, "height": 480 }),
            "Target position can only be set for new windows",
        ),
        (
            json!({ "windowState": "minimized" }),
            "Target window state can only be set for new windows",
        ),
        (
            json!({ "background": true, "focus": true }),
            "Can't focus a target in the background. Use background=false instead.",
        ),
    ] {
        params["url"] = "about:blank".into();
        let error = script.request_error(client, "Target.createTarget", params);
        assert_eq!(error, (-32602, expected.to_owned()));
    }
    let hidden = json!({ "url": "about:blank", "hidden": true });
    let (code, message) = script.request_error(client, "Target.createTarget", hidden);
    assert_eq!(code, -32000);
    assert!(message.contains("hidden"), "{message}");
    assert!(script.calls().is_empty());
}

#[test]
fn announces_the_browser_first_to_those_who_want_it() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let everything = json!({ "discover": true, "filter": [{}] });
    script.send(client, "Target.setDiscoverTargets", everything);
    let received = script.received(client);
    let info = received[0]["params"]["targetInfo"].clone();
    let own = script.request(client, "Target.getTargetInfo", json!({}));
    assert_eq!(info, own["targetInfo"]);
    assert_eq!(
        (&info["type"], &info["attached"], &info["url"]),
        (&json!("browser"), &json!(true), &json!(""))
    );
    assert_eq!(info.get("browserContextId"), None);
    let default = script.connect_client();
    let params = json!({ "discover": true });
    script.send(default, "Target.setDiscoverTargets", params);
    let received = script.received(default);
    assert_eq!(received[0]["params"]["targetInfo"]["type"], "page");
}
