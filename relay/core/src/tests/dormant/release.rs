//! The debugger is detached as soon as no client needs it.

use serde_json::json;

use crate::tests::script::{Script, attached_tab, main_frame, playwright_init};

#[test]
fn detaches_when_the_last_client_disconnects() {
    let mut script = Script::with_tabs(1);
    let first = script.auto_attached_page();
    let second = script.auto_attached_page();
    script.make_live(&first);
    script.use_live(&second);
    script.disconnect(first.client);
    let calls = script.calls();
    assert!(
        calls.iter().all(|call| call.name() != "detachTab"),
        "{calls:?}"
    );
    script.disconnect(second.client);
    script.next_call("detachTab");
}

#[test]
fn detaches_when_the_client_disconnects_while_its_tab_wakes() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.send(&page, "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.disconnect(page.client);
    script.reply(&attach, json!({}));
    for call in script.calls() {
        script.reply(&call, json!({ "frameTree": main_frame(1) }));
    }
    script.next_call("detachTab");
    assert!(script.received(&page).is_empty());
}

#[test]
fn detaches_when_the_client_disconnects_with_a_command_in_flight() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    script.make_live(&page);
    script.send(&page, "Runtime.evaluate", json!({ "awaitPromise": true }));
    script.calls();
    script.disconnect(page.client);
    script.next_call("detachTab");
    assert!(script.is_idle());
}

#[test]
fn worlds_of_clients_that_have_left_are_forgotten() {
    let mut script = Script::with_tabs(1);
    let world = |name| json!({ "frameId": "T1", "worldName": name });
    let watcher = script.auto_attached_page();
    script.request(&watcher, "Runtime.enable", json!({}));
    script.request(&watcher, "Page.createIsolatedWorld", world("shared"));
    let leaving = script.auto_attached_page();
    script.request(&leaving, "Page.createIsolatedWorld", world("shared"));
    script.request(&leaving, "Page.createIsolatedWorld", world("own"));
    let own = script.received(&watcher).context_id("own");

    script.disconnect(leaving.client);
    let received = script.received(&watcher);
    let destroyed = received.event("Runtime.executionContextDestroyed");
    assert_eq!(destroyed["executionContextId"], own);
    assert_eq!(received.len(), 1, "{received:?}");
    let next = script.auto_attached_page();
    script.send(&next, "Runtime.enable", json!({}));
    let known = script.received(&next);
    let worlds: Vec<_> = known
        .contexts()
        .iter()
        .map(|context| &context["name"])
        .collect();
    assert_eq!(worlds, ["", "shared"]);
}

#[test]
fn worlds_of_a_client_that_leaves_while_its_tab_wakes_are_forgotten() {
    let mut script = Script::with_tabs(1);
    let page = script.auto_attached_page();
    let world = json!({ "frameId": "T1", "worldName": "own" });
    script.request(&page, "Page.createIsolatedWorld", world);
    script.send(&page, "Runtime.evaluate", json!({}));
    let attach = script.next_call("attachTab");
    script.disconnect(page.client);
    script.reply_error(&attach, json!("refused"));
    let next = script.auto_attached_page();
    script.send(&next, "Runtime.enable", json!({}));
    let known = script.received(&next);
    assert_eq!(known.contexts().len(), 1, "{known:?}");
}

#[test]
fn releases_a_tab_created_for_a_client_that_has_disconnected() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.auto_attached_client();
    let params = json!({ "url": "about:blank" });
    script.send(client, "Target.createTarget", params);
    let call = script.next_call("createTab");
    script.disconnect(client);
    script.reply(&call, attached_tab(7));
    script.next_call("detachTab");
}

#[test]
fn detaches_although_a_client_that_only_connected_stays() {
    let mut script = Script::with_tabs(1);
    let user = script.auto_attached_page();
    let other = script.auto_attached_page();
    for (method, params) in playwright_init() {
        script.send(&other, method, params);
    }
    script.make_live(&user);
    script.received(&other);
    script.disconnect(user.client);
    assert!(script.calls().iter().any(|call| call.name() == "detachTab"));
    let received = script.received(&other);
    assert_eq!(
        received.methods(),
        [
            "Runtime.executionContextsCleared",
            "Runtime.executionContextCreated",
            "Runtime.executionContextCreated"
        ],
        "the tab is dormant again"
    );
    script.make_live(&other);
}

#[test]
fn a_client_that_explicitly_attached_uses_a_tab_only_when_it_sends_a_command() {
    let mut script = Script::with_tabs(1);
    let user = script.auto_attached_page();
    script.make_live(&user);
    let other = script.explicitly_attached_page("T1");
    script.send(&other, "Network.enable", json!({}));
    script.answer_calls();
    script.disconnect(user.client);
    assert!(script.calls().iter().any(|call| call.name() == "detachTab"));
}

#[test]
fn keeps_the_debugger_while_a_client_that_only_connected_waits_for_a_reply() {
    let mut script = Script::with_tabs(1);
    let user = script.auto_attached_page();
    script.make_live(&user);
    let other = script.explicitly_attached_page("T1");
    let id = script.send(&other, "Network.enable", json!({}));
    let call = script.next_command("Network.enable");
    script.disconnect(user.client);
    assert!(script.calls().iter().all(|call| call.name() != "detachTab"));
    script.reply(&call, json!({}));
    assert!(script.received(&other).result(id).is_object());
    assert!(script.calls().iter().any(|call| call.name() == "detachTab"));
}

#[test]
fn keeps_the_debugger_of_a_created_tab_that_is_only_initialized() {
    let mut script = Script::with_tabs(0);
    let (client, _) = script.auto_attached_client();
    script.send(
        client,
        "Target.createTarget",
        json!({ "url": "about:blank" }),
    );
    let call = script.next_call("createTab");
    script.reply(&call, attached_tab(7));
    let page = script.received(client).attached_sessions(client).remove(0);
    script.send(&page, "Network.enable", json!({}));
    script.answer_calls();
    assert!(script.calls().is_empty());
}
