//! Texts from elsewhere that people read: names of clients and browsers, titles of pages, lines of logs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::IsTerminal;

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

/// What may be written to this stream. On a terminal, what could control it or change the direction of
/// text is replaced by an escape that JSON and JavaScript have, too. Programs get the text as it is.
pub fn on_terminal<'a>(stream: &impl IsTerminal, text: &'a str) -> Cow<'a, str> {
    if stream.is_terminal() {
        escaped(text)
    } else {
        Cow::Borrowed(text)
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if controls_terminal(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Leaves what writing systems and emoji need, such as joiners.
fn controls_terminal(c: char) -> bool {
    let is_layout = matches!(c, '\n' | '\t');
    c.is_control() && !is_layout || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_control_a_terminal() {
        let hostile = "a\u{1b}]0;x\u{7}\r\n\tb\u{9b}2J\u{7f}\u{202e}c\u{2066}";
        let shown = "a\\u001b]0;x\\u0007\\u000d\n\tb\\u009b2J\\u007f\\u202ec\\u2066";
        assert_eq!(escaped(hostile), shown);
        let harmless = "שלום\u{200f}, 👩\u{200d}💻\n";
        assert!(matches!(escaped(harmless), Cow::Borrowed(text) if text == harmless));
        let json = serde_json::json!({ "title": "x\u{9b}\u{202e}" });
        let parsed: serde_json::Value = serde_json::from_str(&escaped(&json.to_string())).unwrap();
        assert_eq!(parsed, json);
    }

    #[test]
    fn programs_get_text_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(on_terminal(&file, "\u{1b}"), "\u{1b}");
    }

    #[test]
    fn text_cannot_change_how_others_are_shown() {
        let hostile = "a\u{1b}[2J\nb\u{202e}c\u{200b}d\u{2028}e\u{feff}é";
        assert_eq!(printable(hostile, 100), "a[2Jbcdeé");
        assert_eq!(printable(hostile, 2), "a[");
    }
}
