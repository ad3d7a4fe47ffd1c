//! What a session has received of what its page logged. Chrome keeps what a page logs, and reports it
//! again to a debugger that is attached again. Sessions that have received it must not receive it
//! twice; others must receive all of it.

use crate::protocol::json;
use crate::protocol::methods::event::Event;

#[derive(Debug, Default)]
pub struct Logged {
    console: Received,
    entries: Received,
}

#[derive(Debug, Default)]
struct Received {
    /// The time of the last event, and how many in a row had it. Times are only compared for
    /// equality, because clocks can be set back.
    last: Option<(LogTime, usize)>,
    /// How many of the next events are repetitions.
    repeated: usize,
}

/// Chrome's time of an event, in whichever unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTime(u64);

impl LogTime {
    /// `None` for events that are not logged by a page.
    pub fn of(event: Event, params: &str) -> Option<Self> {
        let entry = match event {
            Event::ConsoleCalled => params,
            Event::LogEntryAdded => json::field(params, "entry")?,
            _ => return None,
        };
        let time: f64 = json::field(entry, "timestamp")?.parse().ok()?;
        Some(Self(time.to_bits()))
    }
}

impl Logged {
    /// The debugger was attached again, and has reported these events. Those up to the last one that
    /// was received are repetitions. If that is not among them, Chrome has forgotten it, and all are
    /// new.
    pub fn expect_repetitions(&mut self, reported: &[(Event, LogTime)]) {
        for kind in [Event::ConsoleCalled, Event::LogEntryAdded] {
            let times = reported.iter().filter(|(event, _)| *event == kind);
            if let Some(received) = self.received(kind) {
                received.expect_repetitions(times.map(|(_, time)| *time));
            }
        }
    }

    /// Whether the session has received this event before. If not, it receives it now.
    pub fn is_repeated(&mut self, event: Event, time: LogTime) -> bool {
        self.received(event)
            .is_some_and(|received| received.is_repeated(time))
    }

    /// The session has disabled a domain. When it enables it again, it wants everything again.
    pub fn forget(&mut self, domain: &str) {
        match domain {
            "Runtime" => self.console = Received::default(),
            "Log" => self.entries = Received::default(),
            _ => {}
        }
    }

    fn received(&mut self, event: Event) -> Option<&mut Received> {
        match event {
            Event::ConsoleCalled => Some(&mut self.console),
            Event::LogEntryAdded => Some(&mut self.entries),
            _ => None,
        }
    }
}

impl Received {
    fn expect_repetitions(&mut self, reported: impl Iterator<Item = LogTime>) {
        let Some((last, count)) = self.last else {
            return;
        };
        let same = reported.enumerate().filter(|(_, time)| *time == last);
        self.repeated = same.take(count).last().map_or(0, |(index, _)| index + 1);
    }

    fn is_repeated(&mut self, time: LogTime) -> bool {
        if self.repeated > 0 {
            self.repeated -= 1;
            return true;
        }
        self.last = match self.last {
            Some((last, count)) if last == time => Some((last, count + 1)),
            _ => Some((time, 1)),
        };
        false
    }
}
