//! Random interleavings of clients, extension, debugger events, the person's actions and time. Whatever the order: every
//! request gets exactly one reply, nobody hears of what is not theirs or what they were not told of, and nothing stays.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::script::{playwright_init, tab};
use crate::ids::ClientId;
use crate::{Config, Core, Input, Now, Output};

/// One step; the numbers choose among what there is at that moment.
#[derive(Debug, Clone)]
enum Step {
    OpenClient,
    CloseClient(usize),
    Root {
        client: usize,
        command: usize,
        tab: usize,
    },
    OnSession {
        client: usize,
        session: usize,
        command: usize,
    },
    InitAll {
        client: usize,
        session: usize,
    },
    Reply {
        call: usize,
        fails: bool,
    },
    ReplyAll,
    TabCreated(usize),
    TabNavigated(usize),
    TabRemoved(usize),
    TabDetached {
        tab: usize,
        by_user: bool,
    },
    DebuggerEvent {
        tab: usize,
        kind: usize,
        number: usize,
    },
    ExtensionGoes,
    ExtensionComes {
        attached: bool,
    },
    Garbage(usize),
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0..6usize;
    prop_oneof![
        2 => Just(Step::OpenClient),
        1 => n.clone().prop_map(Step::CloseClient),
        6 => (n.clone(), 0..9usize, n.clone()).prop_map(|(client, command, tab)| Step::Root { client, command, tab }),
        14 => (n.clone(), n.clone(), 0..40usize).prop_map(|(client, session, command)| Step::OnSession { client, session, command }),
        4 => (n.clone(), n.clone()).prop_map(|(client, session)| Step::InitAll { client, session }),
        16 => (n.clone(), prop::bool::weighted(0.15)).prop_map(|(call, fails)| Step::Reply { call, fails }),
        4 => Just(Step::ReplyAll),
        2 => n.clone().prop_map(Step::TabCreated),
        3 => n.clone().prop_map(Step::TabNavigated),
        1 => n.clone().prop_map(Step::TabRemoved),
        2 => (n.clone(), any::<bool>()).prop_map(|(tab, by_user)| Step::TabDetached { tab, by_user }),
        12 => (n.clone(), 0..9usize, n.clone()).prop_map(|(tab, kind, number)| Step::DebuggerEvent { tab, kind, number }),
        1 => Just(Step::ExtensionGoes),
        2 => any::<bool>().prop_map(|attached| Step::ExtensionComes { attached }),
        1 => (0..6usize).prop_map(Step::Garbage),
        2 => (0..12u8).prop_map(Step::Wait),
    ]
}

/// What one client has been told of one session.
#[derive(Default)]
struct View {
    contexts: BTreeSet<i64>,
    frames: BTreeSet<String>,
}

#[derive(Default)]
struct Listener {
    /// Requests without a reply yet, with the session they were sent on, and their method.
    waiting: BTreeMap<i64, (Option<String>, String)>,
    sessions: BTreeMap<String, View>,
    /// Sessions that have ended; replies may still come under their name.
    ended: BTreeSet<String>,
    closed: bool,
}

/// A tab as Chrome keeps it: events come only while the debugger is attached, and contexts only while `Runtime` is on.
#[derive(Default)]
struct FakeTab {
    attached: bool,
    runtime_on: bool,
    contexts: BTreeSet<i64>,
    frames: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Which prerendered page has taken the place of the first.
    prerendered: Option<usize>,
}

/// How the ids begin that only Chrome knows.
const PRERENDERED: &str = "prerendered-";

impl FakeTab {
    fn main_frame(&self, tab: i64) -> String {
        self.prerendered
            .map_or_else(|| format!("T{tab}"), |n| format!("{PRERENDERED}{tab}-{n}"))
    }

    fn detach(&mut self) {
        self.attached = false;
        self.runtime_on = false;
        self.children.clear();
    }
}

struct World {
    core: Core,
    now: Now,
    listeners: BTreeMap<ClientId, Listener>,
    calls: Vec<Value>,
    extension: bool,
    last_client: u64,
    last_request: i64,
    tabs: BTreeMap<i64, FakeTab>,
    last_tab: i64,
    all_sessions: BTreeSet<String>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            core: Core::new(Config::new(7)),
            now: Now::ZERO,
            listeners: BTreeMap::new(),
            calls: Vec::new(),
            extension: false,
            last_client: 0,
            last_request: 0,
            tabs: (1..=3).map(|id| (id, FakeTab::default())).collect(),
            last_tab: 3,
            all_sessions: BTreeSet::new(),
        };
        world.extension_comes(false);
        world
    }

    fn input(&mut self, input: Input<'_>) {
        self.core.handle(self.now, input);
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::ToClient(client, text) => {
                    self.on_told(client, &serde_json::from_str(&text).unwrap())
                }
                Output::ToExtension(text) => {
                    let call: Value = serde_json::from_str(&text).unwrap();
                    if call["id"].is_number() {
                        self.calls.push(call);
                    }
                }
                Output::CloseClient(..) => {}
                Output::CloseExtension(_) => {
                    self.extension = false;
                    self.calls.clear();
                }
            }
        }
    }

    // ---- what must hold of everything a client hears ----

    fn on_told(&mut self, client: ClientId, message: &Value) {
        let listener = self
            .listeners
            .get_mut(&client)
            .expect("only clients that are there are told anything");
        assert!(!listener.closed, "told after it had gone: {message}");
        assert!(
            !message.to_string().contains(PRERENDERED),
            "Chrome's own id of a main frame: {message}"
        );
        let session = message["sessionId"].as_str().map(str::to_owned);
        if let Some(id) = message["id"].as_i64() {
            let (sent_on, method) = listener
                .waiting
                .remove(&id)
                .unwrap_or_else(|| panic!("a reply nobody waits for: {message}"));
            assert_eq!(sent_on, session, "a reply under another session: {message}");
            let Some(view) = session.and_then(|session| listener.sessions.get_mut(&session)) else {
                return;
            };
            match method.as_str() {
                // What is switched off and on again is told again.
                "Runtime.disable" if message.get("result").is_some() => view.contexts.clear(),
                "Page.disable" if message.get("result").is_some() => view.frames.clear(),
                "Page.getFrameTree" => {
                    let children = message["result"]["frameTree"]["childFrames"].as_array();
                    view.frames.extend(
                        children
                            .into_iter()
                            .flatten()
                            .map(|child| child["frame"]["id"].to_string()),
                    );
                }
                _ => {}
            }
            return;
        }
        if message.get("method").is_none() {
            assert!(
                message["error"].is_object(),
                "neither reply nor event nor error: {message}"
            );
            return;
        }
        if let Some(session) = &session {
            assert!(
                listener.sessions.contains_key(session),
                "an event of a session the client does not have: {message}"
            );
        }
        let params = &message["params"];
        match message["method"].as_str().unwrap() {
            "Target.attachedToTarget" => {
                let opened = params["sessionId"].as_str().unwrap().to_owned();
                assert!(
                    self.all_sessions.insert(opened.clone()),
                    "a session id given twice: {message}"
                );
                listener.sessions.insert(opened, View::default());
            }
            "Target.detachedFromTarget" => {
                let ended = params["sessionId"].as_str().unwrap().to_owned();
                assert!(
                    listener.sessions.remove(&ended).is_some(),
                    "detached from what was not attached: {message}"
                );
                listener.ended.insert(ended);
            }
            "Runtime.executionContextCreated" => {
                let view = listener
                    .sessions
                    .get_mut(session.as_ref().unwrap())
                    .unwrap();
                let id = params["context"]["id"].as_i64().unwrap();
                assert!(
                    view.contexts.insert(id),
                    "a context announced twice: {message}"
                );
            }
            "Runtime.executionContextDestroyed" => {
                let view = listener
                    .sessions
                    .get_mut(session.as_ref().unwrap())
                    .unwrap();
                let id = params["executionContextId"].as_i64().unwrap();
                assert!(
                    view.contexts.remove(&id),
                    "the end of a context nobody was told of: {message}"
                );
            }
            "Runtime.executionContextsCleared" => {
                listener
                    .sessions
                    .get_mut(session.as_ref().unwrap())
                    .unwrap()
                    .contexts
                    .clear();
            }
            "Runtime.consoleAPICalled" => {
                let view = &listener.sessions[session.as_ref().unwrap()];
                let id = params["executionContextId"].as_i64().unwrap();
                assert!(
                    view.contexts.contains(&id),
                    "an event of a context nobody was told of: {message}"
                );
            }
            "Page.frameAttached" => {
                let view = listener
                    .sessions
                    .get_mut(session.as_ref().unwrap())
                    .unwrap();
                assert!(
                    view.frames.insert(params["frameId"].to_string()),
                    "a frame announced twice: {message}"
                );
            }
            "Page.frameDetached" => {
                listener
                    .sessions
                    .get_mut(session.as_ref().unwrap())
                    .unwrap()
                    .frames
                    .remove(&params["frameId"].to_string());
            }
            _ => {}
        }
    }

    // ---- the steps ----

    fn take(&mut self, step: &Step) {
        match step {
            Step::OpenClient => {
                self.last_client += 1;
                let client = ClientId(self.last_client);
                self.listeners.insert(client, Listener::default());
                self.input(Input::ClientOpened(client));
            }
            Step::CloseClient(n) => {
                if let Some(client) = self.client(*n) {
                    self.listeners.get_mut(&client).unwrap().closed = true;
                    self.input(Input::ClientClosed(client));
                }
            }
            Step::Root {
                client,
                command,
                tab,
            } => self.root_command(*client, *command, *tab),
            Step::OnSession {
                client,
                session,
                command,
            } => self.session_command(*client, *session, *command),
            Step::InitAll { client, session } => {
                let Some((client, session)) = self.session(*client, *session) else {
                    return;
                };
                for (method, params) in playwright_init() {
                    if method != "Page.createIsolatedWorld" {
                        self.request(client, Some(&session), method, &params);
                    }
                }
            }
            Step::Reply { call, fails } => {
                if !self.calls.is_empty() {
                    let call = self.calls.remove(call % self.calls.len());
                    self.reply(&call, *fails);
                }
            }
            Step::ReplyAll => {
                for call in std::mem::take(&mut self.calls) {
                    self.reply(&call, false);
                }
            }
            Step::TabCreated(n) => {
                self.last_tab += 1;
                self.tabs.insert(self.last_tab, FakeTab::default());
                let mut report = tab(self.last_tab);
                report["openerTabId"] = json!(n);
                self.extension_event("tabCreated", &report);
            }
            Step::TabNavigated(n) => {
                let tab = self.tab(*n);
                // While nothing debugs it, a prerendered page may take the place of the first.
                if let Some(fake) = self
                    .tabs
                    .get_mut(&tab)
                    .filter(|fake| !fake.attached && n % 4 == 1)
                {
                    fake.prerendered = Some(*n);
                }
                self.extension_event("tabUpdated", &json!({ "tabId": tab, "status": "loading", "url": format!("https://site/{n}") }));
                self.extension_event(
                    "tabNavigated",
                    &json!({ "tabId": tab, "url": format!("https://site/{n}"), "sameDocument": n % 3 == 0 }),
                );
                self.extension_event(
                    "tabUpdated",
                    &json!({ "tabId": tab, "status": "complete", "title": format!("t{n}") }),
                );
            }
            Step::TabRemoved(n) => {
                let tab = self.tab(*n);
                self.tabs.remove(&tab);
                self.extension_event("tabRemoved", &json!({ "tabId": tab }));
            }
            Step::TabDetached { tab, by_user } => {
                let reason = if *by_user {
                    "canceled_by_user"
                } else {
                    "replaced_with_devtools"
                };
                let tab = self.tab(*tab);
                let was_attached = self
                    .tabs
                    .get_mut(&tab)
                    .is_some_and(|tab| std::mem::take(&mut tab.attached));
                if let Some(fake) = self.tabs.get_mut(&tab) {
                    fake.detach();
                }
                if !was_attached {
                    return;
                }
                self.extension_event("tabDetached", &json!({ "tabId": tab, "reason": reason }));
            }
            Step::DebuggerEvent { tab, kind, number } => self.debugger_event(*tab, *kind, *number),
            Step::ExtensionGoes => {
                if self.extension {
                    self.extension = false;
                    self.calls.clear();
                    self.input(Input::ExtensionClosed);
                }
            }
            Step::ExtensionComes { attached } => {
                if !self.extension {
                    self.extension_comes(*attached);
                }
            }
            Step::Garbage(n) => {
                let texts = [
                    "",
                    "{",
                    "null",
                    "[]",
                    r#"{"id":"x"}"#,
                    r#"{"method":"Page.enable"}"#,
                ];
                if let (Some(client), Some(text)) = (self.client(*n), texts.get(*n)) {
                    self.input(Input::ClientText(client, text));
                }
                if self.extension {
                    self.input(Input::ExtensionText(r#"{"id":999999,"result":{}}"#));
                    self.input(Input::ExtensionText("nonsense"));
                }
            }
            Step::Wait(seconds) => self.wait(Duration::from_secs(u64::from(*seconds))),
        }
    }

    fn wait(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(due) = self.core.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.input(Input::TimeoutReached);
            // A living extension answers its pings.
            self.extension_event("pong", &json!({}));
        }
        self.now = end;
    }

    fn client(&self, n: usize) -> Option<ClientId> {
        let open: Vec<_> = self
            .listeners
            .iter()
            .filter(|(_, listener)| !listener.closed)
            .map(|(client, _)| *client)
            .collect();
        open.get(n % open.len().max(1)).copied()
    }

    fn session(&self, client: usize, n: usize) -> Option<(ClientId, String)> {
        let client = self.client(client)?;
        let sessions: Vec<_> = self.listeners[&client].sessions.keys().collect();
        sessions
            .get(n % sessions.len().max(1))
            .map(|session| (client, (*session).clone()))
    }

    fn tab(&self, n: usize) -> i64 {
        let tabs: Vec<_> = self.tabs.keys().collect();
        tabs.get(n % tabs.len().max(1)).map_or(0, |tab| **tab)
    }

    fn request(&mut self, client: ClientId, session: Option<&str>, method: &str, params: &Value) {
        self.last_request += 1;
        let id = self.last_request;
        self.listeners
            .get_mut(&client)
            .unwrap()
            .waiting
            .insert(id, (session.map(str::to_owned), method.to_owned()));
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.input(Input::ClientText(client, &message.to_string()));
    }

    fn root_command(&mut self, client: usize, command: usize, tab: usize) {
        let Some(client) = self.client(client) else {
            return;
        };
        let target = format!("T{}", self.tab(tab));
        let (method, params) = match command {
            0 | 1 => (
                "Target.setAutoAttach",
                json!({ "autoAttach": true, "flatten": true }),
            ),
            2 => ("Target.setDiscoverTargets", json!({ "discover": true })),
            3 => (
                "Target.attachToTarget",
                json!({ "targetId": target, "flatten": true }),
            ),
            4 => ("Target.createTarget", json!({ "url": "about:blank" })),
            5 => ("Target.closeTarget", json!({ "targetId": target })),
            6 => ("Storage.getCookies", json!({})),
            7 => (
                "Target.setAutoAttach",
                json!({ "autoAttach": true, "flatten": true, "filter": [{ "type": "page", "exclude": true }, {}] }),
            ),
            _ => ("Browser.getVersion", json!({})),
        };
        self.request(client, None, method, &params);
    }

    fn session_command(&mut self, client: usize, session: usize, command: usize) {
        let Some((client, session)) = self.session(client, session) else {
            return;
        };
        let context = self.listeners[&client].sessions[&session]
            .contexts
            .iter()
            .next()
            .copied()
            .unwrap_or(1);
        let (method, params) = match command {
            0..=5 => (
                "Runtime.evaluate",
                json!({ "contextId": context, "expression": "1" }),
            ),
            6 => (
                "Runtime.callFunctionOn",
                json!({ "executionContextId": context }),
            ),
            7 => ("Page.captureScreenshot", json!({})),
            8 => ("Page.navigate", json!({ "url": "https://x" })),
            9 => ("Target.detachFromTarget", json!({ "sessionId": session })),
            10 => ("Runtime.disable", json!({})),
            11 => ("Page.disable", json!({})),
            12 => (
                "Page.createIsolatedWorld",
                json!({ "frameId": "T1", "worldName": "w" }),
            ),
            13 => (
                "Page.removeScriptToEvaluateOnNewDocument",
                json!({ "identifier": "tabwire.1" }),
            ),
            14 => ("Emulation.setEmulatedMedia", json!({ "media": "print" })),
            15 => ("Page.startScreencast", json!({})),
            16 => ("Page.stopScreencast", json!({})),
            17 => (
                "Page.addScriptToEvaluateOnNewDocument",
                json!({ "source": "prepare()" }),
            ),
            18 => (
                "Runtime.evaluate",
                json!({ "contextId": context, "expression": "new UtilityScript()" }),
            ),
            19 => (
                "Runtime.callFunctionOn",
                json!({ "objectId": "tabwire.helper.1", "arguments": [{ "value": "prepare()" }] }),
            ),
            n => {
                let init = playwright_init();
                let (method, params) = &init[n % init.len()];
                (*method, params.clone())
            }
        };
        // A session that detaches itself names none.
        let params = if method == "Target.detachFromTarget" && command % 2 == 1 {
            json!({})
        } else {
            params
        };
        self.request(client, Some(&session), method, &params);
    }

    fn extension_event(&mut self, method: &str, params: &Value) {
        if self.extension {
            let text = json!({ "method": method, "params": params }).to_string();
            self.input(Input::ExtensionText(&text));
        }
    }

    fn debugger_event(&mut self, tab: usize, kind: usize, number: usize) {
        let tab = self.tab(tab);
        let id = i64::try_from(number).unwrap() + 1;
        let (frame, child) = (format!("F{tab}-{number}"), format!("C{tab}-{number}"));
        let Some(fake) = self
            .tabs
            .get_mut(&tab)
            .filter(|fake| fake.attached && self.extension)
        else {
            return;
        };
        let (on, main) = (fake.runtime_on, fake.main_frame(tab));
        let (method, params) = match kind {
            0 | 1 if on && fake.contexts.insert(id) => {
                ("Runtime.executionContextCreated", context(&main, id))
            }
            2 if on && fake.contexts.remove(&id) => (
                "Runtime.executionContextDestroyed",
                json!({ "executionContextId": id, "executionContextUniqueId": format!("u{id}") }),
            ),
            3 if on => {
                fake.contexts.clear();
                ("Runtime.executionContextsCleared", json!({}))
            }
            4 if fake.frames.insert(frame.clone()) => (
                "Page.frameAttached",
                json!({ "frameId": frame, "parentFrameId": main }),
            ),
            5 if fake.frames.remove(&frame) => (
                "Page.frameDetached",
                json!({ "frameId": frame, "reason": "remove" }),
            ),
            6 if fake.children.insert(child.clone()) => {
                let info = json!({ "targetId": format!("X{child}"), "type": "iframe" });
                (
                    "Target.attachedToTarget",
                    json!({ "sessionId": child, "targetInfo": info, "waitingForDebugger": true }),
                )
            }
            7 if fake.children.remove(&child) => {
                ("Target.detachedFromTarget", json!({ "sessionId": child }))
            }
            8 if on && fake.contexts.contains(&id) => (
                "Runtime.consoleAPICalled",
                json!({ "executionContextId": id, "args": [] }),
            ),
            _ => ("Network.dataReceived", json!({})),
        };
        self.extension_event(
            "cdpEvent",
            &json!({ "tabId": tab, "method": method, "params": params }),
        );
    }

    fn reply(&mut self, call: &Value, fails: bool) {
        if !self.extension {
            return;
        }
        if fails && call["method"] != "listTabs" {
            let text =
                json!({ "id": call["id"], "error": { "code": -32000, "message": "refused" } })
                    .to_string();
            return self.input(Input::ExtensionText(&text));
        }
        let tab_id = call["params"]["tabId"].as_i64().unwrap_or_default();
        let is_child = call["params"]["childSessionId"].is_string();
        let result = match (
            call["method"].as_str().unwrap(),
            call["params"]["method"].as_str(),
        ) {
            ("attachTab", _) => {
                let Some(fake) = self.tabs.get_mut(&tab_id) else {
                    return self.reply(call, true);
                };
                fake.attached = true;
                json!({})
            }
            ("detachTab", _) => {
                if let Some(fake) = self.tabs.get_mut(&tab_id) {
                    fake.detach();
                }
                json!({})
            }
            // Chrome refuses what is sent to a tab without the debugger.
            ("cdpCommand", _) if !self.tabs.get(&tab_id).is_some_and(|fake| fake.attached) => {
                return self.reply(call, true);
            }
            ("cdpCommand", Some("Runtime.enable")) if !is_child => {
                self.report_contexts(tab_id);
                json!({})
            }
            ("cdpCommand", Some("Runtime.disable")) if !is_child => {
                if let Some(fake) = self.tabs.get_mut(&tab_id) {
                    fake.runtime_on = false;
                }
                json!({})
            }
            ("createTab", _) => {
                self.last_tab += 1;
                self.tabs.insert(self.last_tab, FakeTab::default());
                self.tabs.insert(
                    self.last_tab,
                    FakeTab {
                        attached: true,
                        ..FakeTab::default()
                    },
                );
                let mut report = tab(self.last_tab);
                report["attached"] = true.into();
                report
            }
            ("closeTab", _) => {
                self.tabs.remove(&tab_id);
                json!({})
            }
            ("cdpCommand", Some("Page.getFrameTree")) => {
                let main = self.tabs[&tab_id].main_frame(tab_id);
                let child =
                    |id: &String| json!({ "frame": { "id": id, "parentId": main, "url": "x" } });
                let children: Vec<_> = self.tabs[&tab_id].frames.iter().map(child).collect();
                json!({ "frameTree": { "frame": { "id": main }, "childFrames": children } })
            }
            ("cdpCommand", Some("Page.addScriptToEvaluateOnNewDocument")) => {
                json!({ "identifier": "9" })
            }
            ("cdpCommand", Some("Page.createIsolatedWorld")) => json!({ "executionContextId": 77 }),
            _ => json!({}),
        };
        let text = json!({ "id": call["id"], "result": result }).to_string();
        self.input(Input::ExtensionText(&text));
    }

    /// Chrome tells the contexts that are there as `Runtime` is switched on; the extension sees to it that it does so anew.
    fn report_contexts(&mut self, tab: i64) {
        let was_on = self
            .tabs
            .get_mut(&tab)
            .is_some_and(|fake| std::mem::replace(&mut fake.runtime_on, true));
        if was_on {
            self.extension_event("cdpEvent", &json!({ "tabId": tab, "method": "Runtime.executionContextsCleared", "params": {} }));
        }
        let main = self.tabs[&tab].main_frame(tab);
        for id in self.tabs[&tab].contexts.clone() {
            let params = context(&main, id);
            self.extension_event("cdpEvent", &json!({ "tabId": tab, "method": "Runtime.executionContextCreated", "params": params }));
        }
    }

    /// `attached`: the debugger outlived the extension's worker.
    fn extension_comes(&mut self, attached: bool) {
        self.extension = true;
        if !attached {
            self.tabs.values_mut().for_each(FakeTab::detach);
        }
        self.input(Input::ExtensionOpened);
        self.extension_event("hello", &json!({ "protocol": 1, "version": "1", "browser": "B/1", "userAgent": "U", "installId": "i" }));
        let list = self.calls.remove(0);
        let tabs: Vec<Value> = self
            .tabs
            .keys()
            .map(|id| {
                let mut report = tab(*id);
                report["attached"] = (attached && self.tabs[id].attached).into();
                report
            })
            .collect();
        let text = json!({ "id": list["id"], "result": { "tabs": tabs } }).to_string();
        self.input(Input::ExtensionText(&text));
    }

    /// The browser goes: nothing may be left unanswered. Then everyone leaves, and nothing may be left at all.
    fn end_with_the_browser(mut self) {
        self.take(&Step::ExtensionGoes);
        for (client, listener) in &self.listeners {
            assert!(
                listener.closed || listener.waiting.is_empty(),
                "{client} still waits for {:?}",
                listener.waiting
            );
        }
        self.close_clients();
        assert!(self.core.is_idle(), "something stayed");
    }

    /// The clients leave while the browser stays: it gets its tabs back.
    fn end_with_the_clients(mut self) {
        self.take(&Step::ExtensionGoes);
        self.take(&Step::ExtensionComes { attached: true });
        self.take(&Step::ReplyAll);
        self.close_clients();
        while !self.calls.is_empty() {
            self.take(&Step::ReplyAll);
        }
        assert!(self.core.is_idle(), "something stayed");
        let attached: Vec<_> = self
            .tabs
            .iter()
            .filter(|(_, tab)| tab.attached)
            .map(|(id, _)| id)
            .collect();
        assert!(attached.is_empty(), "the debugger stayed on {attached:?}");
    }

    fn close_clients(&mut self) {
        while let Some(client) = self.client(0) {
            self.listeners.get_mut(&client).unwrap().closed = true;
            self.input(Input::ClientClosed(client));
        }
    }
}

fn context(frame: &str, id: i64) -> Value {
    let name = if id % 2 == 0 { "" } else { "utility" };
    let aux = json!({ "isDefault": name.is_empty(), "frameId": frame });
    json!({ "context": { "id": id, "uniqueId": format!("u{id}"), "name": name, "auxData": aux } })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_the_order_the_promises_hold(steps in prop::collection::vec(step(), 1..120), browser_stays in any::<bool>()) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        if browser_stays {
            world.end_with_the_clients();
        } else {
            world.end_with_the_browser();
        }
    }
}
