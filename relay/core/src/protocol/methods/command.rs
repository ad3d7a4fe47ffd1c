//! What the relay does with a command to a page or a child. One function classifies a command by
//! its method; handlers match on the result instead of comparing strings.

use super::domains::has_enable;

/// A command to a page or a child, by what the relay does with it. Everything not listed is
/// forwarded unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'m> {
    /// `Page.addScriptToEvaluateOnNewDocument`: journaled under an identifier of the relay.
    AddScript,
    /// `Page.removeScriptToEvaluateOnNewDocument`.
    RemoveScript,
    /// `Page.getFrameTree`: its result updates the known frames.
    FrameTree,
    /// `Page.navigate`: forwarded, but its reply is lost if a frame leaves its process.
    Navigate,
    StartScreencast,
    StopScreencast,
    /// `Debugger.setBreakpoint*`: the breakpoint belongs to its session.
    SetBreakpoint,
    RemoveBreakpoint,
    /// `Page.setLifecycleEventsEnabled`.
    Lifecycle,
    /// `X.enable`: Chrome has one switch for all sessions.
    Enable(&'m str),
    /// `X.disable`.
    Disable(&'m str),
    /// `Page.handleJavaScriptDialog`: must not wait for the page, which itself waits for this
    /// command.
    HandleDialog,
    /// `Runtime.runIfWaitingForDebugger`: forwarded. The client's library has sent its defaults.
    RunIfWaiting,
    /// A command of a domain without `enable`: using it subscribes the session to the domain's
    /// events.
    Subscribe(&'m str),
    Forward,
}

impl<'m> Command<'m> {
    pub fn classify(method: &'m str) -> Self {
        match method {
            "Page.addScriptToEvaluateOnNewDocument" => Self::AddScript,
            "Page.removeScriptToEvaluateOnNewDocument" => Self::RemoveScript,
            "Page.getFrameTree" => Self::FrameTree,
            "Page.navigate" => Self::Navigate,
            "Page.startScreencast" => Self::StartScreencast,
            "Page.stopScreencast" => Self::StopScreencast,
            "Page.setLifecycleEventsEnabled" => Self::Lifecycle,
            "Page.handleJavaScriptDialog" => Self::HandleDialog,
            "Runtime.runIfWaitingForDebugger" => Self::RunIfWaiting,
            "Debugger.removeBreakpoint" => Self::RemoveBreakpoint,
            _ if sets_breakpoint(method) => Self::SetBreakpoint,
            _ => match method.split_once('.') {
                Some((domain, "enable")) => Self::Enable(domain),
                Some((domain, "disable")) => Self::Disable(domain),
                Some((domain, _)) if !has_enable(domain) => Self::Subscribe(domain),
                _ => Self::Forward,
            },
        }
    }
}

/// Whether the result of a command names a breakpoint.
fn sets_breakpoint(method: &str) -> bool {
    method.starts_with("Debugger.setBreakpoint") && method != "Debugger.setBreakpointsActive"
        || method == "Debugger.setInstrumentationBreakpoint"
}

/// Whether a command closes or navigates a page. The browser answers it even if the page is hung or
/// has crashed.
pub fn leaves_page(method: &str) -> bool {
    matches!(
        method,
        "Page.close" | "Page.navigate" | "Page.navigateToHistoryEntry" | "Page.reload"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_by_method() {
        for (method, expected) in [
            ("Runtime.enable", Command::Enable("Runtime")),
            ("Debugger.disable", Command::Disable("Debugger")),
            ("Debugger.setBreakpointByUrl", Command::SetBreakpoint),
            ("Debugger.setBreakpointsActive", Command::Forward),
            ("Input.dispatchMouseEvent", Command::Subscribe("Input")),
            ("Runtime.evaluate", Command::Forward),
            ("nonsense", Command::Forward),
        ] {
            assert_eq!(Command::classify(method), expected, "{method}");
        }
    }
}
