//! Checks that the documentation names files, links and headings that exist.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository;

const FOLDERS: [&str; 6] = [
    "relay/",
    "tests/",
    "extension/",
    "mcp-client/",
    "fixtures/",
    "docs/",
];

fn documents() -> Vec<PathBuf> {
    let mut documents = vec![
        repository().join("README.md"),
        repository().join("CONTRIBUTING.md"),
    ];
    for entry in fs::read_dir(repository().join("docs")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "md") {
            documents.push(entry.path());
        }
    }
    documents
}

#[test]
fn documents_name_files_that_exist() {
    let mut missing = Vec::new();
    for document in documents() {
        for (number, line) in fs::read_to_string(&document).unwrap().lines().enumerate() {
            for name in named_files(line) {
                if !repository().join(name).exists() {
                    missing.push(format!("{}:{}: {name}", document.display(), number + 1));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn links_lead_to_existing_headings() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if !leads_somewhere(&document, link) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The paths in code spans that name a file with an extension, without wildcards.
fn named_files(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|span| {
        let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder));
        let has_extension = Path::new(span).extension().is_some();
        is_path && has_extension && !span.contains(['*', ' ', '{', '…'])
    })
}

/// The targets of the links inside the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://"))
}

fn leads_somewhere(document: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = if file.is_empty() {
        document.to_owned()
    } else {
        document.parent().unwrap().join(file)
    };
    if heading.is_empty() {
        return file.exists();
    }
    fs::read_to_string(file).is_ok_and(|text| anchors(&text).contains(heading))
}

/// The anchors of all headings, as GitHub makes them.
fn anchors(text: &str) -> HashSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn finds_links_headings_and_files() {
    let text = "# One `two`, three\nSee [a](#one-two-three) and [b](https://example.com).";
    assert_eq!(links(text).collect::<Vec<_>>(), ["#one-two-three"]);
    assert!(anchors(text).contains("one-two-three"));
    let line = "`tests/a.rs`, `tests/*.rs`, tests/b.rs and `relay/core`";
    assert_eq!(named_files(line).collect::<Vec<_>>(), ["tests/a.rs"]);
}
