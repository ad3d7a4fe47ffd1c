//! The core's time: it stands still while the process does.

use std::time::Duration;

use crate::Now;

/// How late a timeout may be reported before the process must have been stopped.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// How long what was received meanwhile has to arrive, before deadlines pass.
const CATCH_UP: Duration = Duration::from_secs(1);

/// A process that is stopped for a minute (SIGSTOP, a debugger, a machine that swaps) misses its
/// deadlines, although the replies may have arrived in time and wait in its sockets. So a long
/// delay does not count.
#[derive(Debug, Default)]
pub struct Clock {
    now: Now,
    /// By how much this clock is slow.
    stopped: Duration,
}

impl Clock {
    /// `real`: the time outside. `due`: the next deadline, on this clock.
    pub fn advance(&mut self, real: Now, due: Option<Now>) -> Now {
        let now = real.saturating_sub(self.stopped);
        let resumed = due.filter(|due| now > *due + MAX_DELAY);
        let resumed = resumed.map(|due| due.saturating_sub(CATCH_UP).max(self.now));
        if let Some(resumed) = resumed {
            self.stopped += now.saturating_sub(resumed);
        }
        self.now = resumed.unwrap_or(now);
        self.now
    }

    /// When this clock will show this time.
    pub fn to_real(&self, time: Now) -> Now {
        time + self.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::{CATCH_UP, Clock, Now};

    fn seconds(seconds: u64) -> Now {
        Now::from_secs(seconds)
    }

    #[test]
    fn shows_the_time_outside() {
        let mut clock = Clock::default();
        assert_eq!(clock.advance(seconds(100), None), seconds(100));
        assert_eq!(
            clock.advance(seconds(102), Some(seconds(101))),
            seconds(102)
        );
        assert_eq!(clock.to_real(seconds(110)), seconds(110));
    }

    #[test]
    fn stands_still_while_the_process_does() {
        let mut clock = Clock::default();
        clock.advance(seconds(100), None);
        let due = seconds(110);
        assert_eq!(clock.advance(seconds(170), Some(due)), seconds(109));
        assert_eq!(clock.to_real(due), seconds(170) + CATCH_UP);
        assert_eq!(clock.advance(seconds(171), Some(due)), due);
    }

    #[test]
    fn never_goes_back() {
        let mut clock = Clock::default();
        clock.advance(seconds(100), None);
        let due = seconds(100);
        assert_eq!(clock.advance(seconds(170), Some(due)), seconds(100));
    }
}
