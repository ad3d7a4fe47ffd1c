//! What a session is a view of, and which kinds of target a client wants.

use serde::Deserialize;

use crate::protocol::ids::{ChildId, Debuggee, TabId};

/// What a session is a view of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The browser: each client's root session, and those of `Target.attachToBrowserTarget`.
    Browser,
    /// The `tab` target that is the parent of a page. Puppeteer attaches to it first. It does not
    /// exist behind `chrome.debugger`.
    Tab(TabId),
    /// A tab's page.
    Page(TabId),
    /// A child of a page: an out-of-process iframe or a worker.
    Child(TabId, ChildId),
}

impl Target {
    pub fn tab_id(&self) -> Option<TabId> {
        match self {
            Self::Browser => None,
            Self::Tab(tab_id) | Self::Page(tab_id) | Self::Child(tab_id, _) => Some(*tab_id),
        }
    }

    /// Where its commands go in Chrome; `None` if Chrome does not have it.
    pub fn debuggee(&self) -> Option<Debuggee> {
        match self {
            Self::Page(tab_id) => Some(Debuggee::page(*tab_id)),
            Self::Child(tab_id, child_id) => Some(Debuggee::child(*tab_id, child_id.clone())),
            Self::Browser | Self::Tab(_) => None,
        }
    }

    pub fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }
}

impl From<&Debuggee> for Target {
    fn from(debuggee: &Debuggee) -> Self {
        match &debuggee.child_id {
            None => Self::Page(debuggee.tab_id),
            Some(child_id) => Self::Child(debuggee.tab_id, child_id.clone()),
        }
    }
}

/// `Target.setAutoAttach` of one session.
#[derive(Debug, Clone)]
pub struct AutoAttach {
    pub filter: Filter,
    /// `waitForDebuggerOnStart`: new targets are paused until this session resumes them.
    pub pauses: bool,
}

/// Which kinds of target a client wants. The first matching entry decides.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Filter(Vec<FilterEntry>);

#[derive(Debug, Clone, Deserialize)]
struct FilterEntry {
    #[serde(default)]
    exclude: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Default for Filter {
    /// The protocol's default: everything except `browser` and `tab`.
    fn default() -> Self {
        let without = |kind: &str| FilterEntry {
            exclude: true,
            kind: Some(kind.to_owned()),
        };
        Self(vec![
            without("browser"),
            without("tab"),
            FilterEntry {
                exclude: false,
                kind: None,
            },
        ])
    }
}

impl Filter {
    pub fn includes(&self, kind: &str) -> bool {
        let matches = |entry: &&FilterEntry| entry.kind.as_deref().is_none_or(|of| of == kind);
        self.0
            .iter()
            .find(matches)
            .is_some_and(|entry| !entry.exclude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_filter_entry_decides() {
        let puppeteer: Filter =
            serde_json::from_str(r#"[{"type":"page","exclude":true},{}]"#).unwrap();
        assert!(puppeteer.includes("tab") && !puppeteer.includes("page"));
        let default = Filter::default();
        assert!(
            default.includes("page") && !default.includes("tab") && !default.includes("browser")
        );
        let none: Filter = serde_json::from_str("[]").unwrap();
        assert!(!none.includes("page"));
    }
}
