//! Tabs that a client closes: the reply comes first, and the page cannot object.

use serde_json::json;

use super::script::{Call, ClientId, Script, Session};

/// A client that discovers targets and uses the only tab, which it is closing.
struct Closing {
    script: Script,
    client: ClientId,
    page: Session,
    id: i64,
    call: Call,
}

fn close_live_tab() -> Closing {
    let mut script = Script::with_tabs(1);
    let (client, mut pages) = script.auto_attached_client();
    let page = pages.remove(0);
    script.request(&page, "Page.enable", json!({}));
    script.make_live(&page);
    let discover = json!({ "discover": true });
    script.request(client, "Target.setDiscoverTargets", discover);
    script.received(client);
    let id = script.send(client, "Target.closeTarget", json!({ "targetId": "T1" }));
    script.next_command("Page.enable");
    let call = script.next_call("closeTab");
    Closing {
        script,
        client,
        page,
        id,
        call,
    }
}

impl Closing {
    /// Checks that the reply is the first message, and that the others follow.
    #[track_caller]
    fn assert_reply_first(mut self, events: &[&str]) {
        let received = self.script.received(self.client);
        assert_eq!(received[0]["id"], self.id, "{received:?}");
        assert_eq!(received.result(self.id), &json!({ "success": true }));
        assert_eq!(received.methods(), events);
    }
}

const END: [&str; 2] = ["Target.detachedFromTarget", "Target.targetDestroyed"];

#[test]
fn replies_before_the_tab_disappears() {
    let mut closing = close_live_tab();
    closing.script.reply(&closing.call, json!({}));
    closing.assert_reply_first(&END);
}

#[test]
fn replies_once_and_first_if_the_removal_is_reported_before_the_reply() {
    let mut closing = close_live_tab();
    closing
        .script
        .extension_event("tabRemoved", json!({ "tabId": 1 }));
    closing.script.reply(&closing.call, json!({}));
    closing.assert_reply_first(&END);
}

#[test]
fn replies_before_the_debugger_reports_its_end() {
    let mut closing = close_live_tab();
    let script = &mut closing.script;
    let reason = json!({ "reason": "target_closed" });
    script.cdp_event(1, "Inspector.detached", reason);
    script.detach_debugger(1, "target_closed");
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    script.reply(&closing.call, json!({}));
    closing.assert_reply_first(&["Inspector.detached", END[0], END[1]]);
}

#[test]
fn commands_in_flight_fail_after_the_reply() {
    let mut closing = close_live_tab();
    let script = &mut closing.script;
    let in_flight = script.send(&closing.page, "Runtime.evaluate", json!({}));
    script.extension_event("tabRemoved", json!({ "tabId": 1 }));
    let received = script.received(closing.client);
    assert_eq!(received.reply_ids(), [closing.id, in_flight]);
    assert_eq!(received.error(in_flight), "The tab was closed.");
}

#[test]
fn tab_is_gone_with_the_reply_if_its_removal_is_never_reported() {
    let mut closing = close_live_tab();
    let script = &mut closing.script;
    script.detach_debugger(1, "target_closed");
    assert!(script.received(closing.client).has_reply(closing.id));
    script.reply(&closing.call, json!({}));
    let targets = script.request(closing.client, "Target.getTargets", json!({}));
    assert_eq!(targets["targetInfos"], json!([]));
}

#[test]
fn reports_why_a_tab_cannot_be_closed() {
    let mut closing = close_live_tab();
    let reason = "Tabs cannot be edited right now";
    closing.script.reply_error(&closing.call, json!(reason));
    let received = closing.script.received(closing.client);
    assert_eq!(received.error(closing.id), reason);
    assert!(received.methods().is_empty());
}

#[test]
fn lets_a_page_go_that_asks_for_confirmation() {
    let mut closing = close_live_tab();
    let script = &mut closing.script;
    let dialog = json!({ "type": "beforeunload", "message": "" });
    script.cdp_event(1, "Page.javascriptDialogOpening", dialog);
    let handled = script.next_command("Page.handleJavaScriptDialog");
    assert_eq!(handled.params(), &json!({ "accept": true }));
    let closed = json!({ "result": true });
    script.cdp_event(1, "Page.javascriptDialogClosed", closed);
    assert!(script.received(closing.client).methods().is_empty());
}

#[test]
fn other_dialogs_of_a_closing_page_reach_its_clients() {
    let mut closing = close_live_tab();
    let script = &mut closing.script;
    script.open_dialog(1);
    script.cdp_event(1, "Page.javascriptDialogClosed", json!({}));
    let received = script.received(closing.client);
    let dialog = [
        "Page.javascriptDialogOpening",
        "Page.javascriptDialogClosed",
    ];
    assert_eq!(received.methods(), dialog);
}
