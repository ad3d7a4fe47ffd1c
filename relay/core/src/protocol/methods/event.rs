//! What a debugger event means to the relay. One function classifies an event by its method;
//! everything that keeps state by events matches on the result.

/// A debugger event that changes what the relay knows. Every other event is only forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    ChildAttached,
    ChildDetached,
    /// `Target.targetInfoChanged`.
    ChildInfoChanged,
    ContextCreated,
    ContextDestroyed,
    ContextsCleared,
    DialogOpening,
    DialogClosed,
    DocumentOpened,
    FrameAttached,
    FrameDetached,
    FrameNavigated,
    FrameStartedNavigating,
    NavigatedWithinDocument,
    Lifecycle,
    /// `Network.requestWillBeSent`.
    RequestSent,
    ResponseReceived,
    LoadingFailed,
    /// `Fetch.requestPaused`.
    RequestPaused,
    /// `Fetch.authRequired`.
    AuthRequired,
    /// `Inspector.detached`.
    Detached,
    Crashed,
    /// `Runtime.consoleAPICalled`.
    ConsoleCalled,
    /// `Log.entryAdded`.
    LogEntryAdded,
    ReloadedAfterCrash,
    ScriptParsed,
    StyleSheetAdded,
    StyleSheetRemoved,
    DebuggerPaused,
    DebuggerResumed,
    Other,
}

impl Event {
    pub fn classify(method: &str) -> Self {
        match method {
            "Target.attachedToTarget" => Self::ChildAttached,
            "Target.detachedFromTarget" => Self::ChildDetached,
            "Target.targetInfoChanged" => Self::ChildInfoChanged,
            "Runtime.executionContextCreated" => Self::ContextCreated,
            "Runtime.executionContextDestroyed" => Self::ContextDestroyed,
            "Runtime.executionContextsCleared" => Self::ContextsCleared,
            "Page.javascriptDialogOpening" => Self::DialogOpening,
            "Page.javascriptDialogClosed" => Self::DialogClosed,
            "Page.documentOpened" => Self::DocumentOpened,
            "Page.frameAttached" => Self::FrameAttached,
            "Page.frameDetached" => Self::FrameDetached,
            "Page.frameNavigated" => Self::FrameNavigated,
            "Page.frameStartedNavigating" => Self::FrameStartedNavigating,
            "Page.navigatedWithinDocument" => Self::NavigatedWithinDocument,
            "Page.lifecycleEvent" => Self::Lifecycle,
            "Network.requestWillBeSent" => Self::RequestSent,
            "Network.responseReceived" => Self::ResponseReceived,
            "Network.loadingFailed" => Self::LoadingFailed,
            "Fetch.requestPaused" => Self::RequestPaused,
            "Fetch.authRequired" => Self::AuthRequired,
            "Runtime.consoleAPICalled" => Self::ConsoleCalled,
            "Log.entryAdded" => Self::LogEntryAdded,
            "Inspector.detached" => Self::Detached,
            "Inspector.targetCrashed" => Self::Crashed,
            "Inspector.targetReloadedAfterCrash" => Self::ReloadedAfterCrash,
            "Debugger.scriptParsed" => Self::ScriptParsed,
            "CSS.styleSheetAdded" => Self::StyleSheetAdded,
            "CSS.styleSheetRemoved" => Self::StyleSheetRemoved,
            "Debugger.paused" => Self::DebuggerPaused,
            "Debugger.resumed" => Self::DebuggerResumed,
            _ => Self::Other,
        }
    }
}

/// An event that Chrome sends once, when its domain is enabled or the thing appears. The mirror
/// keeps it for sessions that enable the domain later.
pub struct Mirrored {
    pub event: Event,
    pub method: &'static str,
    /// Where the event carries the id of the thing.
    pub id: &'static [&'static str],
    /// The event that ends the thing, and the key of the id in it.
    pub ended_by: Option<(Event, &'static str)>,
}

pub const MIRRORED: &[Mirrored] = &[
    Mirrored {
        event: Event::StyleSheetAdded,
        method: "CSS.styleSheetAdded",
        id: &["header", "styleSheetId"],
        ended_by: Some((Event::StyleSheetRemoved, "styleSheetId")),
    },
    Mirrored {
        event: Event::ScriptParsed,
        method: "Debugger.scriptParsed",
        id: &["scriptId"],
        ended_by: None,
    },
    Mirrored {
        event: Event::ContextCreated,
        method: "Runtime.executionContextCreated",
        id: &["context", "id"],
        ended_by: Some((Event::ContextDestroyed, "executionContextId")),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_methods_match_their_events() {
        for mirrored in MIRRORED {
            assert_eq!(Event::classify(mirrored.method), mirrored.event);
        }
    }
}
