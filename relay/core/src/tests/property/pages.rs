//! A tab of the fake browser: its frames, execution contexts, child targets and paused requests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::browser::PRERENDERED;
use crate::tests::script::{child_target, execution_context};

/// A debugger event.
#[derive(Debug)]
pub struct Event {
    pub method: &'static str,
    pub params: Value,
    /// The child target that it is from.
    pub child: Option<String>,
}

impl Event {
    pub fn of_page(method: &'static str, params: Value) -> Self {
        let child = None;
        Self {
            method,
            params,
            child,
        }
    }

    /// The parameters of `cdpEvent`.
    pub fn params_in(&self, tab: i64) -> Value {
        let mut params = json!({ "tabId": tab, "method": self.method, "params": self.params });
        if let Some(child) = &self.child {
            params["childSessionId"] = child.as_str().into();
        }
        params
    }
}

#[derive(Default)]
pub struct FakeTab {
    pub attached: bool,
    /// The domains that are enabled, of those that matter here.
    enabled: BTreeSet<&'static str>,
    contexts: BTreeSet<i64>,
    frames: BTreeSet<String>,
    /// Child targets, each with its parent.
    children: BTreeMap<String, Option<String>>,
    /// The requests that Chrome has paused.
    paused: BTreeSet<String>,
    /// The renderer has crashed, and no document was loaded since.
    is_crashed: bool,
    /// Which prerendered page has replaced the first one.
    prerendered: Option<usize>,
}

impl FakeTab {
    fn main_frame(&self, tab: i64) -> String {
        self.prerendered
            .map_or_else(|| format!("T{tab}"), |n| format!("{PRERENDERED}{tab}-{n}"))
    }

    /// A prerendered page takes the place of this one, which happens only while no debugger is
    /// attached.
    pub fn activate_prerendered(&mut self, n: usize) {
        if !self.attached {
            self.prerendered = Some(n);
        }
    }

    pub fn detach(&mut self) {
        self.attached = false;
        self.enabled.clear();
        self.children.clear();
        self.paused.clear();
        self.is_crashed = false;
    }

    pub fn has_child(&self, child: &str) -> bool {
        self.children.contains_key(child)
    }

    pub fn frame_tree(&self, tab: i64) -> Value {
        let main = self.main_frame(tab);
        let child = |id| json!({ "frame": { "id": id, "parentId": main, "url": "x" } });
        let children: Vec<_> = self.frames.iter().map(child).collect();
        json!({ "frame": { "id": main }, "childFrames": children })
    }

    /// Enables `Runtime`, which reports all contexts. The extension makes Chrome report them again
    /// if it was enabled.
    pub fn enable_runtime(&mut self, tab: i64) -> Vec<Event> {
        let main = self.main_frame(tab);
        let cleared = Event::of_page("Runtime.executionContextsCleared", json!({}));
        let was_enabled = !self.enabled.insert("Runtime");
        let contexts = self.contexts.iter().map(|id| created(&main, *id));
        was_enabled
            .then_some(cleared)
            .into_iter()
            .chain(contexts)
            .collect()
    }

    pub fn disable_runtime(&mut self) {
        self.enabled.remove("Runtime");
    }

    pub fn enable_fetch(&mut self) {
        self.enabled.insert("Fetch");
    }

    /// Continues every paused request.
    pub fn disable_fetch(&mut self) {
        self.enabled.remove("Fetch");
        self.paused.clear();
    }

    /// Returns whether the request was paused.
    pub fn continue_request(&mut self, request: &str) -> bool {
        self.paused.remove(request)
    }

    pub fn has_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// A debugger event of this kind if it can happen now. `serial` is different for each event.
    pub fn event(&mut self, tab: i64, kind: usize, number: usize, serial: u64) -> Option<Event> {
        match kind {
            12..=16 => Some(self.page_event(tab, kind, number)),
            // Nothing else happens in it.
            _ if self.is_crashed => None,
            0..=3 | 8 if self.enabled.contains("Runtime") => {
                self.context_event(tab, kind, number, serial)
            }
            4 | 5 => self.frame_event(tab, kind, number),
            6 | 7 | 9 | 10 => self.child_event(tab, kind, number, serial),
            11 if self.enabled.contains("Fetch") => Some(self.pause_request(serial)),
            _ => None,
        }
    }

    fn context_event(
        &mut self,
        tab: i64,
        kind: usize,
        number: usize,
        serial: u64,
    ) -> Option<Event> {
        let id = i64::try_from(number).unwrap() + 1;
        match kind {
            0 | 1 if self.contexts.insert(id) => Some(created(&self.main_frame(tab), id)),
            2 if self.contexts.remove(&id) => {
                let params = json!({ "executionContextId": id, "executionContextUniqueId": format!("u{id}") });
                Some(Event::of_page("Runtime.executionContextDestroyed", params))
            }
            3 => {
                self.contexts.clear();
                Some(Event::of_page(
                    "Runtime.executionContextsCleared",
                    json!({}),
                ))
            }
            8 if self.contexts.contains(&id) => {
                let params = json!({ "executionContextId": id, "args": [], "serial": serial });
                Some(Event::of_page("Runtime.consoleAPICalled", params))
            }
            _ => None,
        }
    }

    fn frame_event(&mut self, tab: i64, kind: usize, number: usize) -> Option<Event> {
        let frame = format!("F{tab}-{number}");
        match kind {
            4 if self.frames.insert(frame.clone()) => {
                let params = json!({ "frameId": frame, "parentFrameId": self.main_frame(tab) });
                Some(Event::of_page("Page.frameAttached", params))
            }
            5 if self.frames.remove(&frame) => {
                let params = json!({ "frameId": frame, "reason": "remove" });
                Some(Event::of_page("Page.frameDetached", params))
            }
            _ => None,
        }
    }

    fn child_event(&mut self, tab: i64, kind: usize, number: usize, serial: u64) -> Option<Event> {
        let child = format!("C{tab}-{number}");
        match kind {
            6 if !self.has_child(&child) => Some(self.attach_child(child, None, "iframe")),
            7 if self.has_child(&child) => Some(self.detach_child(&child)),
            9 if self.has_child(&child) => Some(Event {
                method: "Network.dataReceived",
                params: json!({ "serial": serial }),
                child: Some(child),
            }),
            10 if self.has_child(&child) => {
                let worker = format!("W{tab}-{number}");
                let is_new = !self.has_child(&worker);
                is_new.then(|| self.attach_child(worker, Some(child), "worker"))
            }
            _ => None,
        }
    }

    fn attach_child(&mut self, child: String, parent: Option<String>, kind: &str) -> Event {
        let params = child_target(&child, kind, true);
        self.children.insert(child, parent.clone());
        Event {
            method: "Target.attachedToTarget",
            params,
            child: parent,
        }
    }

    /// Its own children disappear with it.
    fn detach_child(&mut self, child: &str) -> Event {
        self.children.remove(child);
        self.children
            .retain(|_, parent| parent.as_deref() != Some(child));
        Event::of_page("Target.detachedFromTarget", json!({ "sessionId": child }))
    }

    fn pause_request(&mut self, serial: u64) -> Event {
        let id = format!("request-{serial}");
        self.paused.insert(id.clone());
        let request = json!({ "url": "https://x/", "method": "GET", "headers": {} });
        let params =
            json!({ "requestId": id, "request": request, "frameId": "F", "resourceType": "Fetch" });
        Event::of_page("Fetch.requestPaused", params)
    }

    fn page_event(&mut self, tab: i64, kind: usize, number: usize) -> Event {
        let main = self.main_frame(tab);
        self.is_crashed = kind == 14 || self.is_crashed && kind != 16;
        let frame = json!({ "id": main, "loaderId": format!("L{number}"), "url": "https://x" });
        let (method, params) = match kind {
            12 => ("Page.javascriptDialogOpening", json!({ "type": "alert" })),
            13 => ("Page.javascriptDialogClosed", json!({ "result": true })),
            14 => ("Inspector.targetCrashed", json!({})),
            15 => ("Inspector.targetReloadedAfterCrash", json!({})),
            _ => (
                "Page.frameNavigated",
                json!({ "frame": frame, "type": "Navigation" }),
            ),
        };
        Event::of_page(method, params)
    }
}

fn created(frame: &str, id: i64) -> Event {
    let world = if id % 2 == 0 { "" } else { "utility" };
    let params = execution_context(id, frame, world);
    Event::of_page("Runtime.executionContextCreated", params)
}
