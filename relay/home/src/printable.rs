//! Texts from elsewhere that people read: names of clients and browsers, titles of pages, lines of logs.

/// Control characters, those that end lines or change the direction of text, and invisible ones.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Leaves out what is unsafe, and cuts what is too long.
pub fn printable(text: &str, max: usize) -> String {
    text.chars().filter(|c| !is_unsafe(*c)).take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_change_how_others_are_shown() {
        let hostile = "a\u{1b}[2J\nb\u{202e}c\u{200b}d\u{2028}e\u{feff}é";
        assert_eq!(printable(hostile, 100), "a[2Jbcdeé");
        assert_eq!(printable(hostile, 2), "a[");
    }
}
