//! What a session of a dormant tab is answered by the relay, and what of it is said to Chrome when the tab wakes.
//!
//! `INIT` is the one table of init commands. A session's `Journal` keeps those it sent, in order; it goes on being kept
//! while the tab is live, so that a tab that lost its debugger can be woken to the same state.

use std::sync::Arc;

/// What a dormant session answers to an init command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `{}`.
    Empty,
    /// The main frame, as far as it is known without the debugger.
    FrameTree,
    /// An identifier of the relay's own.
    ScriptIdentifier,
    /// A context of the relay's own.
    IsolatedWorld,
    /// `{}`, after the contexts were announced.
    Contexts,
    /// `{}`, after the lifecycle events that fit the tab's load status.
    Lifecycle,
}

/// Whether Chrome is told of the command when the tab wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    Always,
    /// A default that would change what the person sees. As sent before `Runtime.runIfWaitingForDebugger` it reaches
    /// only tabs that the client itself created; sent later it is a wish, and wakes the tab.
    Default,
    Never,
}

pub struct Init {
    pub method: &'static str,
    pub answer: Answer,
    pub replay: Replay,
}

const fn init(method: &'static str, answer: Answer, replay: Replay) -> Init {
    Init {
        method,
        answer,
        replay,
    }
}

/// Everything Playwright and Puppeteer send to each page as they connect, and its like.
#[rustfmt::skip]
pub const INIT: &[Init] = &[
    init("Accessibility.enable",                       Answer::Empty,            Replay::Always),
    init("Audits.disable",                             Answer::Empty,            Replay::Always),
    init("Audits.enable",                              Answer::Empty,            Replay::Always),
    init("CSS.enable",                                 Answer::Empty,            Replay::Always),
    init("DOM.enable",                                 Answer::Empty,            Replay::Always),
    init("DOMStorage.enable",                          Answer::Empty,            Replay::Always),
    init("Emulation.setDefaultBackgroundColorOverride",Answer::Empty,            Replay::Default),
    init("Emulation.setDeviceMetricsOverride",         Answer::Empty,            Replay::Default),
    init("Emulation.setEmulatedMedia",                 Answer::Empty,            Replay::Default),
    init("Emulation.setEmulatedVisionDeficiency",      Answer::Empty,            Replay::Default),
    // Focus emulation is what lets clicks work in a background tab.
    init("Emulation.setFocusEmulationEnabled",         Answer::Empty,            Replay::Always),
    init("Emulation.setGeolocationOverride",           Answer::Empty,            Replay::Default),
    init("Emulation.setLocaleOverride",                Answer::Empty,            Replay::Default),
    init("Emulation.setScriptExecutionDisabled",       Answer::Empty,            Replay::Default),
    init("Emulation.setTimezoneOverride",              Answer::Empty,            Replay::Default),
    init("Emulation.setTouchEmulationEnabled",         Answer::Empty,            Replay::Default),
    init("Emulation.setUserAgentOverride",             Answer::Empty,            Replay::Default),
    // Waking asks for the patterns of all sessions together.
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
    init("Security.disable",                           Answer::Empty,            Replay::Always),
    init("Security.enable",                            Answer::Empty,            Replay::Always),
    init("WebMCP.enable",                              Answer::Empty,            Replay::Always),
];

const TEXT: &[char] = &['"'];
const SWITCH: &[char] = &['t', 'f'];
const NUMBER: &[char] = &['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
const OBJECT: &[char] = &['{'];

/// What an init command cannot do without: its method, a parameter, and how the value of that begins.
#[rustfmt::skip]
const REQUIRED: &[(&str, &str, &[char])] = &[
    ("Emulation.setDeviceMetricsOverride",         "width",             NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "height",            NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "deviceScaleFactor", NUMBER),
    ("Emulation.setDeviceMetricsOverride",         "mobile",            SWITCH),
    ("Emulation.setEmulatedVisionDeficiency",      "type",              TEXT),
    ("Emulation.setFocusEmulationEnabled",         "enabled",           SWITCH),
    ("Emulation.setScriptExecutionDisabled",       "value",             SWITCH),
    ("Emulation.setTimezoneOverride",              "timezoneId",        TEXT),
    ("Emulation.setTouchEmulationEnabled",         "enabled",           SWITCH),
    ("Emulation.setUserAgentOverride",             "userAgent",         TEXT),
    ("Network.setBypassServiceWorker",             "bypass",            SWITCH),
    ("Network.setCacheDisabled",                   "cacheDisabled",     SWITCH),
    ("Network.setExtraHTTPHeaders",                "headers",           OBJECT),
    ("Network.setUserAgentOverride",               "userAgent",         TEXT),
    ("Page.addScriptToEvaluateOnNewDocument",      "source",            TEXT),
    ("Page.createIsolatedWorld",                   "frameId",           TEXT),
    ("Page.setBypassCSP",                          "enabled",           SWITCH),
    ("Page.setFontFamilies",                       "fontFamilies",      OBJECT),
    ("Page.setFontSizes",                          "fontSizes",         OBJECT),
    ("Page.setInterceptFileChooserDialog",         "enabled",           SWITCH),
    ("Page.setLifecycleEventsEnabled",             "enabled",           SWITCH),
    ("Runtime.addBinding",                         "name",              TEXT),
    ("Runtime.setAsyncCallStackDepth",             "maxDepth",          NUMBER),
];

/// Whether an init command has all that it needs. One that has not is for Chrome to refuse.
pub fn has_required(method: &str, params: &str) -> bool {
    let mut required = REQUIRED.iter().filter(|(of, ..)| *of == method);
    required.all(|(_, key, begins)| {
        crate::translate::field(params, key).is_some_and(|value| value.starts_with(*begins))
    })
}

/// What a session sets in a page, and what sets it back when the session goes: the method, and its parameters.
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

/// The command, with its parameters, that sets back what this one has set.
pub fn find_undo(method: &str) -> Option<(&'static str, &'static str)> {
    OVERRIDES
        .iter()
        .find(|(set, _, _)| *set == method)
        .map(|(_, undo, params)| (*undo, *params))
}

/// Whether a journal keeps a command that is sent to a live page.
pub fn is_kept(method: &str) -> bool {
    let is_switch = method.ends_with(".enable") || method.ends_with(".disable");
    let is_replayed = find_init(method).is_some_and(|init| init.replay != Replay::Never);
    is_switch || is_replayed || find_undo(method).is_some() || undoes(method)
}

/// Commands that take an earlier one back; one that names something takes back only what has that name.
const UNDONE_BY: &[(&str, &str)] = &[
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

fn undoes(method: &str) -> bool {
    UNDONE_BY.iter().any(|(undo, _)| *undo == method)
}

pub fn find_init(method: &str) -> Option<&'static Init> {
    INIT.iter().find(|init| init.method == method)
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub method: String,
    pub params: Arc<str>,
    /// Sent before `Runtime.runIfWaitingForDebugger`: a default of the client library, not a wish of its user.
    pub is_default: bool,
    /// The identifier a script was given, where the relay gave one, and what Chrome calls it since the tab woke.
    pub script: Option<Script>,
}

#[derive(Debug, Clone)]
pub struct Script {
    pub announced: String,
    pub real: Option<String>,
}

/// The init commands of one session. An entry enters when the command is answered and leaves when a later one undoes or
/// replaces it; all leave with the session.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    /// The client has said `Runtime.runIfWaitingForDebugger`: its library's defaults are behind it.
    pub started: bool,
}

impl Journal {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn record(&mut self, method: &str, params: Arc<str>, script: Option<Script>) {
        if let Some((_, undone)) = UNDONE_BY.iter().find(|(undo, _)| *undo == method) {
            let name = crate::translate::field(&params, "name");
            self.entries.retain(|entry| {
                entry.method != *undone
                    || name.is_some() && crate::translate::field(&entry.params, "name") != name
            });
            return;
        }
        if let Some(domain) = method.strip_suffix(".disable") {
            let enable = format!("{domain}.enable");
            self.entries.retain(|entry| entry.method != enable);
            return;
        }
        if script.is_none()
            && self
                .entries
                .iter()
                .any(|entry| entry.method == method && entry.params == params)
        {
            return;
        }
        let adds_up = matches!(
            method,
            "Page.addScriptToEvaluateOnNewDocument"
                | "Page.createIsolatedWorld"
                | "Runtime.addBinding"
        );
        if !adds_up {
            self.entries.retain(|entry| entry.method != method);
        }
        let is_default = !self.started;
        self.entries.push(Entry {
            method: method.to_owned(),
            params,
            is_default,
            script,
        });
    }

    /// The scripts for the page's own world that the client's user asked for.
    pub fn own_scripts(&self) -> impl Iterator<Item = &Entry> {
        let is_own = |entry: &&Entry| entry.script.is_some() && !entry.is_default;
        self.entries
            .iter()
            .filter(is_own)
            .filter(|entry| crate::translate::field(&entry.params, "worldName").is_none())
    }

    /// Takes a script out again. `None` when this session added none of that name.
    pub fn remove_script(&mut self, identifier: &str) -> Option<Script> {
        let matches = |entry: &Entry| {
            entry
                .script
                .as_ref()
                .is_some_and(|script| script.announced == identifier)
        };
        let index = self.entries.iter().position(matches)?;
        self.entries.remove(index).script
    }

    /// What Chrome calls a script; `false` when it was taken out meanwhile.
    pub fn name_script(&mut self, announced: &str, real: &str) -> bool {
        let script = self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.script.as_mut())
            .find(|script| script.announced == announced);
        script
            .map(|script| script.real = Some(real.to_owned()))
            .is_some()
    }

    /// The debugger is gone, and with it Chrome's identifiers.
    pub fn forget_real_scripts(&mut self) {
        for script in self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.script.as_mut())
        {
            script.real = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_name_each_method_once() {
        assert!(INIT.is_sorted_by(|a, b| a.method < b.method));
        assert!(OVERRIDES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn whatever_changes_the_look_of_a_page_can_be_set_back() {
        // Chrome has no command that gives a page its own fonts back; only detaching does.
        let lasting = ["Page.setFontFamilies", "Page.setFontSizes"];
        for init in INIT
            .iter()
            .filter(|init| init.replay == Replay::Default && !lasting.contains(&init.method))
        {
            assert!(find_undo(init.method).is_some(), "{}", init.method);
        }
    }

    #[test]
    fn a_later_setting_replaces_an_earlier_one_and_disable_takes_enable_out() {
        let mut journal = Journal::default();
        journal.record("Network.enable", "{}".into(), None);
        journal.record(
            "Network.setCacheDisabled",
            r#"{"cacheDisabled":true}"#.into(),
            None,
        );
        journal.record(
            "Network.setCacheDisabled",
            r#"{"cacheDisabled":false}"#.into(),
            None,
        );
        journal.record("Network.disable", "{}".into(), None);
        let left: Vec<_> = journal.entries().iter().map(|e| &*e.params).collect();
        assert_eq!(left, [r#"{"cacheDisabled":false}"#]);
    }
}
