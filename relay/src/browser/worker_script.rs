//! Joins the modules of the extension's service worker into one script, for browsers that the relay
//! launches. In a new profile, Chrome fetches and stores each module of a worker on its own, which
//! takes longer than everything else the extension does until it is connected.
//!
//! Understands only what the extension's modules use: named imports and exports, no cycles. Each
//! module becomes a function that runs once, so its own names stay private.

use std::fmt::Write as _;

/// The script, or `None` if a module is missing or uses something else. Chrome can then load the
/// modules as they are.
pub fn join<'a>(entry: &str, source_of: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let mut script = Script {
        source_of: &source_of,
        joined: Vec::new(),
        open: Vec::new(),
        text: String::new(),
    };
    script.add(entry)?;
    Some(script.text)
}

struct Script<'s, 'a> {
    source_of: &'s dyn Fn(&str) -> Option<&'a str>,
    joined: Vec<String>,
    /// The modules that are being added: each imports the next.
    open: Vec<String>,
    text: String,
}

impl Script<'_, '_> {
    /// Adds a module after everything that it imports.
    fn add(&mut self, file: &str) -> Option<()> {
        if self.joined.iter().any(|joined| joined == file) {
            return Some(());
        }
        if self.open.iter().any(|open| open == file) {
            return None;
        }
        let module = Module::parse((self.source_of)(file)?)?;
        self.open.push(file.to_owned());
        for import in &module.imports {
            self.add(import.file)?;
        }
        self.open.pop();
        self.joined.push(file.to_owned());
        module.write(file, &mut self.text)
    }
}

struct Module<'a> {
    imports: Vec<Import<'a>>,
    exports: Vec<&'a str>,
    body: String,
}

struct Import<'a> {
    file: &'a str,
    /// What stands between `const` and `=` when the import has become a declaration.
    names: Option<String>,
}

impl<'a> Module<'a> {
    fn parse(source: &'a str) -> Option<Self> {
        let mut module = Self {
            imports: Vec::new(),
            exports: Vec::new(),
            body: String::new(),
        };
        let mut rest = source;
        while !rest.is_empty() {
            let is_import = rest.starts_with("import ");
            let end = if is_import { ";\n" } else { "\n" };
            let length = rest.find(end).map_or(rest.len(), |at| at + end.len());
            let (statement, following) = rest.split_at_checked(length)?;
            rest = following;
            if is_import {
                module.imports.push(Import::parse(statement)?);
            } else if let Some(declaration) = statement.strip_prefix("export ") {
                module.exports.push(declared_name(declaration)?);
                module.body.push_str(declaration);
            } else {
                module.body.push_str(statement);
            }
        }
        Some(module)
    }

    fn write(&self, file: &str, text: &mut String) -> Option<()> {
        writeln!(text, "const {} = (() => {{", variable(file)).ok()?;
        for import in &self.imports {
            if let Some(names) = &import.names {
                writeln!(text, "const {names} = {};", variable(import.file)).ok()?;
            }
        }
        let exports = self.exports.join(", ");
        writeln!(text, "{}return {{ {exports} }};\n}})();", self.body).ok()
    }
}

impl<'a> Import<'a> {
    fn parse(statement: &'a str) -> Option<Self> {
        let clause = statement.strip_prefix("import ")?;
        let clause = clause.trim_end().strip_suffix("';")?;
        let (clause, file) = clause.rsplit_once("'./")?;
        let names = match clause.strip_suffix(" from ") {
            None if clause.is_empty() => None,
            None => return None,
            Some(names) => Some(match names.strip_prefix("* as ") {
                Some(namespace) => namespace.to_owned(),
                None if names.starts_with('{') => names.replace(" as ", ": "),
                None => return None,
            }),
        };
        Some(Self { file, names })
    }
}

/// The name in a declaration that keeps its value.
fn declared_name(declaration: &str) -> Option<&str> {
    let kinds = ["function ", "async function ", "class ", "const "];
    let name = kinds
        .iter()
        .find_map(|kind| declaration.strip_prefix(kind))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    name.get(..end).filter(|name| !name.is_empty())
}

/// The variable that has a module's exports. No module declares a name that starts with `$`.
fn variable(file: &str) -> String {
    format!("${}", file.trim_end_matches(".js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join_files(files: &[(&str, &'static str)]) -> Option<String> {
        join("main.js", |name| {
            let found = files.iter().find(|(file, _)| *file == name);
            found.map(|(_, source)| *source)
        })
    }

    #[test]
    fn modules_follow_what_they_import() {
        let script = join_files(&[
            (
                "main.js",
                "import {\n  a,\n  b as c,\n} from './one.js';\nimport * as two from './two.js';\nrun(a, c, two);\n",
            ),
            (
                "one.js",
                "import './two.js';\nexport const a = 1;\nexport async function b() {}\n",
            ),
            ("two.js", "/** import of nothing */\nexport class Two {}\n"),
        ]);
        let expected = "const $two = (() => {\n/** import of nothing */\nclass Two {}\nreturn { Two };\n})();\n\
            const $one = (() => {\nconst a = 1;\nasync function b() {}\nreturn { a, b };\n})();\n\
            const $main = (() => {\nconst {\n  a,\n  b: c,\n} = $one;\nconst two = $two;\nrun(a, c, two);\nreturn {  };\n})();\n";
        assert_eq!(script.as_deref(), Some(expected));
    }

    #[test]
    fn anything_else_is_left_to_chrome() {
        for source in [
            "import main from './one.js';\n",
            "import { a } from 'package';\n",
            "import { a } from './missing.js';\n",
            "import { a } from './main.js';\n",
            "export default 1;\n",
            "export let changing = 1;\n",
            "export { a };\n",
        ] {
            let script = join_files(&[("main.js", source), ("one.js", "")]);
            assert_eq!(script, None, "{source}");
        }
    }
}
