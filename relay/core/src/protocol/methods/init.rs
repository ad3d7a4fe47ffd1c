//! Init commands: what client libraries send to every page as they connect. A dormant tab answers
//! them, journals them, and replays them when it wakes.
//!
//! To answer a new init command, add a line to [`INIT`] and, if it has required parameters, to
//! `REQUIRED`. An `X.enable` also belongs in `domains::ENABLED_DOMAINS`, and a setting in
//! `undo::OVERRIDES`; tests check both. A command that can be sent several times with different
//! parameters, each adding something, belongs in [`ACCUMULATING`].

use crate::protocol::json;

/// How a dormant tab answers an init command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `{}`.
    Empty,
    /// The main frame, as far as it is known without the debugger.
    FrameTree,
    /// A script identifier of the relay.
    ScriptIdentifier,
    /// An execution context of the relay.
    IsolatedWorld,
    /// `{}`, after announcing the execution contexts.
    Contexts,
    /// `{}`, after the lifecycle events that match the tab's load status.
    Lifecycle,
}

/// Whether an init command is sent to Chrome when the tab wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    Always,
    /// A default that would change what the person sees. If sent before
    /// `Runtime.runIfWaitingForDebugger`, it comes from the client's library and is applied only to
    /// tabs that the client created. If sent later, the client's user asked for it, and it wakes
    /// the tab.
    Default,
    Never,
}

pub struct Init {
    pub method: &'static str,
    pub answer: Answer,
    pub replay: Replay,
}

/// Lets a page in the background behave as if it had the focus.
const FOCUS_EMULATION: &str = "Emulation.setFocusEmulationEnabled";

impl Init {
    /// Whether this is a default of a client's library while that initializes. `emulates_focus`: as in
    /// `Config`.
    pub fn is_default(&self, emulates_focus: bool) -> bool {
        self.replay == Replay::Default || !emulates_focus && self.method == FOCUS_EMULATION
    }
}

const fn init(method: &'static str, answer: Answer, replay: Replay) -> Init {
    Init {
        method,
        answer,
        replay,
    }
}

/// Sorted by method.
#[rustfmt::skip]
pub const INIT: &[Init] = &[
    init("Accessibility.enable",                       Answer::Empty,            Replay::Always),
    init("Audits.disable",                             Answer::Empty,            Replay::Always),
    init("Audits.enable",                              Answer::Empty,            Replay::Always),
    init("CSS.enable",                                 Answer::Empty,            Replay::Always),
    init("DOM.enable",                                 Answer::Empty,            Replay::Always),
    init("Emulation.setDefaultBackgroundColorOverride",Answer::Empty,            Replay::Default),
    init("Emulation.setDeviceMetricsOverride",         Answer::Empty,            Replay::Default),
    init("Emulation.setEmulatedMedia",                 Answer::Empty,            Replay::Default),
    init("Emulation.setEmulatedVisionDeficiency",      Answer::Empty,            Replay::Default),
    // Clicks in a background tab need focus emulation. `Config` can make it a default.
    init("Emulation.setFocusEmulationEnabled",         Answer::Empty,            Replay::Always),
    init("Emulation.setGeolocationOverride",           Answer::Empty,            Replay::Default),
    init("Emulation.setLocaleOverride",                Answer::Empty,            Replay::Default),
    init("Emulation.setScriptExecutionDisabled",       Answer::Empty,            Replay::Default),
    init("Emulation.setTimezoneOverride",              Answer::Empty,            Replay::Default),
    init("Emulation.setTouchEmulationEnabled",         Answer::Empty,            Replay::Default),
    init("Emulation.setUserAgentOverride",             Answer::Empty,            Replay::Default),
    // Waking enables the patterns of all sessions at once.
    init("Fetch.disable",                              Answer::Empty,            Replay::Never),
    init("Fetch.enable",                               Answer::Empty,            Replay::Never),
    init("Inspector.enable",                           Answer::Empty,            Replay::Always),
    init("Log.disable",                                Answer::Empty,            Replay::Always),
    init("Log.enable",                                 Answer::Empty,            Replay::Always),
    init("Network.disable",                            Answer::Empty,            Replay::Always),
    init("Network.enable",                             Answer::Empty,            Replay::Always),
    init("Network.setBypassServiceWorker",             Answer::Empty,            Replay::Always),
    init("Network.setCacheDisabled",                   Answer::Empty,            Replay::Always),
    init("Network.setExtraHTTPHeaders",                Answer::Empty,            Replay::Always),
    init("Network.setUserAgentOverride",               Answer::Empty,            Replay::Default),
    init("Page.addScriptToEvaluateOnNewDocument",      Answer::ScriptIdentifier, Replay::Always),
    init("Page.createIsolatedWorld",                   Answer::IsolatedWorld,    Replay::Always),
    init("Page.disable",                               Answer::Empty,            Replay::Always),
    init("Page.enable",                                Answer::Empty,            Replay::Always),
    init("Page.getFrameTree",                          Answer::FrameTree,        Replay::Never),
    init("Page.setBypassCSP",                          Answer::Empty,            Replay::Always),
    init("Page.setFontFamilies",                       Answer::Empty,            Replay::Default),
    init("Page.setFontSizes",                          Answer::Empty,            Replay::Default),
    init("Page.setInterceptFileChooserDialog",         Answer::Empty,            Replay::Always),
    init("Page.setLifecycleEventsEnabled",             Answer::Lifecycle,        Replay::Always),
    init("Performance.disable",                        Answer::Empty,            Replay::Always),
    init("Performance.enable",                         Answer::Empty,            Replay::Always),
    init("Runtime.addBinding",                         Answer::Empty,            Replay::Always),
    init("Runtime.disable",                            Answer::Empty,            Replay::Always),
    init("Runtime.enable",                             Answer::Contexts,         Replay::Always),
    init("Runtime.runIfWaitingForDebugger",            Answer::Empty,            Replay::Never),
    init("Runtime.setAsyncCallStackDepth",             Answer::Empty,            Replay::Always),
    init("WebMCP.enable",                              Answer::Empty,            Replay::Always),
];

const STRING: &[char] = &['"'];
const BOOLEAN: &[char] = &['t', 'f'];
const NUMBER: &[char] = &['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
const OBJECT: &[char] = &['{'];

/// A parameter that an init command requires, and the characters its JSON value can start with.
#[rustfmt::skip]
const REQUIRED: &[(&str, &str, &[char])] = &[
    ("Emulation.setDeviceMetricsOverride",         "width",             NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "height",            NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "deviceScaleFactor", NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "mobile",            BOOLEAN),
    ("Emulation.setEmulatedVisionDeficiency",      "type",              STRING),
    ("Emulation.setFocusEmulationEnabled",         "enabled",           BOOLEAN),
    ("Emulation.setScriptExecutionDisabled",       "value",             BOOLEAN),
    ("Emulation.setTimezoneOverride",              "timezoneId",        STRING),
    ("Emulation.setTouchEmulationEnabled",         "enabled",           BOOLEAN),
    ("Emulation.setUserAgentOverride",             "userAgent",         STRING),
    ("Network.setBypassServiceWorker",             "bypass",            BOOLEAN),
    ("Network.setCacheDisabled",                   "cacheDisabled",     BOOLEAN),
    ("Network.setExtraHTTPHeaders",                "headers",           OBJECT),
    ("Network.setUserAgentOverride",               "userAgent",         STRING),
    ("Page.addScriptToEvaluateOnNewDocument",      "source",            STRING),
    ("Page.createIsolatedWorld",                   "frameId",           STRING),
    ("Page.setBypassCSP",                          "enabled",           BOOLEAN),
    ("Page.setFontFamilies",                       "fontFamilies",      OBJECT),
    ("Page.setFontSizes",                          "fontSizes",         OBJECT),
    ("Page.setInterceptFileChooserDialog",         "enabled",           BOOLEAN),
    ("Page.setLifecycleEventsEnabled",             "enabled",           BOOLEAN),
    ("Runtime.addBinding",                         "name",              STRING),
    ("Runtime.setAsyncCallStackDepth",             "maxDepth",          NUMBER),
];

/// Commands of which each one adds something, instead of replacing the one before.
pub const ACCUMULATING: &[&str] = &[
    "Page.addScriptToEvaluateOnNewDocument",
    "Page.createIsolatedWorld",
    "Runtime.addBinding",
];

/// Whether a command has its required parameters. If not, it is left to Chrome to reject.
pub fn has_required_params(method: &str, params: &str) -> bool {
    let mut required = REQUIRED.iter().filter(|(of, ..)| *of == method);
    required.all(|(_, key, starts)| {
        json::field(params, key).is_some_and(|value| value.starts_with(*starts))
    })
}

pub fn find(method: &str) -> Option<&'static Init> {
    let index = INIT.binary_search_by(|init| init.method.cmp(method)).ok()?;
    INIT.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::methods::domains::has_enable;
    use crate::protocol::methods::{refused, undo};

    #[test]
    fn is_sorted_without_duplicates() {
        assert!(INIT.is_sorted_by(|a, b| a.method < b.method));
    }

    #[test]
    fn nothing_is_answered_that_chrome_will_refuse() {
        for init in INIT {
            assert_eq!(refused::find(init.method), None, "{}", init.method);
        }
    }

    #[test]
    fn enabled_domains_are_disabled_when_their_session_ends() {
        let enabled = INIT
            .iter()
            .filter_map(|init| init.method.strip_suffix(".enable"));
        // `Inspector` is not switched: its events go to every session.
        for domain in enabled.filter(|domain| *domain != "Inspector") {
            assert!(has_enable(domain), "{domain}");
        }
    }

    #[test]
    fn visible_defaults_can_be_undone() {
        // Chrome has no command that restores a page's fonts; only detaching does.
        let permanent = ["Page.setFontFamilies", "Page.setFontSizes"];
        for init in INIT
            .iter()
            .filter(|init| init.replay == Replay::Default && !permanent.contains(&init.method))
        {
            assert!(undo::find(init.method, "{}").is_some(), "{}", init.method);
        }
    }
}
