//! The core's interface: what goes in, what comes out, and how it is configured.

use std::time::Duration;

use serde::Serialize;

use super::handshake::Browser;
use super::ids::{ClientId, MethodName, SessionId, TargetId};

/// Time since the relay started. The core never reads a clock.
pub type Now = Duration;

/// How many bytes of commands can wait: per client for the browser to connect, per tab for it to
/// wake, per session at barriers.
pub(crate) const MAX_WAITING_BYTES: usize = 64 << 20;

/// What happened outside.
#[derive(Debug)]
pub enum Input<'a> {
    ClientOpened {
        client: ClientId,
        connection: Connection<'a>,
        /// The first client of the same program, or itself.
        program: ClientId,
        /// What the tab group of the tabs that it creates is called. `None`: they are in no group.
        group: Option<&'a str>,
        /// By which a client that connects again is recognized, so that what the person took back from
        /// it stays theirs. `None`: it is a new client.
        identity: Option<&'a str>,
    },
    ClientText(ClientId, &'a str),
    ClientClosed(ClientId),
    /// The extension has proven who it is. `install_id` identifies its browser.
    ExtensionOpened {
        install_id: &'a str,
        browser: Browser,
        /// From now on in place of `Config::launch_timeout`.
        launch_timeout: Option<Duration>,
    },
    /// The browser that `Output::LaunchBrowser` asked for cannot be started.
    LaunchFailed(&'a str),
    ExtensionText(&'a str),
    ExtensionClosed,
    /// What `Output::PlaceFile` asked for is done.
    FilePlaced(Placed),
    /// The time that `poll_timeout` returned has come.
    TimeoutReached,
    /// The relay is about to stop: the debugger is detached from every tab.
    Stopping,
}

/// What a client is connected to, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection<'a> {
    /// The browser, and through it every target.
    Browser,
    /// The target with this DevTools id: a message without a session id is for it.
    Target(&'a str),
    /// The browser, for a single HTTP request. The client does not own what it creates, because it
    /// leaves at once.
    Request,
}

/// What has to be done outside, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    ToClient(ClientId, String),
    ToExtension(String),
    CloseClient(ClientId, CloseReason),
    CloseExtension(String),
    /// A client needs a browser, and none is connected. Only if `Config::launch_timeout` is set.
    LaunchBrowser,
    /// A download has finished: put its file where clients want it.
    PlaceFile(Placement),
    /// The person wants nobody to use the browser without a token any longer.
    ClosePort,
    /// A client's request has been answered; its reply precedes this. Only if
    /// `Config::reports_answers` is set.
    Answered(Answered),
}

/// The file of a finished download, and where clients want it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Chrome's id of the download.
    pub guid: String,
    /// Where Chrome has put the file.
    pub source: String,
    /// None if the download was cancelled: then only the folder that it was in is tidied up.
    pub places: Vec<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub folder: String,
    /// A plain file name.
    pub name: String,
    /// Whether the file gets a number if there is one of this name already.
    pub is_numbered: bool,
}

/// What has become of a [`Placement`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub guid: String,
    /// For each place the path of the file, or the reason why it is not there.
    pub files: Vec<Result<String, String>>,
    /// The file that Chrome saved is still there, because it is not in Tabwire's folder.
    pub is_source_kept: bool,
}

/// A request that has been answered, without its parameters and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub client_id: ClientId,
    /// `None` for the client's root session.
    pub session_id: Option<SessionId>,
    /// Empty for a message that is not a request.
    pub method: MethodName,
    /// Since the request arrived.
    pub took: Duration,
    /// The code of the error reply.
    pub error: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// The client sent `Browser.close`.
    Requested,
    /// The client was connected to a target that does not exist any more.
    TargetClosed,
}

#[derive(Debug, Clone)]
pub struct Config {
    pub seed: u64,
    pub ping_interval: Duration,
    /// How long the extension may take to answer a ping.
    pub pong_timeout: Duration,
    /// How long the extension may take to list its tabs.
    pub greeting_timeout: Duration,
    /// How long clients' messages wait for a browser that has disconnected, for example because its
    /// extension's worker was stopped.
    pub return_timeout: Duration,
    /// How long they wait after the start, because a browser may still be looking for the relay.
    pub start_timeout: Duration,
    /// How long a browser may be disconnected, for example while the machine swaps or the browser
    /// is stopped, before its tabs are considered gone.
    pub absence_timeout: Duration,
    /// How long Chrome may take to attach its debugger, or to create or close a tab.
    pub tab_call_timeout: Duration,
    /// How long a page may be silent while a client waits for it.
    pub command_timeout: Duration,
    pub on_disconnect: OnDisconnect,
    /// How long a browser that the relay launches may take to connect. `None`: the relay launches
    /// none.
    pub launch_timeout: Option<Duration>,
    /// Whether every answered request is reported, for a log.
    pub reports_answers: bool,
    /// Whether the person's tabs behave as if they had the focus while a client's library wants that.
    pub emulates_focus: bool,
}

/// What happens to the tabs that a client created when it disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisconnect {
    Keep,
    CloseCreated,
}

impl Config {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ping_interval: Duration::from_secs(5),
            // A worker that writes a very large message sends nothing else in the meantime.
            pong_timeout: Duration::from_secs(10),
            greeting_timeout: Duration::from_secs(5),
            return_timeout: Duration::from_secs(10),
            start_timeout: Duration::ZERO,
            absence_timeout: Duration::from_secs(120),
            tab_call_timeout: Duration::from_secs(10),
            command_timeout: Duration::from_secs(30),
            on_disconnect: OnDisconnect::Keep,
            launch_timeout: None,
            reports_answers: false,
            emulates_focus: true,
        }
    }
}

/// A page and its cross-process frames as `/json/list` shows them.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageSummary {
    pub id: TargetId,
    pub url: String,
    pub title: String,
    pub frames: Vec<FrameSummary>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameSummary {
    pub id: TargetId,
    pub parent_id: TargetId,
    pub url: String,
}
