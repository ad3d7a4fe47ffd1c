//! Checks the size of source files and functions, and what the documentation refers to. It only reads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod docs;
mod javascript;
mod rust;
mod tokens;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_FILE_LINES: usize = 400;
const MAX_FUNCTION_LINES: usize = 30;
/// In percent of all functions.
const MAX_LONG_FUNCTIONS: usize = 10;

const FOLDERS: [&str; 4] = ["relay", "mcp-client", "extension", "tests"];
/// Checked if they exist.
const OPTIONAL_FOLDERS: [&str; 2] = ["fuzz", "examples"];
const EXTENSIONS: [&str; 9] = ["rs", "js", "mjs", "cjs", "ts", "py", "sh", "html", "css"];

pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
}

/// A function with a body.
pub struct Function {
    pub name: String,
    /// The first line of its signature.
    pub line: usize,
    /// From the signature to the closing brace, both included.
    pub lines: usize,
}

#[test]
fn no_source_file_is_too_long() {
    let violations = too_long(&read_sources());
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn most_functions_of_the_product_are_short() {
    let sources = read_sources();
    let report = LongFunctions::count(sources.iter().filter(|file| !file.is_test()));
    assert!(report.is_acceptable(), "{report}");
}

#[test]
fn most_functions_are_short() {
    let report = LongFunctions::count(read_sources().iter());
    assert!(report.is_acceptable(), "{report}");
}

fn too_long(files: &[SourceFile]) -> Vec<String> {
    files
        .iter()
        .map(|file| (file.path.display(), file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_FILE_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines, the limit is {MAX_FILE_LINES}"))
        .collect()
}

struct LongFunctions {
    total: usize,
    /// Where each one is, the longest first.
    long: Vec<(usize, String)>,
}

impl LongFunctions {
    fn count<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Self {
        let (mut total, mut long) = (0, Vec::new());
        for file in files {
            for function in file.functions() {
                total += 1;
                if function.lines > MAX_FUNCTION_LINES {
                    let at = format!("{}:{}", file.path.display(), function.line);
                    long.push((function.lines, format!("{at} {}", function.name)));
                }
            }
        }
        long.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
        Self { total, long }
    }

    fn is_acceptable(&self) -> bool {
        self.total > 0 && self.long.len() * 100 <= self.total * MAX_LONG_FUNCTIONS
    }
}

impl fmt::Display for LongFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (long, total) = (self.long.len(), self.total);
        writeln!(
            f,
            "{long} of {total} functions have more than {MAX_FUNCTION_LINES} lines:"
        )?;
        for (lines, place) in &self.long {
            writeln!(f, "{lines:4} {place}")?;
        }
        Ok(())
    }
}

impl SourceFile {
    fn functions(&self) -> Vec<Function> {
        match self
            .path
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("rs") => rust::functions(&self.text)
                .unwrap_or_else(|error| panic!("{}: {error}", self.path.display())),
            _ => javascript::functions(&self.text),
        }
    }

    fn is_test(&self) -> bool {
        self.path
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All source files of the repository.
fn read_sources() -> Vec<SourceFile> {
    let root = repository();
    let mut files = Vec::new();
    for folder in FOLDERS {
        let before = files.len();
        read_folder(root, &root.join(folder), &mut files);
        assert!(files.len() > before, "no source files in {folder}");
    }
    for folder in OPTIONAL_FOLDERS {
        read_folder(root, &root.join(folder), &mut files);
    }
    files
}

fn read_folder(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        if path.is_dir() {
            if !["node_modules", "target"].contains(&name) && !name.starts_with('.') {
                read_folder(root, &path, files);
            }
        } else if is_source(&path) {
            files.push(SourceFile {
                text: fs::read_to_string(&path).unwrap(),
                path: path.strip_prefix(root).unwrap().to_owned(),
            });
        }
    }
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> SourceFile {
        SourceFile {
            path: path.into(),
            text,
        }
    }

    #[test]
    fn reports_files_over_the_limit() {
        let files = [400, 401].map(|lines| file(&format!("{lines}.rs"), "\n".repeat(lines)));
        assert_eq!(too_long(&files), ["401.rs: 401 lines, the limit is 400"]);
    }

    /// A Rust and a JavaScript file that together have this many long and short functions.
    fn functions(long: usize, short: usize) -> [SourceFile; 2] {
        let body = "\n".repeat(MAX_FUNCTION_LINES);
        let rust = format!("fn long() {{{body}}}\n").repeat(long);
        let javascript = "function short() {}\n".repeat(short);
        [file("a.rs", rust), file("b.js", javascript)]
    }

    #[test]
    fn accepts_one_long_function_in_ten() {
        assert!(LongFunctions::count(functions(1, 9).iter()).is_acceptable());
        assert!(!LongFunctions::count(functions(1, 8).iter()).is_acceptable());
    }

    #[test]
    fn reports_long_functions_with_their_place() {
        let report = LongFunctions::count(functions(1, 0).iter()).to_string();
        assert!(report.contains("31 a.rs:1 long"), "{report}");
    }

    #[test]
    fn rejects_an_empty_count() {
        assert!(!LongFunctions::count([].iter()).is_acceptable());
    }

    #[test]
    fn distinguishes_tests_from_the_product() {
        for (path, expected) in [
            ("tests/relay/main.rs", true),
            ("relay/core/src/tests/link.rs", true),
            ("relay/core/src/wire/tests.rs", true),
            ("relay/src/main.rs", false),
        ] {
            assert_eq!(file(path, String::new()).is_test(), expected, "{path}");
        }
    }
}
