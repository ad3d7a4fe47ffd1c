//! What can be given to `tabwire mcp` in an agent's file. A wrong option would fail whenever the agent starts, where
//! nobody sees why, so everything is checked here.

use std::env;
use std::path::{Path, PathBuf};

use clap::Parser;
use tabwire_mcp::Secrets;

use crate::commands::absolute;
use crate::commands::mcp::McpOptions;
use crate::error::Error;
use crate::setup::{Agent, Folders};

/// What clap makes of the options after `--`.
pub fn parse(mcp: &[String]) -> Result<McpOptions, clap::Error> {
    #[derive(Parser)]
    #[command(name = "tabwire mcp")]
    struct Mcp {
        #[command(flatten)]
        options: McpOptions,
    }
    let command = std::iter::once("tabwire mcp".to_owned());
    Mcp::try_parse_from(command.chain(mcp.iter().cloned())).map(|mcp| mcp.options)
}

/// The options as they are written. Agents start programs in other folders, so paths become absolute.
pub fn check(agent: Agent, parsed: &McpOptions, mcp: &[String]) -> Result<Vec<String>, Error> {
    let refused = |option| Error::SetupOption {
        agent: agent.title(),
        option,
    };
    if parsed.http.is_some() {
        return Err(refused("--http"));
    }
    if parsed.install {
        return Err(refused("--install"));
    }
    let mut options = mcp.to_vec();
    if let Some(file) = &parsed.session.secrets {
        let file = absolute(file)?;
        Secrets::load(Some(&file))?;
        options = with_path(&options, "--secrets", &file);
    }
    if let Some(folder) = &parsed.session.files {
        options = with_path(&options, "--files", &absolute(folder)?);
    }
    Ok(options)
}

/// Replaces the value of an option that is a path.
fn with_path(mcp: &[String], name: &str, path: &Path) -> Vec<String> {
    let path = path.display();
    let mut is_value = false;
    let replace = |option: &String| {
        let was_value = std::mem::replace(&mut is_value, option == name);
        let has_value = option
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('='));
        match (was_value, has_value) {
            (true, _) => path.to_string(),
            (_, true) => format!("{name}={path}"),
            _ => option.clone(),
        }
    };
    mcp.iter().map(replace).collect()
}

/// Tabwire's home, if the variable names another than the default: agents do not pass it on.
pub fn other_home(folders: &Folders) -> Result<Option<String>, Error> {
    let home = env::var_os("TABWIRE_HOME").filter(|home| !home.is_empty());
    let Some(home) = home.map(PathBuf::from) else {
        return Ok(None);
    };
    let home = absolute(&home)?;
    let is_default = home == folders.home.join(".tabwire");
    Ok((!is_default).then(|| home.display().to_string()))
}

/// All agents accept such a name.
pub fn server_name(text: &str) -> Result<String, String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&text.len()) && text.bytes().all(is_valid) {
        Ok(text.to_owned())
    } else {
        Err("a name has letters, digits, hyphens and underscores, at most 64".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute() {
        let file = Path::new("/home/ada/secrets");
        let mcp = |options: &[&str]| {
            options
                .iter()
                .map(|it| (*it).to_owned())
                .collect::<Vec<_>>()
        };
        for (given, expected) in [
            (
                mcp(&["--secrets", "a", "--idle", "1"]),
                mcp(&["--secrets", "/home/ada/secrets", "--idle", "1"]),
            ),
            (
                mcp(&["--idle", "1", "--secrets=a"]),
                mcp(&["--idle", "1", "--secrets=/home/ada/secrets"]),
            ),
        ] {
            assert_eq!(with_path(&given, "--secrets", file), expected);
        }
    }

    #[test]
    fn names_are_valid_everywhere() {
        assert!(server_name("work_browser-2").is_ok());
        for name in ["", "a b", "a.b", "\u{fc}", &"a".repeat(65)] {
            assert!(server_name(name).is_err(), "{name}");
        }
    }
}
