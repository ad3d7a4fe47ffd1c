//! The table as Markdown: one row per domain, with what most of its methods have in common and the
//! exceptions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::published::Method;
use super::{Treatment, in_a_page, in_the_browser};

/// The names of methods, by what happens to them.
type Treated<'m> = BTreeMap<Treatment, Vec<&'m str>>;

pub fn render(methods: &[Method]) -> String {
    let mut text = String::new();
    let total = methods.len();
    writeln!(text, "### In the session of a page\n").unwrap();
    writeln!(text, "| domain | methods | in a page | except |").unwrap();
    writeln!(text, "|---|---|---|---|").unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (domain, methods) in by_domain(methods) {
        let treated = group(&methods, in_a_page);
        for (treatment, names) in &treated {
            *counts.entry(word(treatment)).or_default() += names.len();
        }
        write_row(&mut text, domain, &treated);
    }
    let counts: Vec<_> = counts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    writeln!(text, "\nOf {total} methods: {}.\n", counts.join(", ")).unwrap();
    write_browser(&mut text, methods);
    text
}

fn by_domain(methods: &[Method]) -> BTreeMap<&str, Vec<&Method>> {
    let mut domains: BTreeMap<&str, Vec<&Method>> = BTreeMap::new();
    for method in methods {
        domains.entry(method.domain()).or_default().push(method);
    }
    domains
}

fn group<'m>(methods: &[&'m Method], treat: fn(&Method) -> Treatment) -> Treated<'m> {
    let mut treated = Treated::new();
    for method in methods {
        let names = treated.entry(treat(method)).or_default();
        names.push(method.short_name());
    }
    treated
}

fn write_row(text: &mut String, domain: &str, treated: &Treated<'_>) {
    let count: usize = treated.values().map(Vec::len).sum();
    // The most common one; of equal ones the first.
    let usual = treated.iter().rev().max_by_key(|(_, names)| names.len());
    let (usual, _) = usual.expect("a domain with methods");
    let exceptions: Vec<_> = treated
        .iter()
        .filter(|(treatment, _)| *treatment != usual)
        .map(|(treatment, names)| format!("{}: {}", describe(treatment), code(names)))
        .collect();
    let usual = describe(usual);
    let exceptions = exceptions.join("; ");
    writeln!(text, "| `{domain}` | {count} | {usual} | {exceptions} |").unwrap();
}

/// What works in the session of the browser, and what is refused there although a page has it.
fn write_browser(text: &mut String, methods: &[Method]) {
    writeln!(text, "### In the session of the browser\n").unwrap();
    writeln!(text, "| domain | methods | in the browser's session |").unwrap();
    writeln!(text, "|---|---|---|").unwrap();
    for (domain, methods) in by_domain(methods) {
        let treated = group(&methods, in_the_browser);
        for (treatment, names) in &treated {
            let names = match treatment {
                Treatment::Refused(reason) if reason.starts_with("an extension can") => {
                    if treated.len() == 1 {
                        "all"
                    } else {
                        "all others"
                    }
                    .to_owned()
                }
                Treatment::Refused(_) => continue,
                _ => code(names),
            };
            let treatment = describe(treatment);
            writeln!(text, "| `{domain}` | {names} | {treatment} |").unwrap();
        }
    }
}

fn word(treatment: &Treatment) -> &'static str {
    match treatment {
        Treatment::Forwarded => "forwarded",
        Treatment::Deferred => "deferred",
        Treatment::Emulated | Treatment::EmulatedWhileDormant => "emulated",
        Treatment::Synthesized => "synthesized",
        Treatment::Refused(_) => "refused",
    }
}

fn describe(treatment: &Treatment) -> String {
    let word = word(treatment);
    match treatment {
        Treatment::EmulatedWhileDormant => {
            format!("{word} (forwarded in a tab in use)")
        }
        Treatment::Refused(reason) if !reason.is_empty() => format!("{word} ({reason})"),
        _ => word.to_owned(),
    }
}

fn code(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
