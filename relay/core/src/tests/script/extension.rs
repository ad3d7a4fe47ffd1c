//! The browser side of a script: the extension's connection, its replies, and the events it
//! reports.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Call, Calls, Script, Session, browser, execution_context, main_frame};
use crate::Input;

impl Script {
    // ---- the connection ----

    /// Connects an extension that lists these tabs.
    pub fn connect_browser(&mut self, tabs: Vec<Value>) {
        self.connect_browser_of("a", tabs);
    }

    /// As `connect_browser`, for the browser with this installation id.
    pub fn connect_browser_of(&mut self, install_id: &str, tabs: Vec<Value>) {
        self.open_extension_of(install_id);
        let call = self.next_call("listTabs");
        self.reply(&call, json!({ "tabs": tabs }));
    }

    /// Opens the connection of an extension that has proven who it is. It sends nothing yet.
    pub fn open_extension(&mut self) {
        self.open_extension_of("a");
    }

    /// As `open_extension`, for the browser with this installation id.
    pub fn open_extension_of(&mut self, install_id: &str) {
        let browser = browser();
        let launch_timeout = self.core.config.launch_timeout;
        self.input(Input::ExtensionOpened {
            install_id,
            browser,
            launch_timeout,
        });
    }

    pub fn disconnect_extension(&mut self) {
        self.input(Input::ExtensionClosed);
    }

    pub fn stop_relay(&mut self) {
        self.input(Input::Stopping);
    }

    pub fn extension_text(&mut self, text: &str) {
        self.input(Input::ExtensionText(text));
    }

    /// Lets seconds pass while the extension answers its pings. Returns the other calls it receives
    /// meanwhile.
    pub fn elapse(&mut self, seconds: u64) -> Calls {
        let mut calls = Vec::new();
        for _ in 0..seconds {
            self.advance(Duration::from_secs(1));
            self.extension_event("pong", json!({}));
            calls.extend(self.calls());
        }
        calls.retain(|call| call.name() != "ping");
        calls.into_iter().collect()
    }

    // ---- calls and replies ----

    /// Takes every call the extension has received since the last call of this method.
    pub fn calls(&mut self) -> Calls {
        self.to_extension.drain(..).collect()
    }

    /// Takes the next call, which must be this one.
    #[track_caller]
    pub fn next_call(&mut self, name: &str) -> Call {
        let call = self
            .to_extension
            .pop_front()
            .unwrap_or_else(|| panic!("the extension did not receive {name}"));
        assert_eq!(call.name(), name, "{call:?}");
        call
    }

    /// Takes the next call, which must be this CDP command.
    #[track_caller]
    pub fn next_command(&mut self, method: &str) -> Call {
        let call = self.next_call("cdpCommand");
        assert_eq!(call.command(), method, "{call:?}");
        call
    }

    /// Takes the next call, which must be this CDP command, without a debugger.
    #[track_caller]
    pub fn next_browser_command(&mut self, method: &str) -> Call {
        let call = self.next_call("browserCommand");
        assert_eq!(call.command(), method, "{call:?}");
        call
    }

    pub fn reply(&mut self, call: &Call, result: Value) {
        self.extension_text(&json!({ "id": call.id(), "result": result }).to_string());
    }

    pub fn reply_error(&mut self, call: &Call, error: Value) {
        self.extension_text(&json!({ "id": call.id(), "error": error }).to_string());
    }

    /// Answers every call received up to now with an empty result.
    pub fn answer_calls(&mut self) {
        for call in self.calls() {
            self.reply(&call, json!({}));
        }
    }

    /// As `answer_calls`, but answers `Page.getFrameTree` with this tree.
    pub fn answer_calls_with_tree(&mut self, tree: &Value) {
        for call in self.calls() {
            self.reply_with_tree(&call, tree);
        }
    }

    /// As `answer_calls_with_tree`, and goes on until the relay sends no more calls. Returns the
    /// answered calls.
    pub fn answer_all_with_tree(&mut self, tree: &Value) -> Calls {
        let mut answered = Vec::new();
        while let Some(call) = self.to_extension.pop_front() {
            self.reply_with_tree(&call, tree);
            answered.push(call);
        }
        answered.into_iter().collect()
    }

    fn reply_with_tree(&mut self, call: &Call, tree: &Value) {
        match call.command() {
            "Page.getFrameTree" => self.reply(call, json!({ "frameTree": tree })),
            _ => self.reply(call, json!({})),
        }
    }

    // ---- waking tabs ----

    /// Attaches the debugger, as the relay's next call requests.
    #[track_caller]
    pub fn accept_attach(&mut self) {
        let attach = self.next_call("attachTab");
        self.reply(&attach, json!({}));
    }

    /// Sends a command that wakes the page, and attaches the debugger. Returns the id of the
    /// request.
    #[track_caller]
    pub fn start_waking(&mut self, page: &Session) -> i64 {
        let id = self.send(page, "Runtime.evaluate", json!({}));
        self.accept_attach();
        id
    }

    /// Answers every call of a wake, from `attachTab` until the tab is live. Returns the CDP
    /// methods it received.
    #[track_caller]
    pub fn finish_waking(&mut self) -> Vec<String> {
        let tab = self.to_extension.front().map_or(0, Call::tab);
        self.finish_waking_with_tree(&main_frame(tab))
    }

    /// As `finish_waking`, for a page with this frame tree.
    #[track_caller]
    pub fn finish_waking_with_tree(&mut self, tree: &Value) -> Vec<String> {
        let attach = self.next_call("attachTab");
        self.reply(&attach, json!({}));
        let mut commands = Vec::new();
        while !self.is_live(attach.tab()) {
            let calls = self.calls();
            assert!(!calls.is_empty(), "the tab never becomes live");
            for call in calls {
                let result = match call.command() {
                    "Page.getFrameTree" => json!({ "frameTree": tree }),
                    "Page.addScriptToEvaluateOnNewDocument" => json!({ "identifier": "real-1" }),
                    "Page.createIsolatedWorld" => json!({ "executionContextId": 99 }),
                    _ => json!({}),
                };
                self.reply(&call, result);
                commands.push(call.command().to_owned());
            }
        }
        commands
    }

    /// Wakes the page by evaluating in it, and answers the evaluation too.
    #[track_caller]
    pub fn make_live(&mut self, page: &Session) {
        self.send(page, "Runtime.evaluate", json!({ "expression": "1" }));
        self.finish_waking();
        let call = self.next_command("Runtime.evaluate");
        self.reply(&call, json!({ "result": {} }));
        self.received(page);
    }

    /// Evaluates in a live page, so that its client uses the tab.
    #[track_caller]
    pub fn use_live(&mut self, page: &Session) {
        self.send(page, "Runtime.evaluate", json!({ "expression": "1" }));
        let calls = self.calls();
        let call = calls.command("Runtime.evaluate");
        self.reply(call, json!({ "result": {} }));
        self.received(page);
    }

    // ---- events ----

    pub fn extension_event(&mut self, method: &str, params: Value) {
        self.extension_text(&json!({ "method": method, "params": params }).to_string());
    }

    /// The debugger is detached from this tab.
    pub fn detach_debugger(&mut self, tab: i64, reason: &str) {
        self.extension_event("tabDetached", json!({ "tabId": tab, "reason": reason }));
    }

    pub fn cdp_event(&mut self, tab: i64, method: &str, params: Value) {
        let params = json!({ "tabId": tab, "method": method, "params": params });
        self.extension_event("cdpEvent", params);
    }

    /// A debugger event of a child target of this tab.
    pub fn child_event(&mut self, tab: i64, child: &str, method: &str, params: Value) {
        let params =
            json!({ "tabId": tab, "method": method, "params": params, "childSessionId": child });
        self.extension_event("cdpEvent", params);
    }

    /// Chrome creates an execution context in tab 1. The main world is called "".
    pub fn create_context(&mut self, id: i64, frame: &str, world: &str) {
        let params = execution_context(id, frame, world);
        self.cdp_event(1, "Runtime.executionContextCreated", params);
    }

    pub fn open_dialog(&mut self, tab: i64) {
        self.cdp_event(
            tab,
            "Page.javascriptDialogOpening",
            json!({ "type": "alert" }),
        );
    }
}
