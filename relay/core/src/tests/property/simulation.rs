//! Applies steps to the core: clients and a browser that send them, and checks on everything that
//! comes out.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::browser::Browser;
use super::clients::Clients;
use super::commands::{Command, acts, root_command, session_command};
use super::history::History;
use super::pages::Event;
use super::steps::{Case, Ending, Kind, Step};
use crate::Connection;
use crate::tests::script::{Call, ClientId, Script, playwright_init};

pub struct Simulation {
    pub(super) script: Script,
    pub(super) clients: Clients,
    pub(super) browser: Browser,
    pub(super) extension_connected: bool,
    /// Calls that the extension has not answered.
    pub(super) calls: Vec<Call>,
    history: History,
    first_client: Option<ClientId>,
    /// Prints every step and message.
    is_verbose: bool,
    /// Changes with every message.
    digest: DefaultHasher,
}

impl Simulation {
    /// Runs a case and panics if something does not hold.
    pub fn run(case: &Case, is_verbose: bool) {
        Self::play(case, is_verbose);
    }

    /// Runs a case and returns a number that depends on every message.
    pub fn digest(case: &Case) -> u64 {
        Self::play(case, false).digest.finish()
    }

    fn play(case: &Case, is_verbose: bool) -> Self {
        let mut simulation = Self::new(case, is_verbose);
        for step in &case.steps {
            if is_verbose {
                println!("---- {step:?}");
            }
            simulation.apply(*step);
        }
        match case.ending {
            Ending::BrowserGone => simulation.finish_without_browser(),
            Ending::BrowserStays => simulation.finish_with_browser(),
            Ending::RelayStops => simulation.stop(),
        }
        simulation
    }

    fn new(case: &Case, is_verbose: bool) -> Self {
        let mut script = if case.launches {
            Script::launching()
        } else {
            Script::new()
        };
        if case.closes_created {
            script.close_created_tabs_on_disconnect();
        }
        let mut simulation = Self {
            script,
            clients: Clients::default(),
            browser: Browser::with_tabs(3),
            extension_connected: false,
            calls: Vec::new(),
            history: History::default(),
            first_client: None,
            is_verbose,
            digest: DefaultHasher::new(),
        };
        if !case.launches {
            simulation.connect_extension(false);
        }
        simulation
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::ConnectClient(kind) => self.connect_client(kind),
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
            Step::Burst { tab, count } => self.burst(tab, count),
            Step::Download { tab, kind, number } => self.download(tab, kind, number),
            Step::DisconnectExtension { executed } => self.lose_extension(executed),
            Step::ConnectExtension { attached } => self.connect_extension(attached),
            Step::ReplaceExtension => self.replace_extension(),
            Step::ConnectOtherBrowser => self.connect_other_browser(),
            Step::FailLaunch => self.fail_launch(),
            Step::SendGarbage(n) => self.send_garbage(n),
            Step::Wait(seconds) => self.wait(Duration::from_secs(seconds)),
            Step::Freeze(seconds) => self.freeze(Duration::from_secs(seconds)),
            step => self.apply_user_step(step),
        }
    }

    /// Processes what the core has sent since the last call. Must follow every input.
    pub(super) fn process_output(&mut self) {
        loop {
            self.check_messages();
            let closed = self.script.take_closed_clients();
            if closed.is_empty() {
                break;
            }
            for client in closed {
                self.close_client(client);
            }
        }
        let calls = self.script.calls();
        if self.script.take_extension_closed().is_some() {
            self.extension_connected = false;
            self.calls.clear();
        } else {
            for call in calls {
                self.receive_call(call);
            }
        }
    }

    fn check_messages(&mut self) {
        for (client, messages) in self.script.received_by_all() {
            for message in messages.iter() {
                if self.is_verbose {
                    println!("{client} <- {message}");
                }
                message.hash(&mut self.digest);
                self.clients.receive(client, message);
            }
        }
        self.script.assert_frames_announced();
    }

    fn receive_call(&mut self, call: Call) {
        if self.is_verbose {
            println!("extension <- {call:?}");
        }
        if !call.id().is_number() {
            return;
        }
        self.history.receive(&call);
        self.calls.push(call);
    }

    // ---- clients ----

    fn connect_client(&mut self, kind: Kind) {
        let target = match kind {
            Kind::Page(n) => Some(format!("T{}", self.browser.tab(n))),
            Kind::Frame(n) => Some(format!("target-C{}-{}", self.browser.tab(n), n % 2)),
            _ => None,
        };
        let script = &mut self.script;
        let client = match (kind, &target, self.first_client) {
            (_, Some(target), _) => script.connect_client_to(Connection::Target(target)),
            (Kind::Grouped, ..) => script.connect_grouped_client(Connection::Browser, "agent"),
            (Kind::Request, ..) => script.connect_client_to(Connection::Request),
            (Kind::SameProgram, _, Some(first)) => {
                script.connect_client_of(first, Connection::Browser)
            }
            _ => script.connect_client(),
        };
        self.first_client.get_or_insert(client);
        self.clients.connect(client, target.is_some());
        self.process_output();
    }

    fn disconnect_client(&mut self, n: usize) {
        if let Some(client) = self.clients.client(n) {
            self.close_client(client);
            self.process_output();
        }
    }

    /// A client disconnects, or the relay has disconnected it.
    fn close_client(&mut self, client: ClientId) {
        self.clients.disconnect(client);
        self.script.disconnect(client);
    }

    fn send_root_command(&mut self, client: usize, command: usize, tab: usize) {
        let Some(client) = self.clients.client(client) else {
            return;
        };
        if self.clients.is_on_target(client) {
            return;
        }
        let page = format!("T{}", self.browser.tab(tab));
        let frame = format!("target-C{}-{}", self.browser.tab(tab), tab % 2);
        self.send(client, "", root_command(command, &page, &frame));
    }

    fn session(&self, client: usize, n: usize) -> Option<(ClientId, String)> {
        let client = self.clients.client(client)?;
        Some((client, self.clients.session(client, n)?))
    }

    fn send_session_command(&mut self, client: usize, session: usize, command: usize) {
        if let Some((client, session)) = self.session(client, session) {
            let context = self.clients.context(client, &session);
            let paused = self.clients.paused_request(client, &session);
            let command = session_command(command, context, paused);
            self.send(client, &session, command);
        }
    }

    fn initialize(&mut self, client: usize, session: usize) {
        let Some((client, session)) = self.session(client, session) else {
            return;
        };
        for (method, params) in playwright_init() {
            if method != "Page.createIsolatedWorld" && self.clients.has(client, &session) {
                self.send(client, &session, (method, params));
            }
        }
    }

    fn send(&mut self, client: ClientId, session: &str, command: Command) {
        let has_marker = acts(&command);
        let (method, mut params) = command;
        let id = self.script.next_request();
        let origin = (client, session.to_owned());
        if has_marker {
            params["marker"] = id.into();
            self.history.send(id, origin.clone());
        }
        if self.is_verbose {
            println!("{client} -> {id} {method} {params} {session}");
        }
        // A page that the debugger cannot use is navigated by the extension, without a marker.
        let is_echoed = has_marker && method != "Page.navigate";
        self.clients.send(origin, id, method, is_echoed);
        self.script.send((client, session), method, params);
        self.process_output();
    }

    // ---- the extension ----

    fn reply_to(&mut self, n: usize, fails: bool) {
        if !self.calls.is_empty() {
            let call = self.calls.remove(n % self.calls.len());
            self.reply(&call, fails);
        }
    }

    pub(super) fn reply_to_all(&mut self) {
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
                self.cdp_event(call.tab(), &event);
            }
            self.script.reply(call, result);
        } else {
            let error = json!({ "code": -32000, "message": "refused" });
            self.script.reply_error(call, error);
        }
        self.process_output();
    }

    pub(super) fn extension_event(&mut self, method: &str, params: Value) {
        if self.extension_connected {
            if self.is_verbose {
                println!("extension -> {method} {params}");
            }
            self.script.extension_event(method, params);
            self.process_output();
        }
    }

    pub(super) fn cdp_event(&mut self, tab: i64, event: &Event) {
        self.extension_event("cdpEvent", event.params_in(tab));
    }

    // ---- the end ----

    /// The browser disconnects for good, so every request must have its reply. Then the clients
    /// disconnect, and nothing remains.
    fn finish_without_browser(&mut self) {
        self.lose_extension(0);
        self.freeze(Duration::from_secs(300));
        self.clients.assert_nothing_pending();
        self.disconnect_all_clients();
        self.script.assert_nothing_remains();
    }

    /// The clients disconnect while the browser stays connected, so every tab must be released.
    fn finish_with_browser(&mut self) {
        self.lose_extension(0);
        self.connect_extension(true);
        self.reply_to_all();
        self.disconnect_all_clients();
        while !self.calls.is_empty() {
            self.reply_to_all();
        }
        assert!(self.script.is_idle(), "state remains");
        self.assert_browser_untouched();
        self.script.assert_nothing_pending();
        // Without clients, the relay keeps of its tabs what it would know after connecting anew.
        self.script.assert_tabs_forgot_clients();
    }

    fn assert_browser_untouched(&self) {
        let attached = self.browser.attached_tabs();
        assert!(attached.is_empty(), "still attached: {attached:?}");
        assert!(!self.browser.has_permissions(), "permissions remain");
        assert!(!self.browser.has_paused_requests(), "a page waits");
    }

    /// The relay stops while clients are connected, and takes its debugger with it.
    fn stop(&mut self) {
        self.lose_extension(0);
        self.connect_extension(true);
        self.reply_to_all();
        self.script.stop_relay();
        self.process_output();
        while !self.calls.is_empty() {
            self.reply_to_all();
        }
        let attached = self.browser.attached_tabs();
        assert!(attached.is_empty(), "still attached: {attached:?}");
    }

    fn disconnect_all_clients(&mut self) {
        while self.clients.client(0).is_some() {
            self.disconnect_client(0);
        }
    }
}
