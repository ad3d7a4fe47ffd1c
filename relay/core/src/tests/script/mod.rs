//! A scripted browser and its clients on a fake clock, which moves only when a test advances it.
//!
//! This file is the only test code that reaches into [`Core`]. Everything else goes through
//! [`Script`]: `clients` plays the clients, `extension` plays the browser, `messages` inspects what
//! either of them receives, and `fixtures` builds the values they send.

mod clients;
mod extension;
mod fixtures;
mod messages;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;

pub use self::clients::{Endpoint, Session};
pub use self::fixtures::*;
pub use self::messages::{Call, Calls, Messages};
pub use crate::ids::ClientId;
use crate::ids::TabId;
use crate::model::tab::Tab;
use crate::{Answered, Config, Core, Input, Now, OnDisconnect, Output, Placed, Placement};

pub struct Script {
    core: Core,
    now: Now,
    to_clients: BTreeMap<ClientId, Vec<Value>>,
    to_extension: VecDeque<Call>,
    closed_clients: Vec<ClientId>,
    extension_closed: Option<String>,
    launches: usize,
    placements: Vec<Placement>,
    port_closings: usize,
    answers: Vec<Answered>,
    last_client: u64,
    last_request: i64,
}

impl Script {
    /// A relay without clients or a browser.
    pub fn new() -> Self {
        Self::with_config(Config::new(42))
    }

    /// A relay that has just been started, and whose browser is looking for it.
    pub fn restarted() -> Self {
        Self::with_config(Config {
            start_timeout: Duration::from_secs(5),
            ..Config::new(42)
        })
    }

    fn with_config(config: Config) -> Self {
        Self {
            core: Core::new(Config {
                reports_answers: true,
                ..config
            }),
            now: Now::ZERO,
            to_clients: BTreeMap::new(),
            to_extension: VecDeque::new(),
            closed_clients: Vec::new(),
            extension_closed: None,
            launches: 0,
            placements: Vec::new(),
            port_closings: 0,
            answers: Vec::new(),
            last_client: 0,
            last_request: 0,
        }
    }

    /// A relay whose browser has tabs 1 to `count`, with targets `T1`, `T2`, … at `https://site/1`,
    /// ….
    pub fn with_tabs(count: i64) -> Self {
        let mut script = Self::new();
        script.connect_browser((1..=count).map(tab).collect());
        script
    }

    /// A relay that launches a browser when a client needs one.
    pub fn launching() -> Self {
        let mut script = Self::new();
        script.core.config.launch_timeout = Some(Duration::from_secs(15));
        script
    }

    /// How many times the relay has asked for a browser.
    pub fn launches(&self) -> usize {
        self.launches
    }

    /// How often the extension asked to close the open port.
    pub fn port_closings(&self) -> usize {
        self.port_closings
    }

    pub fn fail_launch(&mut self, reason: &str) {
        self.input(Input::LaunchFailed(reason));
    }

    /// The files that the shell has to place since the last call.
    pub fn placements(&mut self) -> Vec<Placement> {
        std::mem::take(&mut self.placements)
    }

    pub fn place_files(&mut self, placed: Placed) {
        self.input(Input::FilePlaced(placed));
    }

    /// The person's tabs do not behave as if they had the focus.
    pub fn withhold_focus_emulation(&mut self) {
        self.core.world.emulates_focus = false;
    }

    /// Closes the tabs that a client created when it disconnects.
    pub fn close_created_tabs_on_disconnect(&mut self) {
        self.core.config.on_disconnect = OnDisconnect::CloseCreated;
    }

    /// Every reply must be reported, and nothing else.
    fn input(&mut self, input: Input<'_>) {
        self.core.handle(self.now, input);
        let mut reply_of = None;
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::ToClient(client, text) => {
                    assert_eq!(reply_of, None, "a reply is not reported");
                    let message = json(&text);
                    reply_of = message.get("method").is_none().then_some(client);
                    self.to_clients.entry(client).or_default().push(message);
                }
                Output::Answered(answered) => {
                    assert_eq!(reply_of.take(), Some(answered.client_id), "{answered:?}");
                    self.answers.push(answered);
                }
                Output::ToExtension(text) => self.to_extension.push_back(Call::new(json(&text))),
                Output::CloseClient(client, _) => self.closed_clients.push(client),
                Output::CloseExtension(reason) => self.extension_closed = Some(reason),
                Output::LaunchBrowser => self.launches += 1,
                Output::PlaceFile(placement) => self.placements.push(placement),
                Output::ClosePort => self.port_closings += 1,
            }
        }
        assert_eq!(reply_of, None, "a reply is not reported");
    }

    /// The requests that were answered since the last call.
    pub fn answers(&mut self) -> Vec<Answered> {
        std::mem::take(&mut self.answers)
    }

    // ---- the clock ----

    /// Moves the clock and stops at every timeout of the core on the way.
    pub fn advance(&mut self, by: Duration) {
        self.advance_to(self.now + by);
    }

    pub fn advance_to(&mut self, end: Now) {
        while self.advance_to_timeout(end) {}
        self.now = end;
    }

    /// Moves the clock to the core's next timeout. Does nothing and returns false if there is none
    /// up to `end`.
    pub fn advance_to_timeout(&mut self, end: Now) -> bool {
        let Some(due) = self.core.poll_timeout().filter(|due| *due <= end) else {
            return false;
        };
        self.now = due.max(self.now);
        self.input(Input::TimeoutReached);
        true
    }

    /// The process is stopped, and resumed when its timers are long overdue.
    pub fn stop_process(&mut self, duration: Duration) {
        self.now += duration;
        self.input(Input::TimeoutReached);
    }

    pub fn now(&self) -> Now {
        self.now
    }

    // ---- the state of the core ----

    /// Whether the core holds nothing of any client or call.
    pub fn is_idle(&self) -> bool {
        self.core.is_idle()
    }

    /// Nobody has to answer anything.
    #[track_caller]
    pub fn assert_nothing_pending(&self) {
        let calls: Vec<_> = self.core.out.calls.iter().collect();
        assert!(calls.is_empty(), "calls remain: {calls:?}");
    }

    /// Everyone has disconnected for good, so the relay knows nothing.
    #[track_caller]
    pub fn assert_nothing_remains(&self) {
        assert!(self.core.is_idle(), "state remains");
        self.assert_nothing_pending();
        assert_eq!(self.core.page_count(), 0, "tabs remain");
        assert_eq!(self.core.poll_timeout(), None, "a timer remains");
    }

    /// No client is connected, so the tabs are as if none had ever been.
    #[track_caller]
    pub fn assert_tabs_forgot_clients(&self) {
        for tab in self.core.world.tabs.iter() {
            assert!(tab.is_dormant(), "{tab:?}");
            assert!(tab.has_forgotten_clients(), "{tab:?}");
        }
        let interned = &self.core.world.interner;
        assert!(interned.is_empty(), "{interned:?}");
    }

    /// Clients that discover targets have received every change of the frames that are targets.
    #[track_caller]
    pub fn assert_frames_announced(&self) {
        for tab in self.core.world.tabs.iter() {
            let frames = tab.frame_targets().into_iter();
            let listed: BTreeSet<_> = frames.map(|frame| frame.target_id).collect();
            let announced: BTreeSet<_> = tab.announced_frames().cloned().collect();
            assert_eq!(listed, announced, "tab {}", tab.id());
        }
    }

    pub fn is_live(&self, tab: i64) -> bool {
        self.core
            .world
            .tabs
            .get(TabId(tab))
            .is_some_and(Tab::is_live)
    }

    pub fn is_paused(&self) -> bool {
        self.core.is_paused()
    }

    /// The tabs that this client uses.
    pub fn tabs_in_use(&self, client: ClientId) -> Vec<i64> {
        let mut in_use = self.core.tabs_in_use();
        let tabs = in_use.remove(&client).unwrap_or_default();
        tabs.into_iter().map(|tab| tab.0).collect()
    }

    /// How many calls to the extension have no reply yet.
    pub fn pending_calls(&self) -> usize {
        self.core.out.calls.iter().count()
    }

    /// The clients that the relay has disconnected.
    pub fn closed_clients(&self) -> &[ClientId] {
        &self.closed_clients
    }

    /// The clients that the relay has disconnected since the last call.
    pub fn take_closed_clients(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.closed_clients)
    }

    /// Why the relay has disconnected the extension, if it has.
    pub fn extension_closed(&self) -> Option<&str> {
        self.extension_closed.as_deref()
    }

    /// As `extension_closed`, and forgets the reason.
    pub fn take_extension_closed(&mut self) -> Option<String> {
        self.extension_closed.take()
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the relay sends JSON")
}
