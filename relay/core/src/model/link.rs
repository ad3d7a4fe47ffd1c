//! The extension's connection, from opening to use, and its timers.

use std::time::Duration;

use crate::Now;
use crate::protocol::handshake::Browser;

#[derive(Debug, Default)]
enum State {
    #[default]
    Absent,
    /// Connected, but it still has to list its tabs.
    Greeting {
        browser: Browser,
        deadline: Now,
    },
    Ready {
        browser: Browser,
    },
}

#[derive(Debug, Default)]
pub struct Link {
    state: State,
    /// The browser that is connected, or was last.
    install_id: String,
    next_ping: Option<Now>,
    pong_deadline: Option<Now>,
    /// When the tabs of a disconnected browser are considered gone.
    tabs_expire: Option<Now>,
    /// When the browser disconnected, until the next one connects.
    lost_at: Option<Now>,
    /// Until when clients' messages wait for a browser that has disconnected.
    return_deadline: Option<Now>,
    /// Until when a browser that is being launched may connect.
    launch_deadline: Option<Now>,
    /// Why the last launch failed. Set only while the messages that waited for it are answered.
    launch_failure: Option<String>,
}

/// A ping is sent when it is due; a missing pong closes the link.
#[derive(Debug, PartialEq, Eq)]
pub enum Heartbeat {
    Quiet,
    PingDue,
    PongOverdue,
}

impl Link {
    /// Whether this browser is the one that was connected last.
    pub fn was_last(&self, install_id: &str) -> bool {
        self.install_id == install_id
    }

    pub fn open(
        &mut self,
        install_id: &str,
        browser: Browser,
        greeting_deadline: Now,
        next_ping: Now,
    ) {
        *self = Self {
            state: State::Greeting {
                browser,
                deadline: greeting_deadline,
            },
            install_id: install_id.to_owned(),
            next_ping: Some(next_ping),
            ..Self::default()
        };
    }

    /// The browser has disconnected, and may be back before these deadlines.
    pub fn close(&mut self, now: Now, tabs_expire: Now, return_deadline: Option<Now>) {
        *self = Self {
            install_id: std::mem::take(&mut self.install_id),
            tabs_expire: Some(tabs_expire),
            lost_at: Some(now),
            return_deadline,
            ..Self::default()
        };
    }

    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent)
    }

    pub fn is_greeting(&self) -> bool {
        matches!(self.state, State::Greeting { .. })
    }

    /// Whether clients' messages have to wait for a browser.
    pub fn is_coming(&self) -> bool {
        self.is_greeting() || self.launch_deadline.is_some() || self.return_deadline.is_some()
    }

    /// Clients' messages wait for a browser that has disconnected.
    pub fn await_return(&mut self, deadline: Now) {
        self.return_deadline = Some(deadline);
    }

    /// Clients' messages do not wait any longer for a browser that has disconnected.
    pub fn stop_awaiting_return(&mut self, now: Now) {
        self.return_deadline.take_if(|due| *due <= now);
    }

    /// How long ago the browser disconnected that was connected last.
    pub fn absence(&self, now: Now) -> Option<Duration> {
        self.lost_at.map(|since| now.saturating_sub(since))
    }

    pub fn await_launch(&mut self, deadline: Now) {
        self.launch_deadline = Some(deadline);
    }

    /// Nobody waits for a browser any more. Ignored if one has connected in the meantime.
    pub fn fail_launch(&mut self, reason: &str) {
        if self.launch_deadline.take().is_some() {
            self.launch_failure = Some(reason.to_owned());
        }
    }

    pub fn is_launch_overdue(&self, now: Now) -> bool {
        self.launch_deadline.is_some_and(|due| due <= now)
    }

    pub fn launch_failure(&self) -> Option<&str> {
        self.launch_failure.as_deref()
    }

    pub fn forget_launch_failure(&mut self) {
        self.launch_failure = None;
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }

    /// The browser, once its tabs are known.
    pub fn browser(&self) -> Option<&Browser> {
        match &self.state {
            State::Ready { browser } => Some(browser),
            State::Absent | State::Greeting { .. } => None,
        }
    }

    /// The tab list was received.
    pub fn become_ready(&mut self) {
        self.state = match std::mem::take(&mut self.state) {
            State::Greeting { browser, .. } => State::Ready { browser },
            other => other,
        };
    }

    pub fn is_greeting_overdue(&self, now: Now) -> bool {
        matches!(self.state, State::Greeting { deadline, .. } if deadline <= now)
    }

    /// Any message shows that the extension is alive.
    pub fn on_message(&mut self) {
        self.pong_deadline = None;
    }

    pub fn heartbeat(&self, now: Now) -> Heartbeat {
        if self.pong_deadline.is_some_and(|due| due <= now) {
            Heartbeat::PongOverdue
        } else if self.next_ping.is_some_and(|due| due <= now) {
            Heartbeat::PingDue
        } else {
            Heartbeat::Quiet
        }
    }

    pub fn on_ping_sent(&mut self, next_ping: Now, pong_deadline: Now) {
        self.next_ping = Some(next_ping);
        self.pong_deadline.get_or_insert(pong_deadline);
    }

    /// Returns true once, when the tabs of a disconnected browser expire.
    pub fn take_expired_tabs(&mut self, now: Now) -> bool {
        self.tabs_expire.take_if(|due| *due <= now).is_some()
    }

    pub fn next_deadline(&self) -> Option<Now> {
        let greeting = match self.state {
            State::Greeting { deadline, .. } => Some(deadline),
            State::Absent | State::Ready { .. } => None,
        };
        [
            self.next_ping,
            self.pong_deadline,
            self.tabs_expire,
            self.launch_deadline,
            self.return_deadline,
            greeting,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
