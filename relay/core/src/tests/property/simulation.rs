//! Applies steps to the core: clients and a browser that send them, and checks on everything that
//! comes out.

use std::time::Duration;

use serde_json::{Value, json};

use super::browser::{Browser, Event};
use super::clients::Clients;
use super::commands::{Command, root_command, session_command};
use super::steps::Step;
use crate::Placed;
use crate::tests::script::{Call, Script, Session, playwright_init};

pub struct Simulation {
    script: Script,
    clients: Clients,
    browser: Browser,
    extension_connected: bool,
    /// Calls that the extension has not answered.
    calls: Vec<Call>,
}

impl Simulation {
    pub fn new() -> Self {
        let mut simulation = Self {
            script: Script::new(),
            clients: Clients::default(),
            browser: Browser::with_tabs(3),
            extension_connected: false,
            calls: Vec::new(),
        };
        simulation.connect_extension(false);
        simulation
    }

    pub fn apply(&mut self, step: &Step) {
        match *step {
            Step::ConnectClient => self.connect_client(),
            Step::DisconnectClient(n) => self.disconnect_client(n),
            Step::RootCommand {
                client,
                command,
                tab,
            } => self.send_root_command(client, command, tab),
            Step::SessionCommand {
                client,
                session,
                command,
            } => self.send_session_command(client, session, command),
            Step::Init { client, session } => self.initialize(client, session),
            Step::Reply { call, fails } => self.reply_to(call, fails),
            Step::ReplyToAll => self.reply_to_all(),
            Step::DebuggerEvent { tab, kind, number } => self.debugger_event(tab, kind, number),
            Step::Download { tab, kind, number } => self.download(tab, kind, number),
            Step::DisconnectExtension => self.disconnect_extension(),
            Step::ConnectExtension { attached } => self.connect_extension(attached),
            Step::SendGarbage(n) => self.send_garbage(n),
            Step::Wait(seconds) => self.wait(Duration::from_secs(u64::from(seconds))),
            Step::CreateTab(n) => self.create_tab(n),
            Step::NavigateTab(n) => self.navigate_tab(n),
            Step::RestrictTab(n) => self.restrict_tab(n),
            Step::RemoveTab(n) => self.remove_tab(n),
            Step::DetachDebugger { tab, by_user } => self.detach_debugger(tab, by_user),
            Step::SetPaused(is_paused) => self.set_paused(is_paused),
        }
    }

    /// Processes what the core has sent since the last call. Must follow every input.
    fn process_output(&mut self) {
        for (client, messages) in self.script.received_by_all() {
            for message in messages.iter() {
                self.clients.receive(client, message);
            }
        }
        self.script.assert_frames_announced();
        let calls = self.script.calls();
        if self.script.take_extension_closed().is_some() {
            self.extension_connected = false;
            self.calls.clear();
        } else {
            let calls = calls.into_iter();
            self.calls
                .extend(calls.filter(|call| call.id().is_number()));
        }
    }

    // ---- clients ----

    fn connect_client(&mut self) {
        let client = self.script.connect_client();
        self.clients.connect(client);
        self.process_output();
    }

    fn disconnect_client(&mut self, n: usize) {
        if let Some(client) = self.clients.client(n) {
            self.clients.disconnect(client);
            self.script.disconnect(client);
            self.process_output();
        }
    }

    fn session(&self, client: usize, n: usize) -> Option<Session> {
        let client = self.clients.client(client)?;
        let id = self.clients.session(client, n)?;
        Some(Session { client, id })
    }

    fn send_root_command(&mut self, client: usize, command: usize, tab: usize) {
        let Some(client) = self.clients.client(client) else {
            return;
        };
        let page = format!("T{}", self.browser.tab(tab));
        let frame = format!("target-C{}-{}", self.browser.tab(tab), tab % 2);
        let (method, params) = root_command(command, &page, &frame);
        let id = self.script.send(client, method, params);
        self.clients.send(client, None, id, method);
        self.process_output();
    }

    fn send_session_command(&mut self, client: usize, session: usize, command: usize) {
        if let Some(session) = self.session(client, session) {
            let context = self.clients.context(session.client, &session.id);
            self.send_on_session(&session, session_command(command, context));
        }
    }

    fn initialize(&mut self, client: usize, session: usize) {
        let Some(session) = self.session(client, session) else {
            return;
        };
        for (method, params) in playwright_init() {
            if method != "Page.createIsolatedWorld" {
                self.send_on_session(&session, (method, params));
            }
        }
    }

    fn send_on_session(&mut self, session: &Session, (method, params): Command) {
        let id = self.script.send(session, method, params);
        self.clients
            .send(session.client, Some(&session.id), id, method);
        self.process_output();
    }

    // ---- the extension ----

    fn connect_extension(&mut self, attached: bool) {
        if self.extension_connected {
            return;
        }
        self.extension_connected = true;
        if !attached {
            self.browser.detach_all();
        }
        self.script.open_extension();
        let list = self.script.next_call("listTabs");
        self.script.reply(&list, self.browser.report());
        self.process_output();
    }

    fn disconnect_extension(&mut self) {
        if self.extension_connected {
            self.extension_connected = false;
            self.calls.clear();
            self.script.disconnect_extension();
            self.process_output();
        }
    }

    fn reply_to(&mut self, n: usize, fails: bool) {
        if !self.calls.is_empty() {
            let call = self.calls.remove(n % self.calls.len());
            self.reply(&call, fails);
        }
    }

    fn reply_to_all(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            self.reply(&call, false);
        }
    }

    fn reply(&mut self, call: &Call, fails: bool) {
        if !self.extension_connected {
            return;
        }
        let outcome = if fails {
            None
        } else {
            self.browser.execute(call)
        };
        if let Some((events, result)) = outcome {
            for event in events {
                self.cdp_event(call.tab(), event);
            }
            self.script.reply(call, result);
        } else {
            let error = json!({ "code": -32000, "message": "refused" });
            self.script.reply_error(call, error);
        }
        self.process_output();
    }

    fn extension_event(&mut self, method: &str, params: Value) {
        if self.extension_connected {
            self.script.extension_event(method, params);
            self.process_output();
        }
    }

    fn cdp_event(&mut self, tab: i64, (method, params): Event) {
        let params = json!({ "tabId": tab, "method": method, "params": params });
        self.extension_event("cdpEvent", params);
    }

    fn debugger_event(&mut self, tab: usize, kind: usize, number: usize) {
        if !self.extension_connected {
            return;
        }
        let tab = self.browser.tab(tab);
        if let Some(event) = self.browser.debugger_event(tab, kind, number) {
            self.cdp_event(tab, event);
        }
    }

    fn download(&mut self, tab: usize, kind: usize, number: usize) {
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

    // ---- the user ----

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

    fn detach_debugger(&mut self, n: usize, by_user: bool) {
        let reason = if by_user {
            "canceled_by_user"
        } else {
            "replaced_with_devtools"
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

    // ---- faults and time ----

    fn send_garbage(&mut self, n: usize) {
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
            for text in [r#"{"id":999999,"result":{}}"#, "nonsense"] {
                self.script.extension_text(text);
                self.process_output();
            }
        }
    }

    /// Lets time pass while the extension, if connected, answers its pings.
    fn wait(&mut self, by: Duration) {
        let end = self.script.now() + by;
        while self.script.advance_to_timeout(end) {
            self.process_output();
            self.extension_event("pong", json!({}));
        }
        self.script.advance_to(end);
    }

    // ---- the end ----

    /// The browser disconnects, so every request must have its reply. Then the clients disconnect,
    /// and nothing remains.
    pub fn finish_with_disconnected_browser(mut self) {
        self.disconnect_extension();
        self.clients.assert_nothing_pending();
        self.disconnect_all_clients();
        assert!(self.script.is_idle(), "state remains");
    }

    /// The clients disconnect while the browser stays connected, so every tab must be released.
    pub fn finish_with_connected_browser(mut self) {
        self.disconnect_extension();
        self.connect_extension(true);
        self.reply_to_all();
        self.disconnect_all_clients();
        while !self.calls.is_empty() {
            self.reply_to_all();
        }
        assert!(self.script.is_idle(), "state remains");
        let attached = self.browser.attached_tabs();
        assert!(attached.is_empty(), "still attached: {attached:?}");
        assert!(!self.browser.has_permissions(), "permissions remain");
    }

    fn disconnect_all_clients(&mut self) {
        while self.clients.client(0).is_some() {
            self.disconnect_client(0);
        }
    }
}
