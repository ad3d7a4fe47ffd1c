//! Whether a browser can be reached, as a state machine without sockets and clocks:
//!
//! starting → connected ⇄ degraded → closing
//!
//! Only the loss of a connection means that the browser may be gone. That a target was detached,
//! which also happens when a tab closes or crashes, is merely kept for the log.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tabwire_core::Now;

/// How many weak signals are kept.
const MAX_WEAK_SIGNALS: usize = 10;
/// A weak signal belongs to the loss of a connection that follows within this time.
const SIGNAL_WINDOW: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Starting,
    Connected,
    /// A client's connection to the browser is lost. The next request of that client recovers it.
    Degraded,
    Closing,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Degraded => "degraded",
            Self::Closing => "closing",
        }
    }
}

/// An event that often precedes the end of a browser, but does not prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakSignal {
    InspectorDetached,
    DetachedFromTarget,
}

impl WeakSignal {
    fn name(self) -> &'static str {
        match self {
            Self::InspectorDetached => "Inspector.detached",
            Self::DetachedFromTarget => "Target.detachedFromTarget",
        }
    }
}

/// How the connection to the browser was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrongSignal {
    /// The browser closed it in an orderly way.
    Closed,
    /// It ended without a close frame, or broke the protocol.
    Failed,
    /// It could not be opened.
    NotOpened,
    /// The browser does not read what it is sent.
    NotReading,
    /// The relay closed it, for example because the extension did not respond.
    ByRelay,
}

impl StrongSignal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "ConnectionClosed",
            Self::Failed => "ConnectionClosedPrematurely",
            Self::NotOpened => "ConnectionNotOpened",
            Self::NotReading => "ConnectionNotReading",
            Self::ByRelay => "ConnectionClosedByRelay",
        }
    }
}

/// The names of what was observed around the loss of a connection, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisconnectSignals(Vec<&'static str>);

impl fmt::Display for DisconnectSignals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

#[derive(Debug)]
pub struct Runtime {
    state: State,
    /// The most recent ones, the oldest first.
    weak_signals: VecDeque<(Now, WeakSignal)>,
    is_recovering: bool,
    /// How many recoveries have been started.
    attempts: u32,
}

impl Runtime {
    pub fn new() -> Self {
        Self {
            state: State::Starting,
            weak_signals: VecDeque::new(),
            is_recovering: false,
            attempts: 0,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    pub fn is_recovering(&self) -> bool {
        self.is_recovering
    }

    /// The browser's port answers. Returns whether it did not before.
    pub fn on_found(&mut self) -> bool {
        self.is_recovering = false;
        let is_new = matches!(self.state, State::Starting | State::Degraded);
        if is_new {
            self.state = State::Connected;
        }
        is_new
    }

    pub fn on_weak(&mut self, now: Now, signal: WeakSignal) {
        if self.weak_signals.len() == MAX_WEAK_SIGNALS {
            self.weak_signals.pop_front();
        }
        self.weak_signals.push_back((now, signal));
    }

    /// A client's connection is lost. Returns what has been observed if the state changes.
    pub fn on_strong(&mut self, now: Now, signal: StrongSignal) -> Option<DisconnectSignals> {
        if self.state != State::Connected {
            return None;
        }
        self.state = State::Degraded;
        let mut names = Vec::new();
        for (at, weak) in &self.weak_signals {
            let is_recent = now.saturating_sub(*at) <= SIGNAL_WINDOW;
            if is_recent && !names.contains(&weak.name()) {
                names.push(weak.name());
            }
        }
        names.push(signal.name());
        Some(DisconnectSignals(names))
    }

    /// A client whose connection is lost sends a request. Returns whether a recovery has to be
    /// started.
    pub fn on_request(&mut self) -> bool {
        let starts = self.state == State::Degraded && !self.is_recovering;
        if starts {
            self.is_recovering = true;
            self.attempts += 1;
        }
        starts
    }

    pub fn on_recovery_failed(&mut self) {
        self.is_recovering = false;
        if self.state == State::Connected {
            self.state = State::Degraded;
        }
    }

    pub fn on_stop(&mut self) {
        self.state = State::Closing;
        self.is_recovering = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Now = Duration::from_secs(100);

    fn connected() -> Runtime {
        let mut runtime = Runtime::new();
        assert!(runtime.on_found());
        runtime
    }

    fn signals(runtime: &mut Runtime, now: Now, signal: StrongSignal) -> String {
        runtime
            .on_strong(now, signal)
            .expect("degraded")
            .to_string()
    }

    #[test]
    fn starts_connected_once_the_port_answers() {
        let mut runtime = Runtime::new();
        assert_eq!(runtime.state(), State::Starting);
        assert!(runtime.on_found());
        assert_eq!(runtime.state(), State::Connected);
        assert!(!runtime.on_found());
    }

    #[test]
    fn weak_signals_alone_never_mean_that_the_browser_is_gone() {
        let mut runtime = connected();
        for second in 0..100 {
            runtime.on_weak(Duration::from_secs(second), WeakSignal::InspectorDetached);
            runtime.on_weak(Duration::from_secs(second), WeakSignal::DetachedFromTarget);
        }
        assert_eq!(runtime.state(), State::Connected);
        assert!(!runtime.on_request());
    }

    #[test]
    fn lost_connection_degrades_with_or_without_weak_signals() {
        let mut runtime = connected();
        assert_eq!(
            signals(&mut runtime, START, StrongSignal::Closed),
            "ConnectionClosed"
        );
        assert_eq!(runtime.state(), State::Degraded);
        // The connections of other clients end at the same time.
        assert_eq!(runtime.on_strong(START, StrongSignal::Failed), None);
    }

    #[test]
    fn reports_weak_signals_of_the_last_two_seconds() {
        let mut runtime = connected();
        let before = |milliseconds| START.saturating_sub(Duration::from_millis(milliseconds));
        runtime.on_weak(before(2_001), WeakSignal::InspectorDetached);
        runtime.on_weak(before(2_000), WeakSignal::DetachedFromTarget);
        runtime.on_weak(before(10), WeakSignal::DetachedFromTarget);
        assert_eq!(
            signals(&mut runtime, START, StrongSignal::Failed),
            "Target.detachedFromTarget,ConnectionClosedPrematurely"
        );
    }

    #[test]
    fn keeps_the_last_ten_weak_signals() {
        let mut runtime = connected();
        runtime.on_weak(START, WeakSignal::InspectorDetached);
        for _ in 0..MAX_WEAK_SIGNALS {
            runtime.on_weak(START, WeakSignal::DetachedFromTarget);
        }
        assert_eq!(runtime.weak_signals.len(), MAX_WEAK_SIGNALS);
        assert_eq!(
            signals(&mut runtime, START, StrongSignal::NotOpened),
            "Target.detachedFromTarget,ConnectionNotOpened"
        );
    }

    #[test]
    fn one_request_starts_one_recovery() {
        let mut runtime = connected();
        assert!(!runtime.on_request());
        runtime.on_strong(START, StrongSignal::Closed);
        assert!(runtime.on_request());
        assert!(!runtime.on_request());
        assert_eq!(runtime.attempts(), 1);
        assert!(runtime.on_found());
        assert_eq!(runtime.state(), State::Connected);
    }

    #[test]
    fn failed_recovery_is_tried_again_with_the_next_request() {
        let mut runtime = connected();
        runtime.on_strong(START, StrongSignal::Closed);
        assert!(runtime.on_request());
        runtime.on_recovery_failed();
        assert_eq!(runtime.state(), State::Degraded);
        assert!(runtime.on_request());
        assert_eq!(runtime.attempts(), 2);
    }

    #[test]
    fn nothing_happens_while_closing() {
        let mut runtime = connected();
        runtime.on_stop();
        assert_eq!(runtime.on_strong(START, StrongSignal::Closed), None);
        assert!(!runtime.on_request());
        assert!(!runtime.on_found());
        assert_eq!(runtime.state(), State::Closing);
    }
}
