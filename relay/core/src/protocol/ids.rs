//! A type for each kind of id, so that one cannot be mistaken for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::api::Now;

/// One WebSocket on `/cdp`. Assigned by the shell and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client-{}", self.0)
    }
}

/// A Chrome tab, by Chrome's integer id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TabId(pub i64);

impl fmt::Display for TabId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call from the relay to the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// One client's session on one target. Formatted like Chrome's own: 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// Parses an id sent by a client. `None` unless it has exactly our format.
    pub fn parse(text: &str) -> Option<Self> {
        let well_formed =
            text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'));
        if !well_formed {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032X}", self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A DevTools target id. For a tab's page it is also the main frame's id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(Arc<str>);

impl TargetId {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for TargetId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Chrome's id of a child session of a tab's debugger session (an out-of-process iframe, a worker).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildId(Arc<str>);

impl ChildId {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What `chrome.debugger` addresses: a tab's page, or one of its child sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debuggee {
    pub tab_id: TabId,
    /// `None` for the page itself.
    pub child_id: Option<ChildId>,
}

impl Debuggee {
    pub fn page(tab_id: TabId) -> Self {
        Self {
            tab_id,
            child_id: None,
        }
    }

    pub fn child(tab_id: TabId, child_id: ChildId) -> Self {
        Self {
            tab_id,
            child_id: Some(child_id),
        }
    }
}

/// The client request that a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub client_id: ClientId,
    pub session_id: SessionId,
    /// The `id` of the client's message.
    pub request_id: i64,
    /// When the client's message arrived.
    pub since: Now,
    /// For the log. The command itself may be gone when it is answered.
    pub method: MethodName,
}

/// The start of a method's name, as a client sent it. It is part of a `Caller` instead of a table of
/// requests, so nothing has to be removed when a client leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MethodName {
    length: u8,
    bytes: [u8; Self::MAX_LENGTH],
}

impl MethodName {
    /// No method of CDP is longer.
    pub const MAX_LENGTH: usize = 63;

    pub fn new(method: &str) -> Self {
        let mut name = Self::default();
        let mut end = method.len().min(Self::MAX_LENGTH);
        while !method.is_char_boundary(end) {
            end -= 1;
        }
        if let (Some(from), Some(to)) = (method.as_bytes().get(..end), name.bytes.get_mut(..end)) {
            to.copy_from_slice(from);
            name.length = u8::try_from(end).unwrap_or_default();
        }
        name
    }

    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length));
        bytes
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl Default for MethodName {
    fn default() -> Self {
        Self {
            length: 0,
            bytes: [0; Self::MAX_LENGTH],
        }
    }
}

impl fmt::Debug for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Generates the relay's own ids. The shell provides the seed, so a run with the same seed is
/// reproducible.
#[derive(Debug)]
pub struct IdSource {
    state: u64,
    last_call: u64,
}

impl IdSource {
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed,
            last_call: 0,
        }
    }

    pub fn session(&mut self) -> SessionId {
        SessionId(self.next_u128())
    }

    /// A new target, frame, loader or browser context id.
    pub fn target(&mut self) -> TargetId {
        TargetId::new(&format!("{:032X}", self.next_u128()))
    }

    pub fn call(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    fn next_u128(&mut self) -> u128 {
        (u128::from(self.next_u64()) << 64) | u128::from(self.next_u64())
    }

    /// SplitMix64. Ids must be unique but need not be secret: a session id is only accepted from
    /// its own client.
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_round_trip() {
        let mut ids = IdSource::new(7);
        for _ in 0..100 {
            let id = ids.session();
            assert_eq!(id.to_string().len(), 32);
            assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn rejects_malformed_session_ids() {
        for text in [
            "",
            "x",
            "+0000000000000000000000000000001",
            "00000000000000000000000000000ab1",
            &"0".repeat(33),
        ] {
            assert_eq!(SessionId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn method_names_are_cut_between_characters() {
        assert_eq!(MethodName::new("Page.enable").as_str(), "Page.enable");
        assert_eq!(MethodName::default().as_str(), "");
        let long = "é".repeat(40);
        assert_eq!(MethodName::new(&long).as_str(), "é".repeat(31));
    }
}
