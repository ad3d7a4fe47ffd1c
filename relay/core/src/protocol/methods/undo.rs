//! How the settings of a session are reverted when it ends, and which commands revert an earlier
//! one.

use std::borrow::Cow;

use super::init::{self, Replay};
use crate::protocol::json;

/// A command that sets something in a page, and the command with parameters that reverts it. Sorted
/// by the first.
#[rustfmt::skip]
const OVERRIDES: &[(&str, &str, &str)] = &[
    ("Debugger.setBreakpointsActive",               "Debugger.setBreakpointsActive",               r#"{"active":true}"#),
    ("Debugger.setPauseOnExceptions",               "Debugger.setPauseOnExceptions",               r#"{"state":"none"}"#),
    ("Debugger.setSkipAllPauses",                   "Debugger.setSkipAllPauses",                   r#"{"skip":false}"#),
    ("Emulation.setAutoDarkModeOverride",           "Emulation.setAutoDarkModeOverride",           "{}"),
    ("Emulation.setCPUThrottlingRate",              "Emulation.setCPUThrottlingRate",              r#"{"rate":1}"#),
    ("Emulation.setDataSaverOverride",              "Emulation.setDataSaverOverride",              "{}"),
    ("Emulation.setDefaultBackgroundColorOverride", "Emulation.setDefaultBackgroundColorOverride", "{}"),
    ("Emulation.setDeviceMetricsOverride",          "Emulation.clearDeviceMetricsOverride",        "{}"),
    ("Emulation.setDisplayFeaturesOverride",        "Emulation.clearDisplayFeaturesOverride",      "{}"),
    ("Emulation.setDocumentCookieDisabled",         "Emulation.setDocumentCookieDisabled",         r#"{"disabled":false}"#),
    ("Emulation.setEmulatedMedia",                  "Emulation.setEmulatedMedia",                  r#"{"media":"","features":[]}"#),
    ("Emulation.setEmulatedVisionDeficiency",       "Emulation.setEmulatedVisionDeficiency",       r#"{"type":"none"}"#),
    ("Emulation.setFocusEmulationEnabled",          "Emulation.setFocusEmulationEnabled",          r#"{"enabled":false}"#),
    ("Emulation.setGeolocationOverride",            "Emulation.clearGeolocationOverride",          "{}"),
    ("Emulation.setIdleOverride",                   "Emulation.clearIdleOverride",                 "{}"),
    ("Emulation.setLocaleOverride",                 "Emulation.setLocaleOverride",                 "{}"),
    ("Emulation.setPageScaleFactor",                "Emulation.resetPageScaleFactor",              "{}"),
    ("Emulation.setScriptExecutionDisabled",        "Emulation.setScriptExecutionDisabled",        r#"{"value":false}"#),
    ("Emulation.setScrollbarsHidden",               "Emulation.setScrollbarsHidden",               r#"{"hidden":false}"#),
    ("Emulation.setTimezoneOverride",               "Emulation.setTimezoneOverride",               r#"{"timezoneId":""}"#),
    ("Emulation.setTouchEmulationEnabled",          "Emulation.setTouchEmulationEnabled",          r#"{"enabled":false}"#),
    ("Emulation.setUserAgentOverride",              "Emulation.setUserAgentOverride",              r#"{"userAgent":""}"#),
    ("Input.setIgnoreInputEvents",                  "Input.setIgnoreInputEvents",                  r#"{"ignore":false}"#),
    ("Input.setInterceptDrags",                     "Input.setInterceptDrags",                     r#"{"enabled":false}"#),
    ("Network.emulateNetworkConditions",            "Network.emulateNetworkConditions",            r#"{"offline":false,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}"#),
    ("Network.setBlockedURLs",                      "Network.setBlockedURLs",                      r#"{"urls":[]}"#),
    ("Network.setBypassServiceWorker",              "Network.setBypassServiceWorker",              r#"{"bypass":false}"#),
    ("Network.setCacheDisabled",                    "Network.setCacheDisabled",                    r#"{"cacheDisabled":false}"#),
    ("Network.setExtraHTTPHeaders",                 "Network.setExtraHTTPHeaders",                 r#"{"headers":{}}"#),
    ("Network.setUserAgentOverride",                "Network.setUserAgentOverride",                r#"{"userAgent":""}"#),
    ("Page.setBypassCSP",                           "Page.setBypassCSP",                           r#"{"enabled":false}"#),
    ("Page.setDeviceMetricsOverride",               "Page.clearDeviceMetricsOverride",             "{}"),
    ("Page.setInterceptFileChooserDialog",          "Page.setInterceptFileChooserDialog",          r#"{"enabled":false}"#),
    ("Page.setWebLifecycleState",                   "Page.setWebLifecycleState",                   r#"{"state":"active"}"#),
];

/// The command, with its parameters, that reverts this one.
pub fn find(method: &str, params: &str) -> Option<(&'static str, Cow<'static, str>)> {
    if method == "Runtime.addBinding" {
        let name = json::field(params, "name")?;
        let params = format!(r#"{{"name":{name}}}"#);
        return Some(("Runtime.removeBinding", params.into()));
    }
    let (_, undo, params) = find_override(method)?;
    Some((undo, (*params).into()))
}

fn find_override(method: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    OVERRIDES.iter().find(|(set, _, _)| *set == method)
}

/// Commands that revert an earlier one. If the parameters have a `name`, only the entry with that
/// name is reverted.
const REVERTED_BY: &[(&str, &str)] = &[
    (
        "Emulation.clearDeviceMetricsOverride",
        "Emulation.setDeviceMetricsOverride",
    ),
    (
        "Emulation.clearGeolocationOverride",
        "Emulation.setGeolocationOverride",
    ),
    ("Emulation.clearIdleOverride", "Emulation.setIdleOverride"),
    ("Runtime.removeBinding", "Runtime.addBinding"),
];

/// The method that this command reverts.
pub fn reverted_by(method: &str) -> Option<&'static str> {
    REVERTED_BY
        .iter()
        .find(|(undo, _)| *undo == method)
        .map(|(_, set)| *set)
}

/// Whether a session's journal records a command that is sent to a live page.
pub fn is_journaled(method: &str) -> bool {
    let is_switch = method.ends_with(".enable") || method.ends_with(".disable");
    let is_replayed = init::find(method).is_some_and(|init| init.replay != Replay::Never);
    is_switch || is_replayed || find_override(method).is_some() || reverted_by(method).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sorted_without_duplicates() {
        assert!(OVERRIDES.is_sorted_by(|a, b| a.0 < b.0));
    }
}
