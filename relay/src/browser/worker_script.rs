//! Joins the modules of the extension's service worker into one script, for browsers that the relay
//! launches. In a new profile, Chrome fetches and stores each module of a worker on its own, which
//! takes longer than everything else the extension does until it is connected.
//!
//! Understands only what the extension's modules use: named imports, exports of one name each, no
//! cycles. Each module becomes a function that runs once, so its own names stay private. What has no
//! meaning in a function, such as `import.meta`, is not joined, and comments are left out. It reads lines,
//! as Prettier writes them, and is no parser: a test lets Node.js check the script.

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
            if is_comment(statement) {
                continue;
            }
            if spans_lines(statement) || !can_be_joined(statement) {
                return None;
            }
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
    let (name, value) = name.split_at_checked(end)?;
    (!name.is_empty() && !declares_another(value)).then_some(name)
}

/// Whether a line is a comment and nothing else. Two fifths of the text are, and Chrome stores all of it.
fn is_comment(line: &str) -> bool {
    let line = line.trim();
    let is_block = ["/*", "* ", "*/"]
        .iter()
        .any(|start| line.starts_with(start))
        || line == "*";
    let goes_on = || line.find("*/").is_some_and(|end| end + 2 < line.len());
    line.starts_with("//") || (is_block && !goes_on())
}

/// Whether a template literal goes on in the next line, where what looks like a comment is text.
fn spans_lines(line: &str) -> bool {
    line.matches('`').count() % 2 == 1
}

/// Whether a line means the same in a function. One that is not indented belongs to no function yet.
fn can_be_joined(line: &str) -> bool {
    if line.trim_start().starts_with(['/', '*']) {
        return true; // Code after a comment, which may name types of other modules.
    }
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let awaits = words.any(|word| word == "await") && !line.contains("async ");
    let is_indented = line.starts_with([' ', '\t']);
    let loads = line.contains("import.meta") || line.contains("import(");
    !loads && (is_indented || !awaits)
}

/// Whether another name follows after the first value of a declaration: `= 1, b = 2`. Sees a value of one
/// line, which is enough for lists of names as people write them.
fn declares_another(value: &str) -> bool {
    let (mut depth, mut quote) = (0_u32, None);
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (_, '\\') => drop(letters.next()),
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => return true,
            (None, _) => {}
        }
    }
    false
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
        let expected = "const $two = (() => {\nclass Two {}\nreturn { Two };\n})();\n\
            const $one = (() => {\nconst a = 1;\nasync function b() {}\nreturn { a, b };\n})();\n\
            const $main = (() => {\nconst {\n  a,\n  b: c,\n} = $one;\nconst two = $two;\nrun(a, c, two);\nreturn {  };\n})();\n";
        assert_eq!(script.as_deref(), Some(expected));
    }

    #[test]
    fn lists_and_functions_that_wait_are_joined() {
        for source in [
            "export const a = (b, c) => [b, c];\n",
            "export const a = ', b';\n",
            "export async function a() {\n  await b();\n}\n",
            "const a = async () => await b();\n",
            "/** Whoever must await import.meta. */\nfunction a() {\n  /** @type {import('./b.js').B} */\n}\n",
        ] {
            assert!(join_files(&[("main.js", source)]).is_some(), "{source}");
        }
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
            "export const a = 1, b = 2;\n",
            "export const a = [1, 2],\n  b = 2;\n",
            "await start();\n",
            "const a = await start();\n",
            "for await (const a of b) {\n}\n",
            "run(import.meta.url);\n",
            "const load = () => import('./one.js');\n",
            "const text = `one\n// no comment`;\n",
        ] {
            let script = join_files(&[("main.js", source), ("one.js", "")]);
            assert_eq!(script, None, "{source}");
        }
    }
}
