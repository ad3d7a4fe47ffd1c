//! The state of a browser that is used through its extension, and what is logged about it: with the fields
//! and the words of the direct backend, which has a log of its own. Decides nothing.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tabwire_core::Now;
use tabwire_home::control::Ownership;

use crate::direct::{DisconnectSignals, Runtime, State, StrongSignal};
use crate::error::Error;

/// The log of one browser that this relay has launched or joined.
pub struct StateLog {
    browser: String,
    user_data_dir: PathBuf,
    runtime: Mutex<Runtime>,
}

#[derive(Default)]
struct Fields {
    recovery_result: Option<&'static str>,
    short_circuit_browser_close: Option<bool>,
    disconnect_signals: Option<DisconnectSignals>,
    reason: Option<String>,
}

impl StateLog {
    pub fn new(browser: String, user_data_dir: PathBuf) -> Self {
        Self {
            browser,
            user_data_dir,
            runtime: Mutex::new(Runtime::new()),
        }
    }

    /// `is_again`: the browser had gone by itself.
    pub fn starting(&self, ownership: Ownership, is_again: bool) {
        let mut runtime = self.lock();
        if !is_again {
            *runtime = Runtime::new();
        }
        // Its process may have ended before its connection.
        if let Some(signals) = runtime.on_strong(Now::ZERO, StrongSignal::Failed) {
            self.write_degraded(&runtime, ownership, signals);
        }
        let is_recovery = runtime.on_request();
        let fields = Fields {
            short_circuit_browser_close: is_recovery.then_some(false),
            ..Fields::default()
        };
        self.write(&runtime, ownership, fields);
    }

    /// The browser's extension has connected by itself. One that was started is not ready yet.
    pub fn extension_opened(&self, ownership: Ownership) {
        let mut runtime = self.lock();
        if runtime.state() == State::Degraded && !runtime.is_recovering() && runtime.on_found() {
            self.write_connected(&runtime, ownership, Some("attached"));
        }
    }

    pub fn extension_lost(&self, ownership: Ownership, signal: StrongSignal) {
        let mut runtime = self.lock();
        if let Some(signals) = runtime.on_strong(Now::ZERO, signal) {
            self.write_degraded(&runtime, ownership, signals);
        }
    }

    /// The browser can be used.
    pub fn connected(&self, ownership: Ownership) {
        let mut runtime = self.lock();
        let result = runtime.is_recovering().then_some(match ownership {
            Ownership::Launched => "relaunched",
            Ownership::Attached => "attached",
        });
        if runtime.on_found() {
            self.write_connected(&runtime, ownership, result);
        }
    }

    pub fn recovery_failed(&self, ownership: Ownership, error: &Error) {
        let mut runtime = self.lock();
        if !runtime.is_recovering() {
            return;
        }
        runtime.on_recovery_failed();
        let fields = Fields {
            recovery_result: Some("failed"),
            reason: Some(error.to_string()),
            ..Fields::default()
        };
        self.write(&runtime, ownership, fields);
    }

    pub fn closing(&self, ownership: Ownership) {
        let mut runtime = self.lock();
        runtime.on_stop();
        self.write(&runtime, ownership, Fields::default());
    }

    fn write_connected(
        &self,
        runtime: &Runtime,
        ownership: Ownership,
        recovery_result: Option<&'static str>,
    ) {
        let fields = Fields {
            recovery_result,
            ..Fields::default()
        };
        self.write(runtime, ownership, fields);
    }

    fn write_degraded(&self, runtime: &Runtime, ownership: Ownership, signals: DisconnectSignals) {
        let fields = Fields {
            disconnect_signals: Some(signals),
            ..Fields::default()
        };
        self.write(runtime, ownership, fields);
    }

    fn write(&self, runtime: &Runtime, ownership: Ownership, fields: Fields) {
        let attempts = runtime.attempts();
        let signals = fields.disconnect_signals;
        tracing::info!(
            browser = self.browser,
            transportMode = "extension",
            runtimeState = runtime.state().name(),
            ownership = ownership.name(),
            userDataDir = %self.user_data_dir.display(),
            recoveryAttempt = (attempts > 0).then_some(attempts),
            recoveryResult = fields.recovery_result,
            shortCircuitBrowserClose = fields.short_circuit_browser_close,
            disconnectSignals = signals.map(|signals| signals.to_string()),
            reason = fields.reason,
            "extension",
        );
    }

    fn lock(&self) -> MutexGuard<'_, Runtime> {
        self.runtime.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
