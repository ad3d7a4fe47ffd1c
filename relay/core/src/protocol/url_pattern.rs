//! URL patterns of `Fetch.enable`: `*` matches anything, `?` one character or none, `\` escapes.

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Any,
    Optional,
    Exactly(char),
}

/// Whether a URL matches a pattern, by Chrome's rules. Takes time proportional to pattern times
/// URL, whatever the pattern: a client's pattern must not be able to stall the relay.
pub fn matches(pattern: &str, url: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let parts = parse(pattern);
    // For each part, whether matching can continue there. The position after the last part is the
    // end.
    let start = (0..=parts.len()).map(|position| position == 0).collect();
    let mut reachable = skip_optional(&parts, start);
    for letter in url.chars() {
        let mut next = vec![false];
        for (part, is_reachable) in parts.iter().zip(&reachable) {
            if let Some(same) = next.last_mut() {
                *same |= *is_reachable && *part == Part::Any;
            }
            let consumes = *part == Part::Optional || *part == Part::Exactly(letter);
            next.push(*is_reachable && consumes);
        }
        reachable = skip_optional(&parts, next);
    }
    reachable.last() == Some(&true)
}

fn parse(pattern: &str) -> Vec<Part> {
    let mut letters = pattern.chars();
    let mut parts = Vec::new();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            '*' => Part::Any,
            '?' => Part::Optional,
            '\\' => Part::Exactly(letters.next().unwrap_or('\\')),
            other => Part::Exactly(other),
        });
    }
    parts
}

/// Parts that can match nothing make the position after them reachable too.
fn skip_optional(parts: &[Part], mut reachable: Vec<bool>) -> Vec<bool> {
    let mut carried = false;
    for (index, position) in reachable.iter_mut().enumerate() {
        *position |= carried;
        let part = parts.get(index);
        carried = *position && part.is_some_and(|part| !matches!(part, Part::Exactly(_)));
    }
    reachable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_chrome_does() {
        for (pattern, url) in [
            ("*", "http://a/"),
            ("*/data*", "http://a/data?x=1"),
            ("http://a/?", "http://a/x"),
            ("http://a/?", "http://a/"),
            (r"*\?x=1", "http://a/?x=1"),
            ("http://a/*b*c", "http://a/bbcbc"),
            ("*ü*", "http://a/ü"),
        ] {
            assert!(matches(pattern, url), "{pattern} {url}");
        }
        for (pattern, url) in [
            ("", "http://a/"),
            ("http://a/", "http://a/b"),
            ("http://a/?", "http://a/xy"),
            (r"*\?x", "http://a/yx"),
            ("*/data", "http://a/data2"),
        ] {
            assert!(!matches(pattern, url), "{pattern} {url}");
        }
    }
}
