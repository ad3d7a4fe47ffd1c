//! The launch that is under way, so that whoever stops a browser or the relay can interrupt it. The
//! list of browsers is locked meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::control::LaunchOptions;

use super::launched::is_same;
use super::program::Program;
use crate::error::Error;

#[derive(Default)]
pub struct Launching(Mutex<State>);

#[derive(Default)]
struct State {
    current: Option<Launch>,
    /// The relay is stopping, and nothing is launched any more.
    is_closed: bool,
}

struct Launch {
    program: Arc<Program>,
    /// What was asked for. `None` if the browser was launched before.
    new: Option<LaunchOptions>,
    /// Whether no other browser was launched.
    is_only: bool,
}

/// Until it is dropped, the launch can be interrupted.
pub struct Begun<'a>(&'a Launching);

impl Launching {
    /// Call this inside `Program::unless_closing`, so that no interruption is missed.
    pub fn begin(
        &self,
        program: &Arc<Program>,
        new: Option<&LaunchOptions>,
        is_only: bool,
    ) -> Result<Begun<'_>, Error> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Error::BrowserStopped);
        }
        state.current = Some(Launch {
            program: program.clone(),
            new: new.cloned(),
            is_only,
        });
        Ok(Begun(self))
    }

    /// Ends the launch of this browser, if it is under way, and returns its name. Without a name, it
    /// has to be the only browser.
    pub fn interrupt(&self, name: Option<&str>) -> Option<String> {
        self.interrupt_if(|launch| match name {
            Some(name) => is_same(&launch.program.plan.name, name),
            None => launch.is_only,
        })
    }

    /// As `interrupt`, for a browser that was not launched before.
    pub fn interrupt_new(&self, options: &LaunchOptions) -> Option<String> {
        self.interrupt_if(|launch| launch.new.as_ref() == Some(options))
    }

    fn interrupt_if(&self, is_meant: impl Fn(&Launch) -> bool) -> Option<String> {
        let state = self.lock();
        let launch = state.current.as_ref().filter(|launch| is_meant(launch))?;
        launch.program.interrupt();
        Some(launch.program.plan.name.clone())
    }

    /// Ends the launch that is under way, and lets no other begin.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        if let Some(launch) = &state.current {
            launch.program.interrupt();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.lock().current = None;
    }
}
