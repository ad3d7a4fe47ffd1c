//! A browser as Chrome behaves: it rejects commands to a tab without the debugger, and it reports
//! execution contexts only while `Runtime` is enabled.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::tests::script::{Call, attached_tab, child_target, execution_context, tab};

/// Prefix of the frame ids of prerendered pages, which only Chrome uses. Clients must never receive
/// one.
pub const PRERENDERED: &str = "prerendered-";

/// A debugger event: its CDP method and parameters.
pub type Event = (&'static str, Value);

#[derive(Default)]
pub struct Browser {
    tabs: BTreeMap<i64, FakeTab>,
    last_tab: i64,
    /// How many rules for permissions of sites there are, and the call that has set them.
    permissions: (u64, usize),
    is_paused: bool,
}

#[derive(Default)]
struct FakeTab {
    attached: bool,
    runtime_enabled: bool,
    contexts: BTreeSet<i64>,
    frames: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Which prerendered page has replaced the first one.
    prerendered: Option<usize>,
}

impl FakeTab {
    fn main_frame(&self, tab: i64) -> String {
        self.prerendered
            .map_or_else(|| format!("T{tab}"), |n| format!("{PRERENDERED}{tab}-{n}"))
    }

    fn detach(&mut self) {
        self.attached = false;
        self.runtime_enabled = false;
        self.children.clear();
    }

    fn frame_tree(&self, tab: i64) -> Value {
        let main = self.main_frame(tab);
        let child = |id| json!({ "frame": { "id": id, "parentId": main, "url": "x" } });
        let children: Vec<_> = self.frames.iter().map(child).collect();
        json!({ "frame": { "id": main }, "childFrames": children })
    }

    /// Enables `Runtime`, which reports all contexts. The extension makes Chrome report them again
    /// if it was enabled.
    fn enable_runtime(&mut self, tab: i64) -> Vec<Event> {
        let main = self.main_frame(tab);
        let cleared = ("Runtime.executionContextsCleared", json!({}));
        let was_enabled = std::mem::replace(&mut self.runtime_enabled, true);
        let contexts = self.contexts.iter().map(|id| created(&main, *id));
        was_enabled
            .then_some(cleared)
            .into_iter()
            .chain(contexts)
            .collect()
    }
}

fn created(frame: &str, id: i64) -> Event {
    let world = if id % 2 == 0 { "" } else { "utility" };
    let params = execution_context(id, frame, world);
    ("Runtime.executionContextCreated", params)
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

    /// A prerendered page replaces the one in this tab, which happens only while no debugger is
    /// attached.
    pub fn activate_prerendered(&mut self, tab: i64, n: usize) {
        if let Some(tab) = self.tabs.get_mut(&tab).filter(|tab| !tab.attached) {
            tab.prerendered = Some(n);
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
        let mut events = Vec::new();
        let mut result = json!({});
        match call.command() {
            "Runtime.enable" if call.child().is_none() => events = tab.enable_runtime(call.tab()),
            "Runtime.disable" if call.child().is_none() => tab.runtime_enabled = false,
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
        let event = match kind {
            0..=3 | 8 if tab.runtime_enabled => tab.context_event(id, kind, number),
            4 | 5 => tab.frame_event(id, kind, number),
            6 | 7 => tab.child_event(id, kind, number),
            _ => None,
        };
        Some(event.unwrap_or_else(|| ("Network.dataReceived", json!({}))))
    }
}

impl FakeTab {
    fn context_event(&mut self, tab: i64, kind: usize, number: usize) -> Option<Event> {
        let id = i64::try_from(number).unwrap() + 1;
        match kind {
            0 | 1 if self.contexts.insert(id) => Some(created(&self.main_frame(tab), id)),
            2 if self.contexts.remove(&id) => {
                let params = json!({ "executionContextId": id, "executionContextUniqueId": format!("u{id}") });
                Some(("Runtime.executionContextDestroyed", params))
            }
            3 => {
                self.contexts.clear();
                Some(("Runtime.executionContextsCleared", json!({})))
            }
            8 if self.contexts.contains(&id) => {
                let params = json!({ "executionContextId": id, "args": [] });
                Some(("Runtime.consoleAPICalled", params))
            }
            _ => None,
        }
    }

    fn frame_event(&mut self, tab: i64, kind: usize, number: usize) -> Option<Event> {
        let frame = format!("F{tab}-{number}");
        match kind {
            4 if self.frames.insert(frame.clone()) => {
                let params = json!({ "frameId": frame, "parentFrameId": self.main_frame(tab) });
                Some(("Page.frameAttached", params))
            }
            5 if self.frames.remove(&frame) => {
                let params = json!({ "frameId": frame, "reason": "remove" });
                Some(("Page.frameDetached", params))
            }
            _ => None,
        }
    }

    fn child_event(&mut self, tab: i64, kind: usize, number: usize) -> Option<Event> {
        let child = format!("C{tab}-{number}");
        match kind {
            6 if self.children.insert(child.clone()) => {
                let params = child_target(&child, "iframe", true);
                Some(("Target.attachedToTarget", params))
            }
            7 if self.children.remove(&child) => {
                let params = json!({ "sessionId": child });
                Some(("Target.detachedFromTarget", params))
            }
            _ => None,
        }
    }
}
