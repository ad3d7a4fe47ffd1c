//! What Chrome never grants to an extension, whatever is attached. The relay refuses it at once,
//! without waking the tab, and the same way for a dormant tab and a live one.
//!
//! Measured with Chromium, through `chrome.debugger`, for every method of the published protocol
//! (`fixtures/refused.json`). `Target` and `Browser` methods that the relay implements itself do
//! not get here.

use crate::protocol::cdp;
use crate::protocol::error::CdpError;

/// The reason for most of them.
const NOT_FOR_EXTENSIONS: &str = "Chrome does not offer it to extensions";
const PROFILES: &str = "Chrome does not let extensions profile code or measure its coverage";
const HEAP: &str = "Chrome does not let extensions take heap snapshots or collect garbage";
const MEMORY: &str = "Chrome does not let extensions measure memory. Performance.getMetrics has the size of a page's heap";
const WEB_STORAGE: &str = "Chrome does not offer it to extensions. Code in the page can use localStorage and sessionStorage";
const DATABASES: &str =
    "Chrome does not offer it to extensions. Code in the page can use indexedDB";
const CERTIFICATES: &str =
    "Chrome does not let extensions change how a browser checks certificates";
const OTHER_EXTENSIONS: &str = "Chrome does not let extensions install or control other extensions";
const MACHINE: &str = "Chrome does not tell extensions about its processes and the machine";

/// A domain or a single method, and why it is refused. Sorted by name.
#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("Ads.getAdMetrics",                                 NOT_FOR_EXTENSIONS),
    ("Animation",                                        NOT_FOR_EXTENSIONS),
    ("Autofill",                                         NOT_FOR_EXTENSIONS),
    ("BackgroundService",                                NOT_FOR_EXTENSIONS),
    ("BluetoothEmulation",                               NOT_FOR_EXTENSIONS),
    ("Browser",                                          NOT_FOR_EXTENSIONS),
    ("Cast",                                             NOT_FOR_EXTENSIONS),
    ("CrashReportContext",                               NOT_FOR_EXTENSIONS),
    ("DOMDebugger.removeInstrumentationBreakpoint",      NOT_FOR_EXTENSIONS),
    ("DOMDebugger.setInstrumentationBreakpoint",         NOT_FOR_EXTENSIONS),
    ("DOMStorage",                                       WEB_STORAGE),
    ("DeviceAccess",                                     NOT_FOR_EXTENSIONS),
    ("DeviceOrientation.clearDeviceOrientationOverride", NOT_FOR_EXTENSIONS),
    ("DigitalCredentials",                               NOT_FOR_EXTENSIONS),
    ("EventBreakpoints",                                 NOT_FOR_EXTENSIONS),
    ("Extensions",                                       OTHER_EXTENSIONS),
    ("FedCm",                                            NOT_FOR_EXTENSIONS),
    ("FileSystem",                                       NOT_FOR_EXTENSIONS),
    ("FindInPage",                                       NOT_FOR_EXTENSIONS),
    ("HeadlessExperimental",                             NOT_FOR_EXTENSIONS),
    ("HeapProfiler",                                     HEAP),
    ("IndexedDB",                                        DATABASES),
    ("LayerTree",                                        NOT_FOR_EXTENSIONS),
    ("Media",                                            NOT_FOR_EXTENSIONS),
    ("Memory",                                           MEMORY),
    ("PWA",                                              NOT_FOR_EXTENSIONS),
    ("Page.clearDeviceOrientationOverride",              NOT_FOR_EXTENSIONS),
    ("PerformanceTimeline",                              NOT_FOR_EXTENSIONS),
    ("Preload",                                          NOT_FOR_EXTENSIONS),
    ("Profiler",                                         PROFILES),
    ("Schema",                                           NOT_FOR_EXTENSIONS),
    ("Security",                                         CERTIFICATES),
    ("ServiceWorker",                                    NOT_FOR_EXTENSIONS),
    ("SmartCardEmulation",                               NOT_FOR_EXTENSIONS),
    ("SystemInfo",                                       MACHINE),
    ("Target.exposeDevToolsProtocol",                    NOT_FOR_EXTENSIONS),
    ("Target.getDevToolsTarget",                         NOT_FOR_EXTENSIONS),
    ("Target.openDevTools",                              NOT_FOR_EXTENSIONS),
    ("Tethering",                                        NOT_FOR_EXTENSIONS),
];

/// What Chrome's own port offers in the session of the browser, and Chrome grants to extensions only
/// in the session of a page. Sorted by name.
const ONLY_IN_PAGES: &[(&str, &str)] = &[
    (
        "Fetch",
        "an extension can intercept only the requests of a page",
    ),
    ("IO", "an extension can read only the streams of a page"),
    ("Storage", "an extension can send it only to a page"),
    (
        "Tracing",
        "an extension can trace only the process of a page",
    ),
];

/// Why Chrome refuses this method to every extension. `None` for any other method.
pub fn find(method: &str) -> Option<&'static str> {
    by_name(method).or_else(|| by_name(cdp::domain(method)))
}

fn by_name(name: &str) -> Option<&'static str> {
    let index = REFUSED.binary_search_by(|(refused, _)| (*refused).cmp(name));
    REFUSED.get(index.ok()?).map(|(_, reason)| *reason)
}

/// The reply to a method that neither Chrome nor the relay carries out here.
pub fn error(method: &str) -> CdpError {
    let method = method.to_owned();
    match find(&method) {
        Some(reason) => CdpError::NotForExtensions { method, reason },
        None => CdpError::MethodNotFound(method),
    }
}

/// The reply to a method in the session of the browser.
pub fn error_in_browser(method: &str) -> CdpError {
    let domain = cdp::domain(method);
    match ONLY_IN_PAGES.iter().find(|(name, _)| *name == domain) {
        Some((_, reason)) if find(method).is_none() => CdpError::OnlyInPages {
            method: method.to_owned(),
            reason,
        },
        _ => error(method),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sorted_without_duplicates() {
        assert!(REFUSED.is_sorted_by(|a, b| a.0 < b.0));
        assert!(ONLY_IN_PAGES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn is_what_was_measured() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/refused.json");
        let fixture = std::fs::read_to_string(fixture).unwrap();
        let measured: Vec<String> = serde_json::from_str(&fixture).unwrap();
        let ours: Vec<_> = REFUSED.iter().map(|(name, _)| *name).collect();
        assert_eq!(ours, measured);
    }

    #[test]
    fn finds_methods_of_refused_domains_and_single_methods() {
        for method in ["Profiler.start", "Security.enable", "Ads.getAdMetrics"] {
            assert!(find(method).is_some(), "{method}");
        }
        for method in [
            "Page.enable",
            "Ads.getAdScripts",
            "Profilers.start",
            "x",
            "",
        ] {
            assert_eq!(find(method), None, "{method}");
        }
    }
}
