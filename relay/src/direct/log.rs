//! What is logged about a browser's state, always with the same fields.

use std::sync::Arc;

use super::browser::{Browser, Recovered};
use super::runtime::{DisconnectSignals, Runtime};
use crate::error::Error;

/// The log of one browser. Empty fields are left out.
pub struct Log(pub Arc<Browser>);

#[derive(Default)]
struct Fields<'a> {
    recovery_result: Option<&'a str>,
    recovery_bootstrap: Option<&'a str>,
    short_circuit_browser_close: Option<bool>,
    disconnect_signals: Option<String>,
    reason: Option<String>,
}

impl Log {
    pub fn state(&self, runtime: &Runtime) {
        self.write(runtime, &Fields::default());
    }

    pub fn connected(&self, runtime: &Runtime, recovered: Option<Recovered>) {
        self.write(
            runtime,
            &Fields {
                recovery_result: recovered.map(Recovered::name),
                ..Fields::default()
            },
        );
    }

    pub fn degraded(&self, runtime: &Runtime, signals: &DisconnectSignals, reason: &str) {
        self.write(
            runtime,
            &Fields {
                disconnect_signals: Some(signals.to_string()),
                reason: Some(reason.to_owned()),
                ..Fields::default()
            },
        );
    }

    pub fn recovery_started(&self, runtime: &Runtime) {
        self.write(
            runtime,
            &Fields {
                short_circuit_browser_close: Some(false),
                ..Fields::default()
            },
        );
    }

    pub fn recovery_failed(&self, runtime: &Runtime, error: &Error) {
        self.write(
            runtime,
            &Fields {
                recovery_result: Some("failed"),
                reason: Some(error.to_string()),
                ..Fields::default()
            },
        );
    }

    pub fn bootstrap(&self, runtime: &Runtime, step: &str) {
        self.write(
            runtime,
            &Fields {
                recovery_bootstrap: Some(step),
                ..Fields::default()
            },
        );
    }

    /// `Browser.close` was answered although the browser is not connected.
    pub fn browser_close_answered(&self, runtime: &Runtime) {
        self.write(
            runtime,
            &Fields {
                short_circuit_browser_close: Some(true),
                ..Fields::default()
            },
        );
    }

    fn write(&self, runtime: &Runtime, fields: &Fields<'_>) {
        let browser = &self.0;
        let user_data_dir = browser.user_data_dir.as_ref();
        let attempts = runtime.attempts();
        tracing::info!(
            browser = browser.name,
            transportMode = "ws",
            runtimeState = runtime.state().name(),
            ownership = browser.ownership().name(),
            userDataDir = user_data_dir.map(|folder| folder.display().to_string()),
            debugPort = browser.url().port,
            recoveryAttempt = (attempts > 0).then_some(attempts),
            recoveryResult = fields.recovery_result,
            recoveryBootstrap = fields.recovery_bootstrap,
            shortCircuitBrowserClose = fields.short_circuit_browser_close,
            disconnectSignals = fields.disconnect_signals,
            reason = fields.reason,
            "debugging port",
        );
    }
}
