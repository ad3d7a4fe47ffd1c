//! The lines of the log: columns for people, without anything that could change what a terminal
//! shows.

use std::fmt::{Display, Write as _};
use std::time::{Duration, SystemTime};

use tabwire_core::ids::ClientId;
use tabwire_home::is_unsafe;

/// Longer texts are cut.
const MAX_EVENT: usize = 4_000;
const MAX_NAME: usize = 80;
const MAX_METHOD: usize = 63;
/// Enough to tell sessions apart.
const SESSION_LENGTH: usize = 8;
/// After it, a column starts.
const METHOD_WIDTH: usize = 32;

/// A request that has been answered.
pub struct Answer<'a> {
    pub client: ClientId,
    /// `None` for the client's root session.
    pub session: Option<&'a dyn Display>,
    /// Empty for a message that is not a request.
    pub method: &'a str,
    pub took: Duration,
    /// The code of the error reply.
    pub error: Option<i64>,
}

/// Time, client, session, duration, outcome, method, and the client's name, which is the only one
/// that can contain spaces.
pub fn put_answer(line: &mut String, now: SystemTime, name: &str, answer: &Answer<'_>) {
    put_time(line, now);
    line.push_str("   CMD ");
    put_column(line, 10, |line| {
        let _ = write!(line, "{}", answer.client);
    });
    put_column(line, SESSION_LENGTH, |line| {
        put_session(line, answer.session);
    });
    let tenths = answer.took.as_micros() / 100;
    let _ = write!(line, "{:>6}.{}ms ", tenths / 10, tenths % 10);
    put_column(line, 6, |line| {
        let _ = match answer.error {
            None => write!(line, "ok"),
            Some(code) => write!(line, "{code}"),
        };
    });
    put_column(line, METHOD_WIDTH, |line| match answer.method {
        "" => line.push_str("(malformed)"),
        method => put_escaped(line, method, MAX_METHOD, |c| c == ' ' || is_unsafe(c)),
    });
    put_escaped(line, name, MAX_NAME, is_unsafe);
    line.push('\n');
}

fn put_session(line: &mut String, session: Option<&dyn Display>) {
    let Some(session) = session else {
        return line.push('-');
    };
    let mut text = String::with_capacity(32);
    let _ = write!(text, "{session}");
    let start = text.chars().take(SESSION_LENGTH);
    line.extend(start.filter(|c| c.is_ascii_graphic()));
}

/// A line from `tracing`, which has a time already.
pub fn put_event(line: &mut String, text: &str) {
    put_escaped(line, text.trim_end(), MAX_EVENT, is_unsafe);
    line.push('\n');
}

/// How many lines are missing here.
pub fn put_lost(line: &mut String, now: SystemTime, lost: u64) {
    put_time(line, now);
    let _ = writeln!(
        line,
        "  WARN {lost} lines are missing here: the disk was too slow"
    );
}

fn put_column(line: &mut String, width: usize, put: impl FnOnce(&mut String)) {
    let end = line.len() + width;
    put(line);
    while line.len() < end {
        line.push(' ');
    }
    line.push(' ');
}

/// As in `2026-03-01T12:00:00.000Z`.
pub fn put_time(text: &mut String, time: SystemTime) {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millisecond = since.subsec_millis();
    let _ = write!(
        text,
        "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"
    );
}

/// The date of a day since 1970, in years that begin in March, so that a leap day is the last.
/// After <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn date(day: u64) -> (u64, u64, u64) {
    /// From 0000-03-01 to 1970-01-01.
    const OFFSET: u64 = 719_468;
    const DAYS_IN_ERA: u64 = 146_097;
    let (era, day) = ((day + OFFSET) / DAYS_IN_ERA, (day + OFFSET) % DAYS_IN_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, date)
}

/// Escapes what is unsafe, and cuts what is too long.
pub fn put_escaped(line: &mut String, text: &str, max: usize, is_unsafe: impl Fn(char) -> bool) {
    for (at, c) in text.chars().enumerate() {
        if at == max {
            return line.push('…');
        }
        if is_unsafe(c) {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
    }

    fn answer() -> Answer<'static> {
        Answer {
            client: ClientId(3),
            session: Some(&"0123456789ABCDEF0123456789ABCDEF"),
            method: "Runtime.evaluate",
            took: Duration::from_micros(12_345),
            error: None,
        }
    }

    fn line(name: &str, answer: &Answer<'_>) -> String {
        let mut line = String::new();
        put_answer(&mut line, at(0), name, answer);
        line
    }

    #[test]
    fn times_are_utc_dates() {
        let time = |milliseconds| {
            let mut text = String::new();
            put_time(&mut text, at(milliseconds));
            text
        };
        // As `date -u -d @… +%FT%TZ` prints them.
        assert_eq!(time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(951_825_599_999), "2000-02-29T11:59:59.999Z");
        assert_eq!(time(1_772_323_200_007), "2026-03-01T00:00:00.007Z");
        assert_eq!(time(4_107_542_399_000), "2100-02-28T23:59:59.000Z");
        assert_eq!(time(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn answer_is_a_line_with_columns() {
        assert_eq!(
            line("my agent", &answer()),
            "1970-01-01T00:00:00.000Z   CMD client-3   01234567     12.3ms ok     Runtime.evaluate                 my agent\n"
        );
        let failed = Answer {
            session: None,
            error: Some(-32000),
            method: "",
            took: Duration::from_secs(100_000),
            ..answer()
        };
        assert_eq!(
            line("my agent", &failed),
            "1970-01-01T00:00:00.000Z   CMD client-3   -        100000000.0ms -32000 (malformed)                      my agent\n"
        );
    }

    #[test]
    fn what_clients_send_is_escaped_and_cut() {
        let hostile = Answer {
            session: Some(&"\u{1b}[2J\nx"),
            method: "Page\n.x y\u{7f}",
            ..answer()
        };
        let hostile = line("a\u{1b}[2Jb\r\nc\u{9b}d\u{202e}e", &hostile);
        assert!(
            hostile.ends_with("a\\u{1b}[2Jb\\u{d}\\u{a}c\\u{9b}d\\u{202e}e\n"),
            "{hostile:?}"
        );
        assert!(
            hostile.contains("Page\\u{a}.x\\u{20}y\\u{7f}"),
            "{hostile:?}"
        );
        assert!(!hostile.trim_end().contains(is_unsafe), "{hostile:?}");
        let (name, method) = ("n".repeat(500), "m".repeat(500));
        let long = Answer {
            method: &method,
            ..answer()
        };
        assert!(line(&name, &long).chars().count() < 250);
        let mut event = String::new();
        put_event(&mut event, &format!("INFO {}\n", "x\n".repeat(9_999)));
        assert!(event.len() < 20_000);
        assert_eq!(event.find('\n'), Some(event.len() - 1));
    }
}
