//! What happens to a tab without the client's doing: navigations, replaced tabs, and a debugger
//! that is detached.

use serde_json::json;

use super::initialized_page;
use crate::tests::script::{Script, tab};

#[test]
fn announces_a_navigation_of_a_dormant_tab_as_a_live_tab_would() {
    let (mut script, page, before) = initialized_page();
    let url = "https://site/next";
    for (event, params) in [
        (
            "tabUpdated",
            json!({ "tabId": 1, "status": "loading", "url": url }),
        ),
        (
            "tabNavigated",
            json!({ "tabId": 1, "url": url, "sameDocument": false }),
        ),
        ("tabUpdated", json!({ "tabId": 1, "status": "interactive" })),
        ("tabUpdated", json!({ "tabId": 1, "status": "complete" })),
    ] {
        script.extension_event(event, params);
    }
    let received = script.received(&page);
    assert_eq!(
        received.methods()[..4],
        [
            "Runtime.executionContextsCleared",
            "Page.frameNavigated",
            "Runtime.executionContextCreated",
            "Runtime.executionContextCreated"
        ]
    );
    assert_eq!(received.event("Page.frameNavigated")["frame"]["url"], url);
    for context in received.contexts() {
        let mut old = before.contexts().into_iter();
        assert!(old.all(|old| old["id"] != context["id"]), "{context}");
    }
    let mut lifecycle = received.events("Page.lifecycleEvent");
    assert!(lifecycle.any(|params| params["name"] == "load"));
    assert!(script.calls().is_empty());
}

#[test]
fn announces_a_same_document_navigation_as_such() {
    let (mut script, page, _) = initialized_page();
    let url = "https://site/1#there";
    for (event, params) in [
        (
            "tabUpdated",
            json!({ "tabId": 1, "status": "loading", "url": url }),
        ),
        (
            "tabNavigated",
            json!({ "tabId": 1, "url": url, "sameDocument": true }),
        ),
        ("tabUpdated", json!({ "tabId": 1, "status": "complete" })),
    ] {
        script.extension_event(event, params);
    }
    let received = script.received(&page);
    assert_eq!(received.len(), 1, "{received:?}");
    let navigated = received.event("Page.navigatedWithinDocument");
    assert_eq!(navigated["url"], url);
}

#[test]
fn tab_that_loses_its_debugger_wakes_in_the_same_state() {
    let (mut script, page, _) = initialized_page();
    script.make_live(&page);
    let in_flight = script.send(&page, "Page.navigate", json!({}));
    script.detach_debugger(1, "replaced_with_devtools");
    let received = script.received(&page);
    assert_eq!(received[0]["id"], in_flight);
    assert!(received.error(in_flight).contains("outcome is unknown"));
    assert_eq!(received.contexts().len(), 2);
    script.calls();
    script.send(&page, "Runtime.evaluate", json!({}));
    let replayed = script.finish_waking();
    for method in [
        "Page.enable",
        "Runtime.enable",
        "Network.enable",
        "Page.addScriptToEvaluateOnNewDocument",
    ] {
        assert!(replayed.iter().any(|m| m == method), "{method}");
    }
}

#[test]
fn reports_the_load_of_a_page_that_lost_its_debugger_while_loading() {
    let (mut script, page, _) = initialized_page();
    script.make_live(&page);
    for (status, has_loaded) in [("loading", false), ("complete", true)] {
        script.extension_event("tabUpdated", json!({ "tabId": 1, "status": status }));
        script.detach_debugger(1, "target_closed");
        let received = script.received(&page);
        let mut lifecycle = received.events("Page.lifecycleEvent");
        let loaded = lifecycle.any(|params| params["name"] == "load");
        assert_eq!(loaded, has_loaded, "{status}");
    }
}

#[test]
fn replaced_tab_is_a_new_target() {
    let mut script = Script::with_tabs(1);
    let (client, _) = script.auto_attached_client();
    let mut replaced = tab(2);
    replaced["removedTabId"] = 1.into();
    script.extension_event("tabReplaced", replaced);
    let received = script.received(client);
    assert_eq!(received[0]["method"], "Target.detachedFromTarget");
    assert_eq!(received[1]["params"]["targetInfo"]["targetId"], "T2");
}
