//! What the user, the pages, the extension's connection and the clock do in a simulation.

use std::time::Duration;

use serde_json::json;

use super::simulation::Simulation;
use super::steps::Step;
use crate::Placed;

impl Simulation {
    pub(super) fn apply_user_step(&mut self, step: Step) {
        match step {
            Step::CreateTab(n) => self.create_tab(n),
            Step::NavigateTab(n) => self.navigate_tab(n),
            Step::RestrictTab(n) => self.restrict_tab(n),
            Step::RemoveTab(n) => self.remove_tab(n),
            Step::ReplaceTab(n) => self.replace_tab(n),
            Step::DetachDebugger { tab, reason } => self.detach_debugger(tab, reason),
            Step::SetPaused(is_paused) => self.set_paused(is_paused),
            step => unreachable!("{step:?} is no step of the user"),
        }
    }

    fn create_tab(&mut self, opener: usize) {
        let mut report = self.browser.create_tab();
        report["openerTabId"] = opener.into();
        self.extension_event("tabCreated", report);
    }

    fn navigate_tab(&mut self, n: usize) {
        let tab = self.browser.tab(n);
        if n % 4 == 1 {
            self.browser.activate_prerendered(tab, n);
        }
        let url = format!("https://site/{n}");
        let mut loading = json!({ "tabId": tab, "status": "loading", "url": url });
        loading["restricted"] = false.into();
        self.extension_event("tabUpdated", loading);
        let navigated = json!({ "tabId": tab, "url": url, "sameDocument": n.is_multiple_of(3) });
        self.extension_event("tabNavigated", navigated);
        let mut complete = json!({ "tabId": tab, "status": "complete", "title": format!("t{n}") });
        if n % 2 == 1 {
            complete["frames"] = json!([{ "targetId": format!("target-C{tab}-1"), "url": url }]);
        }
        self.extension_event("tabUpdated", complete);
    }

    fn restrict_tab(&mut self, n: usize) {
        let tab = self.browser.tab(n);
        // Chrome detaches the debugger, except from some pages.
        if n.is_multiple_of(2) && self.browser.detach(tab) {
            let params = json!({ "tabId": tab, "reason": "target_closed" });
            self.extension_event("tabDetached", params);
        }
        let params = json!({ "tabId": tab, "url": format!("chrome://{n}/"), "restricted": true });
        self.extension_event("tabUpdated", params);
    }

    fn remove_tab(&mut self, n: usize) {
        let tab = self.browser.tab(n);
        self.browser.remove_tab(tab);
        self.extension_event("tabRemoved", json!({ "tabId": tab }));
    }

    fn replace_tab(&mut self, n: usize) {
        let removed = self.browser.tab(n);
        self.browser.remove_tab(removed);
        let mut report = self.browser.create_tab();
        report["removedTabId"] = removed.into();
        self.extension_event("tabReplaced", report);
    }

    fn detach_debugger(&mut self, n: usize, reason: usize) {
        let reason = match reason {
            0 => "canceled_by_user",
            1 => "released",
            2 => "target_closed",
            _ => "replaced_with_devtools",
        };
        let tab = self.browser.tab(n);
        if self.browser.detach(tab) {
            let params = json!({ "tabId": tab, "reason": reason });
            self.extension_event("tabDetached", params);
        }
    }

    fn set_paused(&mut self, is_paused: bool) {
        self.browser.set_paused(is_paused);
        let method = if is_paused { "pause" } else { "resume" };
        self.extension_event(method, json!({}));
    }

    // ---- pages ----

    pub(super) fn debugger_event(&mut self, tab: usize, kind: usize, number: usize) {
        if !self.extension_connected {
            return;
        }
        let tab = self.browser.tab(tab);
        if let Some(event) = self.browser.debugger_event(tab, kind, number) {
            self.cdp_event(tab, &event);
        }
    }

    pub(super) fn burst(&mut self, tab: usize, count: usize) {
        if !self.extension_connected {
            return;
        }
        let tab = self.browser.tab(tab);
        let events = (0..count).filter_map(|n| self.browser.debugger_event(tab, 8, n % 3));
        let message = |event: super::pages::Event| json!({ "method": "cdpEvent", "params": event.params_in(tab) });
        let frame: Vec<_> = events.map(message).collect();
        self.script.extension_text(&json!(frame).to_string());
        self.process_output();
    }

    pub(super) fn download(&mut self, tab: usize, kind: usize, number: usize) {
        let (guid, tab) = (format!("download-{number}"), self.browser.tab(tab));
        let state = match kind {
            0 | 1 => {
                let params = json!({ "guid": guid, "tabId": tab, "url": "https://x" });
                return self.extension_event("downloadCreated", params);
            }
            2 => "inProgress",
            3 => "completed",
            _ => "canceled",
        };
        let params = json!({ "guid": guid, "state": state, "path": "/downloads/Tabwire/x" });
        self.extension_event("downloadChanged", params);
        if number == 0 {
            self.place_files();
        }
    }

    /// Every second file cannot be placed.
    fn place_files(&mut self) {
        for placement in self.script.placements() {
            let outcome = |n: usize| match n % 2 {
                0 => Ok("/files/x".to_owned()),
                _ => Err("full".to_owned()),
            };
            self.script.place_files(Placed {
                guid: placement.guid,
                files: (0..placement.places.len()).map(outcome).collect(),
                is_source_kept: false,
            });
            self.process_output();
        }
    }

    // ---- the extension's connection ----

    pub(super) fn connect_extension(&mut self, attached: bool) {
        if self.extension_connected {
            return;
        }
        if !attached {
            self.browser.detach_all();
        }
        self.open_extension("a");
    }

    /// The calls of the old connection are lost with it.
    pub(super) fn replace_extension(&mut self) {
        self.calls.clear();
        self.open_extension("a");
    }

    pub(super) fn connect_other_browser(&mut self) {
        self.calls.clear();
        self.browser = self.browser.other();
        self.open_extension("b");
    }

    fn open_extension(&mut self, install_id: &str) {
        self.extension_connected = true;
        self.script.open_extension_of(install_id);
        self.process_output();
        let list = self.calls.pop().expect("the relay asks for the tabs");
        assert_eq!(list.name(), "listTabs", "{list:?}");
        self.script.reply(&list, self.browser.report());
        self.process_output();
    }

    pub(super) fn lose_extension(&mut self, executed: usize) {
        if !self.extension_connected {
            return;
        }
        for call in self.calls.drain(..).take(executed) {
            self.browser.execute(&call);
        }
        self.extension_connected = false;
        self.script.disconnect_extension();
        self.process_output();
    }

    pub(super) fn fail_launch(&mut self) {
        self.script.fail_launch("no display");
        self.process_output();
    }

    pub(super) fn send_garbage(&mut self, n: usize) {
        let texts = [
            "",
            "{",
            "null",
            "[]",
            r#"{"id":"x"}"#,
            r#"{"method":"Page.enable"}"#,
        ];
        if let (Some(client), Some(text)) = (self.clients.client(n), texts.get(n)) {
            self.script.send_text(client, text);
            self.process_output();
        }
        if self.extension_connected {
            for text in [
                r#"{"id":999999,"result":{}}"#,
                r#"[null,{"id":[]}]"#,
                "nonsense",
            ] {
                self.script.extension_text(text);
                self.process_output();
            }
        }
    }

    // ---- time ----

    /// Lets time pass while the extension, if connected, answers its pings.
    pub(super) fn wait(&mut self, by: Duration) {
        let end = self.script.now() + by;
        while self.script.advance_to_timeout(end) {
            self.process_output();
            self.extension_event("pong", json!({}));
        }
        self.script.advance_to(end);
    }

    /// Lets time pass while the extension, if connected, does nothing.
    pub(super) fn freeze(&mut self, by: Duration) {
        let end = self.script.now() + by;
        while self.script.advance_to_timeout(end) {
            self.process_output();
        }
        self.script.advance_to(end);
    }
}
