//! The launch that is under way, so that whoever stops a browser or the relay can interrupt it. The
//! list of browsers is locked meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tabwire_home::control::LaunchOptions;

use super::launched::{Launched, Which, is_same};
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
    id: u32,
    /// What the browser is called.
    name: String,
    program: Arc<Program>,
    /// What was asked for. `None` if the browser was launched before.
    new: Option<LaunchOptions>,
    /// Whether no other browser was launched.
    is_only: bool,
}

/// The browser whose launch was interrupted.
pub struct Interrupted {
    pub id: u32,
    pub name: String,
}

impl Launch {
    fn is(&self, which: Which<'_>) -> bool {
        match which {
            Which::Only => self.is_only,
            Which::Named(name) => is_same(&self.name, name),
            Which::Id(id) => self.id == id,
        }
    }
}

/// Until it is dropped, the launch can be interrupted.
pub struct Begun<'a>(&'a Launching);

impl Launching {
    /// Call this inside `Program::unless_closing`, so that no interruption is missed.
    pub fn begin(&self, browser: &Launched, is_only: bool) -> Result<Begun<'_>, Error> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Error::BrowserStopped);
        }
        state.current = Some(Launch {
            id: browser.id,
            name: browser.name().to_owned(),
            program: browser.program.clone(),
            new: browser.is_new().then(|| browser.options.clone()),
            is_only,
        });
        Ok(Begun(self))
    }

    /// Ends the launch of this browser, if it is under way. Without a name, it has to be the only
    /// browser.
    pub fn interrupt(&self, which: Which<'_>) -> Option<Interrupted> {
        self.interrupt_if(|launch| launch.is(which))
    }

    /// As `interrupt`, for a browser that was launched before.
    pub fn interrupt_again(&self, which: Which<'_>) {
        self.interrupt_if(|launch| launch.new.is_none() && launch.is(which));
    }

    /// As `interrupt`, for a browser that was not launched before.
    pub fn interrupt_new(&self, options: &LaunchOptions) -> Option<Interrupted> {
        self.interrupt_if(|launch| launch.new.as_ref() == Some(options))
    }

    fn interrupt_if(&self, is_meant: impl Fn(&Launch) -> bool) -> Option<Interrupted> {
        let state = self.lock();
        let launch = state.current.as_ref().filter(|launch| is_meant(launch))?;
        launch.program.interrupt();
        Some(Interrupted {
            id: launch.id,
            name: launch.name.clone(),
        })
    }

    /// Ends the launch that is under way, and lets no other begin.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        if let Some(launch) = &state.current {
            launch.program.interrupt();
        }
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
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
