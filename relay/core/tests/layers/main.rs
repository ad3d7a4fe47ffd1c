//! Enforces the layers of the core: code uses only its own layer and the layers below it.
//!
//! The folders in `src` are the layers, and `lib.rs` is on top of them. Two kinds of upward use are
//! found:
//! 1. paths into a higher layer: `crate::event::…`, also relative (`super::super::event`) or
//!    through a re-export;
//! 2. calls of methods that only higher layers define, such as `self.wake(…)`. All layers extend
//!    `Core` with methods, so the compiler allows those.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod samples;
mod scan;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use scan::{Reference, Source, Used};

/// The lowest layer first.
const LAYERS: [&str; 7] = [
    "protocol", "model", "emit", "session", "tab", "command", "event",
];
/// `lib.rs`
const TOP: usize = LAYERS.len();
/// The lowest layer that may use the type `Core`. Other types and constants of the crate root are
/// for everyone.
const LOWEST_WITH_CORE: &str = "emit";

/// Methods that standard types have too: a call counts only on one of `OWN_RECEIVERS`. Add a name
/// here when the check takes a call of a standard method for one of the core.
const COMMON_METHODS: &str = "all and_then any append as_bytes as_deref as_mut as_ref as_str bytes chain chars clear
    clone cloned close collect contains contains_key copied count drain end ends_with entry enumerate extend filter
    filter_map find find_map first flat_map flatten fold get get_mut get_or_insert_with insert insert_str into_iter
    into_owned is_empty is_none is_some iter iter_mut join keys last len lines map map_err max min next nth ok or_default
    or_insert or_insert_with parse peek pop pop_front position push push_back push_str range remove repeat replace replacen
    retain rev send set skip sort split start starts_with strip_prefix sum swap take then to_owned to_string trim values
    values_mut write zip";
const OWN_RECEIVERS: [&str; 4] = ["self", "core", "world", "out"];

#[test]
fn no_layer_uses_a_higher_one() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    read_folder(&src, &src, &mut files);
    let violations = check(&files);
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

/// Paths relative to `src`, and contents. Tests are left out: they may use anything.
fn read_folder(src: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "tests" || name == "tests.rs" {
            continue;
        }
        if path.is_dir() {
            read_folder(src, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(src).unwrap().to_str().unwrap();
            files.push((relative.to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns one line for each violation, as `file:line: …`.
fn check(files: &[(String, String)]) -> Vec<String> {
    let (mut sources, mut violations) = (Vec::new(), Vec::new());
    for (path, text) in files {
        match layer_of(path) {
            Some(layer) => sources.push((layer, Source::parse(path, text))),
            None => violations.push(format!("{path}:1: belongs to no layer")),
        }
    }
    for (layer, name) in LAYERS.iter().enumerate() {
        if !sources.iter().any(|(of_source, _)| *of_source == layer) {
            violations.push(format!("{name}:1: the layer has no files"));
        }
    }
    let map = Map::new(&sources);
    for (layer, source) in &sources {
        for reference in &source.references {
            if let Some(used) = map
                .layer_used(source, reference)
                .filter(|used| used > layer)
            {
                violations.push(format!(
                    "{}:{}: {} uses {}, which is in {}",
                    source.path,
                    reference.line,
                    layer_name(*layer),
                    reference.used,
                    layer_name(used)
                ));
            }
        }
    }
    violations
}

fn layer_of(path: &str) -> Option<usize> {
    if path == "lib.rs" {
        return Some(TOP);
    }
    let first = path.split('/').next()?.trim_end_matches(".rs");
    LAYERS.iter().position(|layer| *layer == first)
}

fn layer_name(layer: usize) -> &'static str {
    LAYERS.get(layer).copied().unwrap_or("lib.rs")
}

/// Where the names are defined that code can use.
#[derive(Default)]
struct Map {
    /// The lowest layer that defines a method with this name, for any type.
    methods: HashMap<String, usize>,
    /// The same by type and name.
    associated: HashMap<(String, String), usize>,
    /// Names of the crate root that stand for something in a layer.
    root: HashMap<String, usize>,
}

impl Map {
    fn new(sources: &[(usize, Source)]) -> Self {
        let mut map = Self::default();
        for (layer, name) in LAYERS.iter().enumerate() {
            map.root.insert((*name).to_owned(), layer);
        }
        for (layer, source) in sources {
            for (owner, name) in &source.methods {
                lower(&mut map.methods, name.clone(), *layer);
                lower(&mut map.associated, (owner.clone(), name.clone()), *layer);
            }
            for (name, module) in &source.root_imports {
                if let Some(imported) = layer_of(module) {
                    map.root.insert(name.clone(), imported);
                }
            }
            for name in &source.root_functions {
                map.root.insert(name.clone(), TOP);
            }
        }
        if let Some(layer) = layer_of(LOWEST_WITH_CORE) {
            map.root.insert("Core".to_owned(), layer);
        }
        map
    }

    /// The layer that a reference needs; `None` if it is something outside the layers.
    fn layer_used(&self, source: &Source, reference: &Reference) -> Option<usize> {
        match &reference.used {
            // A glob import of the root could bring in anything.
            Used::Root(name) if name == "*" => Some(TOP),
            Used::Root(name) => self.root.get(name).copied(),
            Used::Method { receiver, name } => {
                if matches!(receiver.as_str(), "self" | "core")
                    && let Some(layer) = self.core_method(source, name)
                {
                    return Some(layer);
                }
                let is_own = OWN_RECEIVERS.contains(&receiver.as_str());
                let counts = is_own
                    || !COMMON_METHODS
                        .split_whitespace()
                        .any(|common| common == name);
                self.methods.get(name).copied().filter(|_| counts)
            }
            Used::Associated { owner, name } if owner == "Self" => self
                .core_method(source, name)
                .or_else(|| self.methods.get(name).copied()),
            Used::Associated { owner, name } => {
                let key = (owner.clone(), name.clone());
                self.associated.get(&key).copied()
            }
        }
    }
}

impl Map {
    /// The layer of a method of `Core`, for a file that extends `Core`: there `self` is the core,
    /// even if a type of a lower layer has a method of the same name.
    fn core_method(&self, source: &Source, name: &str) -> Option<usize> {
        let extends_core = source.methods.iter().any(|(owner, _)| owner == "Core");
        let key = ("Core".to_owned(), name.to_owned());
        let layer = self.associated.get(&key).copied();
        layer.filter(|_| extends_core)
    }
}

/// Keeps the lowest layer for each key.
fn lower<K: std::hash::Hash + Eq>(map: &mut HashMap<K, usize>, key: K, layer: usize) {
    let lowest = map.entry(key).or_insert(layer);
    *lowest = layer.min(*lowest);
}
