//! Long texts that many sessions keep alike: a script that a client adds to each of hundreds of pages is kept once.

use std::collections::HashSet;
use std::sync::Arc;

/// Shorter ones are not worth the search.
const LONG: usize = 1024;

/// A text enters when it is first kept, and leaves when nobody keeps it any more and `forget_unused` is called.
#[derive(Debug, Default)]
pub struct Texts(HashSet<Arc<str>>);

impl Texts {
    pub fn share(&mut self, text: &str) -> Arc<str> {
        if text.len() < LONG {
            return text.into();
        }
        if let Some(kept) = self.0.get(text) {
            return kept.clone();
        }
        if self.0.len() == self.0.capacity() {
            // Before it grows, what nobody keeps any more makes room.
            self.forget_unused();
        }
        let kept: Arc<str> = text.into();
        self.0.insert(kept.clone());
        kept
    }

    pub fn forget_unused(&mut self) {
        self.0.retain(|text| Arc::strong_count(text) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_kept_once_and_forgotten_with_its_last_keeper() {
        let mut texts = Texts::default();
        let long = "long ".repeat(LONG);
        let (one, other) = (texts.share(&long), texts.share(&long));
        assert!(Arc::ptr_eq(&one, &other));
        texts.forget_unused();
        assert_eq!(texts.0.len(), 1);
        drop((one, other));
        texts.forget_unused();
        assert!(texts.0.is_empty());
    }
}
