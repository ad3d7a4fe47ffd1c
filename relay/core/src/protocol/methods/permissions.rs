//! Which permissions of a site an extension can set. `Browser.grantPermissions` and
//! `Browser.setPermission` name permissions in two ways; Chrome's content settings have names of
//! their own, and cover only a few of them.

use std::net::Ipv6Addr;

use crate::protocol::error::CdpError;

/// What an extension can do about a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// A content setting of this name, as `chrome.contentSettings` has it.
    Setting(&'static str),
    /// Chrome grants it to every page, and has no setting for it.
    AlwaysGranted,
    /// No content setting that an extension may change.
    Uncovered,
}

use Coverage::{AlwaysGranted, Setting, Uncovered};

/// The content settings that stand for a permission. Whoever grants some of them to an origin
/// rejects the others there.
pub const CONTENT_SETTINGS: &[&str] = &[
    "location",
    "notifications",
    "microphone",
    "camera",
    "clipboard",
];

/// CDP's `Browser.PermissionType`. Sorted by name.
#[rustfmt::skip]
const TYPES: &[(&str, Coverage)] = &[
    ("ar",                       Uncovered),
    ("audioCapture",             Setting("microphone")),
    ("automaticFullscreen",      Uncovered),
    ("backgroundFetch",          Uncovered),
    ("backgroundSync",           Uncovered),
    ("cameraPanTiltZoom",        Uncovered),
    ("capturedSurfaceControl",   Uncovered),
    ("clipboardReadWrite",       Setting("clipboard")),
    ("clipboardSanitizedWrite",  AlwaysGranted),
    ("displayCapture",           Uncovered),
    ("durableStorage",           Uncovered),
    ("geolocation",              Setting("location")),
    ("handTracking",             Uncovered),
    ("idleDetection",            Uncovered),
    ("keyboardLock",             Uncovered),
    ("localFonts",               Uncovered),
    ("localNetwork",             Uncovered),
    ("localNetworkAccess",       Uncovered),
    ("loopbackNetwork",          Uncovered),
    ("midi",                     Uncovered),
    ("midiSysex",                Uncovered),
    ("nfc",                      Uncovered),
    ("notifications",            Setting("notifications")),
    ("paymentHandler",           Uncovered),
    ("periodicBackgroundSync",   Uncovered),
    ("pointerLock",              Uncovered),
    ("protectedMediaIdentifier", Uncovered),
    ("sensors",                  Uncovered),
    ("smartCard",                Uncovered),
    ("speakerSelection",         Uncovered),
    ("storageAccess",            Uncovered),
    ("topLevelStorageAccess",    Uncovered),
    ("videoCapture",             Setting("camera")),
    ("vr",                       Uncovered),
    ("wakeLockScreen",           Uncovered),
    ("wakeLockSystem",           Uncovered),
    ("webAppInstallation",       Uncovered),
    ("webPrinting",              Uncovered),
    ("windowManagement",         Uncovered),
];

/// The names that `navigator.permissions.query` and CDP's `Browser.PermissionDescriptor` use.
/// Sorted.
#[rustfmt::skip]
const DESCRIPTORS: &[(&str, Coverage)] = &[
    ("accelerometer",            Uncovered),
    ("ambient-light-sensor",     Uncovered),
    ("background-fetch",         Uncovered),
    ("background-sync",          Uncovered),
    ("camera",                   Setting("camera")),
    ("captured-surface-control", Uncovered),
    ("clipboard-read",           Setting("clipboard")),
    ("clipboard-write",          AlwaysGranted),
    ("display-capture",          Uncovered),
    ("fullscreen",               Uncovered),
    ("geolocation",              Setting("location")),
    ("gyroscope",                Uncovered),
    ("idle-detection",           Uncovered),
    ("keyboard-lock",            Uncovered),
    ("local-fonts",              Uncovered),
    ("local-network",            Uncovered),
    ("local-network-access",     Uncovered),
    ("loopback-network",         Uncovered),
    ("magnetometer",             Uncovered),
    ("microphone",               Setting("microphone")),
    ("midi",                     Uncovered),
    ("nfc",                      Uncovered),
    ("notifications",            Setting("notifications")),
    ("payment-handler",          Uncovered),
    ("periodic-background-sync", Uncovered),
    ("persistent-storage",       Uncovered),
    ("pointer-lock",             Uncovered),
    ("push",                     Setting("notifications")),
    ("screen-wake-lock",         Uncovered),
    ("speaker-selection",        Uncovered),
    ("storage-access",           Uncovered),
    ("system-wake-lock",         Uncovered),
    ("top-level-storage-access", Uncovered),
    ("web-app-installation",     Uncovered),
    ("window-management",        Uncovered),
];

/// For a name of `Browser.PermissionType`.
pub fn of_type(name: &str) -> Option<Coverage> {
    find(TYPES, name)
}

/// For a name of `Browser.PermissionDescriptor`.
pub fn of_descriptor(name: &str) -> Option<Coverage> {
    find(DESCRIPTORS, name)
}

fn find(table: &[(&str, Coverage)], name: &str) -> Option<Coverage> {
    let index = table.binary_search_by(|(known, _)| (*known).cmp(name));
    table.get(index.ok()?).map(|(_, coverage)| *coverage)
}

/// The reply if no content setting covers what a client wants.
pub fn uncovered(method: &str, permission: &str) -> CdpError {
    CdpError::Refused(format!(
        "{method}: cannot change the permission '{permission}': Chrome lets an extension set only geolocation, notifications, camera, microphone and reading the clipboard. A browser that was started with `tabwire launch --direct` can change it."
    ))
}

/// How `chrome.contentSettings` names all pages of an origin. Chrome has no content settings for
/// origins of other schemes; those that are opaque are `None`.
pub fn pattern_of(origin: &str) -> Option<String> {
    let (scheme, rest) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, it)| it);
    let authority = host.to_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are between brackets.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority.as_str(), None),
    };
    let is_valid = is_host(host) && port.is_none_or(is_port);
    is_valid.then(|| format!("{scheme}://{authority}/*"))
}

/// Chrome rejects the whole set of rules if it cannot read one. A `*` would be a pattern for other
/// sites too.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let is_allowed = |c: char| {
        c.is_ascii_alphanumeric() || "-._".contains(c) || !c.is_ascii() && c.is_alphanumeric()
    };
    let mut labels = host.strip_suffix('.').unwrap_or(host).split('.');
    labels.all(|label| !label.is_empty()) && host.chars().all(is_allowed)
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|digit| digit.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// All origins. Chrome refuses to allow the camera and the microphone for `<all_urls>`.
pub const ALL_ORIGINS: [&str; 2] = ["http://*/*", "https://*/*"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_without_duplicates() {
        assert!(TYPES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(DESCRIPTORS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn every_setting_is_one_that_is_rejected_with_the_others() {
        for (name, coverage) in TYPES.iter().chain(DESCRIPTORS) {
            if let Setting(setting) = coverage {
                assert!(CONTENT_SETTINGS.contains(setting), "{name}");
            }
        }
    }

    #[test]
    fn covers_every_type_of_the_published_protocol() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/http/protocol.json");
        let text = std::fs::read_to_string(file).unwrap();
        let protocol: serde_json::Value = serde_json::from_str(&text).unwrap();
        let domains = protocol["domains"].as_array().unwrap();
        let browser = domains.iter().find(|it| it["domain"] == "Browser").unwrap();
        let types = browser["types"].as_array().unwrap();
        let permission = types
            .iter()
            .find(|it| it["id"] == "PermissionType")
            .unwrap();
        for name in permission["enum"].as_array().unwrap() {
            assert!(of_type(name.as_str().unwrap()).is_some(), "{name}");
        }
    }

    #[test]
    fn turns_origins_into_patterns() {
        for (origin, pattern) in [
            ("https://example.com", Some("https://example.com/*")),
            ("https://example.com/a?b#c", Some("https://example.com/*")),
            (
                "HTTP://User@Example.com:81/",
                Some("http://example.com:81/*"),
            ),
            ("http://[::1]:80", Some("http://[::1]:80/*")),
            ("http://bücher.example", Some("http://bücher.example/*")),
            ("http://[::1]", Some("http://[::1]/*")),
            ("https://*.example.com", None),
            ("https://x:abc", None),
            ("https://x:", None),
            ("https://x:0", None),
            ("https://x:+1", None),
            ("https://x:65536", None),
            ("https://x:1:2", None),
            ("https://a..b", None),
            ("https://a b", None),
            ("https://a%b", None),
            ("https://[::1", None),
            ("https://[nope]", None),
            ("https://", None),
            ("https:///x", None),
            ("file:///tmp", None),
            ("about:blank", None),
            ("nope", None),
            ("", None),
        ] {
            assert_eq!(pattern_of(origin).as_deref(), pattern, "{origin}");
        }
    }
}
