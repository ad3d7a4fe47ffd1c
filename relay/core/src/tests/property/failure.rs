//! Finds out whether and where a case fails, and with how few of its steps.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::thread;

use super::simulation::Simulation;
use super::steps::Case;

thread_local! {
    static LAST_PANIC: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// A panic.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The file and line of the check that did not hold.
    pub place: String,
    pub message: String,
}

/// Runs something that runs cases. Their panics on this thread are kept, not printed.
pub fn silently<T>(run: impl FnOnce() -> T) -> T {
    let own = thread::current().id();
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == own {
            LAST_PANIC.set(Some(Failure::new(info)));
        } else {
            print(info);
        }
    }));
    let result = run();
    // The default hook, which also the other tests use.
    drop(panic::take_hook());
    result
}

impl Failure {
    fn new(info: &PanicHookInfo<'_>) -> Self {
        let place = info.location().map(ToString::to_string);
        let message = info.payload_as_str().unwrap_or_default();
        Self {
            place: place.unwrap_or_default(),
            message: message.to_owned(),
        }
    }

    /// Runs a case.
    pub fn of(case: &Case) -> Option<Self> {
        let run = AssertUnwindSafe(|| Simulation::run(case, false));
        panic::catch_unwind(run).err()?;
        LAST_PANIC.take()
    }

    /// The same case without the steps that it does not need to fail in the same place.
    pub fn shrink(&self, case: &Case) -> Case {
        let mut smallest = case.clone();
        let mut length = smallest.steps.len();
        while length > 0 {
            let count = smallest.steps.len();
            self.remove_chunks(&mut smallest, length);
            if smallest.steps.len() == count || length > 1 {
                length /= 2;
            }
        }
        smallest
    }

    fn remove_chunks(&self, case: &mut Case, length: usize) {
        let mut start = 0;
        while start < case.steps.len() {
            let end = case.steps.len().min(start + length);
            let mut shorter = case.clone();
            shorter.steps.drain(start..end);
            if Self::of(&shorter).is_some_and(|failure| failure.place == self.place) {
                *case = shorter;
            } else {
                start = end;
            }
        }
    }
}
