//! Shares long strings that many sessions keep: a script that a client adds to hundreds of pages is
//! stored once.

use std::collections::HashSet;
use std::sync::Arc;

/// Shorter strings are not worth the lookup.
const MIN_INTERNED_LEN: usize = 1024;

/// A string enters when it is first interned. It leaves in `forget_unused`, once nothing else
/// refers to it.
#[derive(Debug, Default)]
pub struct Interner(HashSet<Arc<str>>);

impl Interner {
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        if text.len() < MIN_INTERNED_LEN {
            return text.into();
        }
        if let Some(interned) = self.0.get(text) {
            return interned.clone();
        }
        if self.0.len() == self.0.capacity() {
            // Make room before the set grows.
            self.forget_unused();
        }
        let interned: Arc<str> = text.into();
        self.0.insert(interned.clone());
        interned
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn forget_unused(&mut self) {
        self.0.retain(|text| Arc::strong_count(text) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_a_long_string_once_until_its_last_user_drops_it() {
        let mut interner = Interner::default();
        let long = "long ".repeat(MIN_INTERNED_LEN);
        let (one, other) = (interner.intern(&long), interner.intern(&long));
        assert!(Arc::ptr_eq(&one, &other));
        interner.forget_unused();
        assert_eq!(interner.0.len(), 1);
        drop((one, other));
        interner.forget_unused();
        assert!(interner.0.is_empty());
    }
}
