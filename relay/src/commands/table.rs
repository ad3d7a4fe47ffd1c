//! How commands print lists for people: columns, counts and ages.

const MAX_TEXT: usize = 100;

/// Prints rows with aligned columns, indented.
pub fn print<const N: usize>(rows: impl Iterator<Item = [String; N]>) {
    // Some of it comes from browsers, or from the output of programs.
    let shown = |cell: String| tabwire_home::printable(&cell, usize::MAX);
    let rows: Vec<[String; N]> = rows.map(|row| row.map(shown)).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
            .collect();
        print_line!("  {}", cells.join("  ").trim_end());
    }
}

/// `1 tab`, `2 tabs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// How long ago something was, in the largest unit that fits. Times are milliseconds since 1970.
pub fn age(now: u64, then: u64) -> String {
    let seconds = now.saturating_sub(then) / 1000;
    let (number, noun) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Without what a page could put into its title to change how the rest is shown.
pub fn printable(text: &str) -> String {
    tabwire_home::printable(text, MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_the_largest_unit_that_fits() {
        let ages = [1, 100, 130, 7200, 200_000].map(|seconds| age(seconds * 1000, 0));
        assert_eq!(
            ages,
            ["1 second", "100 seconds", "2 minutes", "2 hours", "2 days"]
        );
    }
}
