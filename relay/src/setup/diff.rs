//! Shows what changes in a file. The change is in one place, so everything between the first and the last line that
//! differ is one block. What does not change may be a secret of another server, and is shown only in part.

use std::fmt::Write as _;

/// Unchanged lines before and after the block.
const CONTEXT: usize = 3;
/// What is shown of a value that does not change.
const MAX_VALUE: usize = 12;
/// Of a longer line that changes, only the change is shown. Shorter ones hardly have room for a key of another server.
const MAX_CHANGED_LINE: usize = 60;
/// Unchanged characters before and after the change in such a line.
const MARGIN: usize = 12;
const MAX_LINE: usize = 160;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// A line each, with `-`, `+` or a space before it. `before` and `after` are empty for a file that does not exist.
pub fn show(before: &str, after: &str, color: bool) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = common(old.iter(), new.iter());
    let most = old.len().min(new.len()) - start;
    let end = common(old.iter().rev(), new.iter().rev()).min(most);
    let (removed, added) = (slice(&old, start, end), slice(&new, start, end));
    let mut text = String::new();
    for line in old.iter().take(start).skip(start.saturating_sub(CONTEXT)) {
        let _ = writeln!(text, "  {}", visible(&abridged(line)));
    }
    for (index, line) in removed.iter().enumerate() {
        let line = visible(&focused(line, added.get(index).copied()));
        let _ = writeln!(text, "{}", painted(&format!("- {line}"), RED, color));
    }
    for (index, line) in added.iter().enumerate() {
        let line = visible(&focused(line, removed.get(index).copied()));
        let _ = writeln!(text, "{}", painted(&format!("+ {line}"), GREEN, color));
    }
    for line in old.iter().skip(old.len() - end).take(CONTEXT) {
        let _ = writeln!(text, "  {}", visible(&abridged(line)));
    }
    text
}

fn painted(line: &str, paint: &str, color: bool) -> String {
    if color {
        format!("{paint}{line}{PLAIN}")
    } else {
        line.to_owned()
    }
}

/// What controls a terminal or hides text could show another change than the one that is written.
fn visible(line: &str) -> String {
    line.chars()
        .map(|c| {
            if c != '\t' && tabwire_home::is_unsafe(c) {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// How many items are equal until the first that differ.
fn common<T: PartialEq>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// Without the first `start` and the last `end` lines.
fn slice<'a, 'b>(lines: &'a [&'b str], start: usize, end: usize) -> &'a [&'b str] {
    lines.get(start..lines.len() - end).unwrap_or_default()
}

/// An unchanged line, with the start of each value.
fn abridged(line: &str) -> String {
    let is_heading = line.starts_with('[') && line.ends_with(']') && !line.contains('"');
    if is_heading {
        return cut(line, MAX_LINE);
    }
    let Some(at) = line.find([':', '=']) else {
        return cut(line, MAX_VALUE + line.len() - line.trim_start().len());
    };
    let (key, value) = line.split_at(at + 1);
    format!("{}{}", cut(key, MAX_LINE), cut(value, MAX_VALUE))
}

/// Of a long line that was and stays mostly the same, such as a file without line breaks, only the part that changes.
fn focused(line: &str, other: Option<&str>) -> String {
    let Some(other) = other.filter(|_| line.chars().count() > MAX_CHANGED_LINE) else {
        return line.to_owned();
    };
    let characters: Vec<char> = line.chars().collect();
    let start = common(line.chars(), other.chars());
    let shortest = characters.len().min(other.chars().count());
    let end = common(line.chars().rev(), other.chars().rev()).min(shortest - start);
    let from = start.saturating_sub(MARGIN);
    let to = (characters.len() - end + MARGIN).min(characters.len());
    let part = characters.get(from..to).unwrap_or_default();
    let part: String = part.iter().collect();
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    let (before, after) = (ellipsis(from > 0), ellipsis(to < characters.len()));
    format!("{before}{part}{after}")
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_block_that_changes_and_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = before.replace("5\n", "five\nfive and a half\n");
        let expected = "  2\n  3\n  4\n- 5\n+ five\n+ five and a half\n  6\n  7\n  8\n";
        assert_eq!(show(before, &after, false), expected);
        assert_eq!(show("", "a\n", false), "+ a\n");
        assert_eq!(show("a\n", "", false), "- a\n");
        assert_eq!(show("a\n", "a\na\n", false), "  a\n+ a\n");
        let table = "[mcp_servers.other]\n";
        assert!(show(table, &format!("{table}a\n"), false).contains(table));
    }

    #[test]
    fn colors_only_lines_that_change() {
        let text = show("a\nb\n", "a\nc\n", true);
        assert_eq!(text, "  a\n\x1b[31m- b\x1b[0m\n\x1b[32m+ c\x1b[0m\n");
    }

    #[test]
    fn a_file_cannot_change_how_the_change_is_shown() {
        let before = "\u{1b}[2J\u{202e}x\n\ta\u{7}\n";
        let text = show(before, "\u{1b}[2J\u{202e}x\n\tb\u{9b}1A\r\n", false);
        assert_eq!(
            text,
            "  \\u{1b}[2J\\u{202e}x\n- \ta\\u{7}\n+ \tb\\u{9b}1A\n"
        );
    }

    #[test]
    fn secrets_of_others_are_not_shown() {
        let secret = "ghp_0123456789abcdefghij";
        let before = format!("{{\n  \"TOKEN\": \"{secret}\"\n  \"{secret}\"\n}}\n");
        let after = before.replace('}', "  more\n}");
        let text = show(&before, &after, false);
        assert!(
            text.contains("\"TOKEN\": \"ghp_") && text.contains("+   more"),
            "{text}"
        );
        assert!(!text.contains(secret), "{text}");
        let before = format!(r#"{{"servers":{{"other":{{"env":{{"TOKEN":"{secret}"}}}}}}}}"#);
        let after = before.replace("}}}}", r#"}},"tabwire":{}}}"#);
        let text = show(&before, &after, false);
        assert!(text.contains("tabwire"), "{text}");
        assert!(!text.contains(secret), "{text}");
    }

    #[test]
    fn of_a_long_line_only_the_change_is_shown() {
        let long = "x".repeat(500);
        let text = show(&format!("{long}{long}"), &format!("{long}ö!{long}"), false);
        let (before, after) = ("x".repeat(MARGIN), "x".repeat(MARGIN));
        assert!(
            text.ends_with(&format!("+ …{before}ö!{after}…\n")),
            "{text}"
        );
    }
}
