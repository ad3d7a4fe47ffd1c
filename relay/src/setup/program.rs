//! Which program an agent has to start, and whether an entry starts Tabwire.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "tabwire";

/// What to write as the command. A full path works everywhere; where the shell's search path applies, the name
/// alone survives a move.
pub fn command(has_shell_path: bool) -> io::Result<String> {
    let own = env::current_exe()?;
    let found = find(NAME).filter(|found| is_same_file(found, &own));
    Ok(match found {
        Some(_) if has_shell_path => NAME.to_owned(),
        // It may be a link that a package manager updates. The program itself is in another folder then.
        Some(found) => found.display().to_string(),
        None => own.display().to_string(),
    })
}

/// Whether a command is some Tabwire.
pub fn is_tabwire(command: &str) -> bool {
    // Both kinds of paths, on every system: files are shared between them.
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    name.strip_suffix(".exe").unwrap_or(name) == NAME
}

/// Whether two commands start the same program here.
pub fn is_same(command: &str, other: &str) -> bool {
    let both = || Some((resolve(command)?, resolve(other)?));
    command == other || both().is_some_and(|(command, other)| is_same_file(&command, &other))
}

fn resolve(command: &str) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.is_absolute() {
        Some(path.to_owned())
    } else {
        find(command)
    }
}

/// The program with this name in the search path.
fn find(name: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH")?;
    let mut programs = env::split_paths(&paths).map(|folder| folder.join(name));
    programs.find(|program| program.is_absolute() && program.is_file())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_tabwire_by_its_file_name() {
        for command in ["tabwire", "/opt/a b/tabwire", r"C:\Tools\tabwire.exe"] {
            assert!(is_tabwire(command), "{command}");
        }
        for command in ["npx", "/opt/tabwire/run", "tabwire-mcp", ""] {
            assert!(!is_tabwire(command), "{command}");
        }
    }
}
