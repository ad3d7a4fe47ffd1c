//! A browser as Chrome behaves: it rejects commands to a tab without the debugger, and it reports
//! execution contexts only while `Runtime` is enabled.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::history::marker;
use super::pages::{Event, FakeTab};
use crate::tests::script::{Call, attached_tab, tab};

/// Prefix of the frame ids of prerendered pages, which only Chrome uses. Clients must never receive
/// one.
pub const PRERENDERED: &str = "prerendered-";

pub struct Browser {
    tabs: BTreeMap<i64, FakeTab>,
    last_tab: i64,
    /// How many rules for permissions of sites there are, and the call that has set them.
    permissions: (u64, usize),
    is_paused: bool,
    /// The number of the last event or result, which shows their order.
    serial: u64,
}

/// The report of a tab with two cross-process frames, which Chrome may or may not attach later.
fn tab_with_frames(id: i64) -> Value {
    let frame = |n| json!({ "targetId": format!("target-C{id}-{n}"), "url": "https://x" });
    let mut report = tab(id);
    report["frames"] = json!([frame(0), frame(1)]);
    report
}

impl Browser {
    /// A browser with tabs 1 to `count`.
    pub fn with_tabs(count: i64) -> Self {
        Self {
            tabs: (1..=count).map(|id| (id, FakeTab::default())).collect(),
            last_tab: count,
            permissions: (0, 0),
            is_paused: false,
            serial: 0,
        }
    }

    /// Another browser, which uses the same tab ids.
    pub fn other(&self) -> Self {
        Self {
            serial: self.serial,
            ..Self::with_tabs(2)
        }
    }

    /// Selects a tab by number. Tab 0 does not exist.
    pub fn tab(&self, n: usize) -> i64 {
        let mut tabs = self.tabs.keys();
        tabs.nth(n % tabs.len().max(1)).copied().unwrap_or_default()
    }

    pub fn attached_tabs(&self) -> Vec<i64> {
        let attached = self.tabs.iter().filter(|(_, tab)| tab.attached);
        attached.map(|(id, _)| *id).collect()
    }

    pub fn has_permissions(&self) -> bool {
        self.permissions.1 > 0
    }

    /// Whether a page waits for an answer to a request that it has paused.
    pub fn has_paused_requests(&self) -> bool {
        self.tabs.values().any(FakeTab::has_paused)
    }

    /// The reply to `listTabs`.
    pub fn report(&self) -> Value {
        json!({
            "tabs": self.report_tabs(), "hasPermissions": self.has_permissions(),
            "paused": self.is_paused,
        })
    }

    fn report_tabs(&self) -> Vec<Value> {
        let report = |(id, fake): (&i64, &FakeTab)| {
            let mut report = tab_with_frames(*id);
            report["attached"] = fake.attached.into();
            report
        };
        self.tabs.iter().map(report).collect()
    }

    // ---- what the user does ----

    /// Returns the report of the new tab.
    pub fn create_tab(&mut self) -> Value {
        self.last_tab += 1;
        self.tabs.insert(self.last_tab, FakeTab::default());
        tab_with_frames(self.last_tab)
    }

    pub fn remove_tab(&mut self, tab: i64) {
        self.tabs.remove(&tab);
    }

    pub fn activate_prerendered(&mut self, tab: i64, n: usize) {
        if let Some(tab) = self.tabs.get_mut(&tab) {
            tab.activate_prerendered(n);
        }
    }

    /// Detaches the debugger and returns whether it was attached.
    pub fn detach(&mut self, tab: i64) -> bool {
        self.tabs.get_mut(&tab).is_some_and(|tab| {
            let was_attached = tab.attached;
            tab.detach();
            was_attached
        })
    }

    pub fn detach_all(&mut self) {
        self.tabs.values_mut().for_each(FakeTab::detach);
    }

    /// The person stops all clients, which detaches the debugger, or lets them go on.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        if is_paused {
            self.detach_all();
        }
    }

    // ---- what the relay calls ----

    /// Executes a call. Returns the debugger events that precede the reply, and the result, or
    /// nothing if it fails.
    pub fn execute(&mut self, call: &Call) -> Option<(Vec<Event>, Value)> {
        let mut result = json!({});
        match call.name() {
            "attachTab" | "createTab" | "closeTab" | "cdpCommand" if self.is_paused => return None,
            "attachTab" => self.tabs.get_mut(&call.tab())?.attached = true,
            "detachTab" => {
                self.detach(call.tab());
            }
            "createTab" => {
                self.create_tab();
                self.tabs.get_mut(&self.last_tab)?.attached = true;
                result = attached_tab(self.last_tab);
            }
            "closeTab" => self.remove_tab(call.tab()),
            // The extension carries these out in their order, whenever it replies.
            "setPermissions" => {
                let count = call.params()["rules"].as_array()?.len();
                self.permissions = self.permissions.max((call.id().as_u64()?, count));
            }
            "cdpCommand" => return self.execute_command(call),
            _ => {}
        }
        Some((Vec::new(), result))
    }

    fn execute_command(&mut self, call: &Call) -> Option<(Vec<Event>, Value)> {
        let tab = self.tabs.get_mut(&call.tab()).filter(|tab| tab.attached)?;
        if call.child().is_some_and(|child| !tab.has_child(child)) {
            return None;
        }
        self.serial += 1;
        let mut result = json!({ "serial": self.serial, "marker": marker(call) });
        if call.child().is_some() {
            return Some((Vec::new(), result));
        }
        let mut events = Vec::new();
        match call.command() {
            "Runtime.enable" => events = tab.enable_runtime(call.tab()),
            "Runtime.disable" => tab.disable_runtime(),
            "Fetch.enable" => tab.enable_fetch(),
            "Fetch.disable" => tab.disable_fetch(),
            "Fetch.continueRequest" | "Fetch.failRequest" => {
                let request = call.params()["requestId"].as_str()?;
                return tab.continue_request(request).then_some((events, result));
            }
            "Page.getFrameTree" => result = json!({ "frameTree": tab.frame_tree(call.tab()) }),
            "Page.addScriptToEvaluateOnNewDocument" => result = json!({ "identifier": "9" }),
            "Page.createIsolatedWorld" => result = json!({ "executionContextId": 77 }),
            _ => {}
        }
        Some((events, result))
    }

    // ---- what the page does ----

    /// A debugger event of this kind if it can happen now, else an unrelated one. None if no
    /// debugger is attached.
    pub fn debugger_event(&mut self, id: i64, kind: usize, number: usize) -> Option<Event> {
        let tab = self.tabs.get_mut(&id).filter(|tab| tab.attached)?;
        self.serial += 1;
        let event = tab.event(id, kind, number, self.serial);
        let unrelated = || Event::of_page("Network.dataReceived", json!({ "serial": self.serial }));
        Some(event.unwrap_or_else(unrelated))
    }
}
