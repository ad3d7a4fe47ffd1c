//! The extension's connection, from opening to use, and its timers.

use crate::Now;
use crate::protocol::wire::Hello;

#[derive(Debug, Default)]
enum State {
    #[default]
    Absent,
    /// Connected, but it still has to send its hello and list its tabs.
    Greeting {
        hello: Option<Hello>,
        deadline: Now,
    },
    Ready {
        hello: Hello,
    },
}

#[derive(Debug, Default)]
pub struct Link {
    state: State,
    next_ping: Option<Now>,
    pong_deadline: Option<Now>,
    /// When the tabs of a disconnected browser are considered gone.
    tabs_expire: Option<Now>,
}

/// A ping is sent when it is due; a missing pong closes the link.
#[derive(Debug, PartialEq, Eq)]
pub enum Heartbeat {
    Quiet,
    PingDue,
    PongOverdue,
}

impl Link {
    pub fn open(&mut self, greeting_deadline: Now, next_ping: Now) {
        self.state = State::Greeting {
            hello: None,
            deadline: greeting_deadline,
        };
        self.next_ping = Some(next_ping);
        self.pong_deadline = None;
        self.tabs_expire = None;
    }

    pub fn close(&mut self, tabs_expire: Now) {
        *self = Self {
            tabs_expire: Some(tabs_expire),
            ..Self::default()
        };
    }

    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent)
    }

    pub fn is_greeting(&self) -> bool {
        matches!(self.state, State::Greeting { .. })
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }

    /// The browser's hello, once its tabs are known.
    pub fn browser(&self) -> Option<&Hello> {
        match &self.state {
            State::Ready { hello } => Some(hello),
            State::Absent | State::Greeting { .. } => None,
        }
    }

    pub fn set_hello(&mut self, received: Hello) {
        if let State::Greeting { hello, .. } = &mut self.state {
            *hello = Some(received);
        }
    }

    /// Whether the hello was received and the tab list was not.
    pub fn awaits_tabs(&self) -> bool {
        matches!(&self.state, State::Greeting { hello: Some(_), .. })
    }

    /// The hello and the tab list were received.
    pub fn become_ready(&mut self) {
        if let State::Greeting { hello, .. } = &mut self.state
            && let Some(hello) = hello.take()
        {
            self.state = State::Ready { hello };
        }
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
            greeting,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
