//! Domains that are enabled and disabled, and which switch lets an event through to a session.

use crate::protocol::cdp;

/// Domains with an `enable` command. Their events go to sessions that enabled them, and a domain is
/// disabled in Chrome when the last session that enabled it ends. Events of other domains go to
/// sessions that have used the domain, except `Inspector`, whose events go to every session.
///
/// Sorted.
pub const ENABLED_DOMAINS: &[&str] = &[
    "Accessibility",
    "Animation",
    "Audits",
    "Autofill",
    "CSS",
    "Cast",
    "Console",
    "DOM",
    "DOMStorage",
    "Debugger",
    "DeviceAccess",
    "FedCm",
    "Fetch",
    "HeapProfiler",
    "IndexedDB",
    "LayerTree",
    "Log",
    "Media",
    "Network",
    "Overlay",
    "Page",
    "Performance",
    "PerformanceTimeline",
    "Preload",
    "Profiler",
    "Runtime",
    "Security",
    "ServiceWorker",
    "WebAudio",
    "WebAuthn",
    "WebMCP",
];

/// Whether a domain has an `enable` command.
pub fn has_enable(domain: &str) -> bool {
    ENABLED_DOMAINS.binary_search(&domain).is_ok()
}

/// `Page.lifecycleEvent` has its own switch besides `Page.enable`. A session's enabled switches
/// hold it by this name.
pub const LIFECYCLE: &str = "Page.lifecycleEvent";

/// The lifecycle events between the start of a document and its end.
pub const LOADED: [&str; 4] = [
    "DOMContentLoaded",
    "load",
    "networkAlmostIdle",
    "networkIdle",
];

/// A session's own screencast. Only sessions that started one receive frames.
pub const SCREENCAST: &str = "Page.screencastFrame";

/// The switch that a session must have enabled to receive an event.
pub fn switch_of_event(method: &str) -> &str {
    if method == LIFECYCLE || method == SCREENCAST {
        method
    } else {
        cdp::domain(method)
    }
}

/// Whether an event goes to every session of its target, whatever it enabled.
pub fn is_ungated(method: &str) -> bool {
    cdp::domain(method) == "Inspector"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sorted_without_duplicates() {
        assert!(ENABLED_DOMAINS.is_sorted_by(|a, b| a < b));
    }
}
