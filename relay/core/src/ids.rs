//! Every kind of id as a type of its own, so that none is taken for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One WebSocket on `/cdp`. Given by the shell, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client-{}", self.0)
    }
}

/// A Chrome tab, by Chrome's own integer.
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

/// What one client sees of one target. Written as Chrome writes its own: 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// Reads what a client wrote; anything that is not exactly one of our ids is `None`.
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

/// A DevTools target id. For a tab's page it is also the id of the page's main frame.
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

/// Chrome's id of a child session below a tab's debugger session (an out-of-process iframe, a worker).
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

/// Makes the ids that the relay hands out. Seeded by the shell, so a run with the same seed repeats to the letter.
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

    /// A target, frame, loader or browser-context id of the relay's own.
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

    /// SplitMix64: ids must not repeat; nobody gets in by guessing one, because each is checked against its client.
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
    fn a_session_id_reads_back_as_written() {
        let mut ids = IdSource::new(7);
        for _ in 0..100 {
            let id = ids.session();
            assert_eq!(id.to_string().len(), 32);
            assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn what_is_not_a_session_id_is_refused() {
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
}
