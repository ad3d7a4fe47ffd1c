//! Agents and their configuration files: where each agent keeps its MCP servers, and how Tabwire's entry is
//! added there and removed again. Everything else in a file is the user's and stays as it is.

pub mod agent;
pub mod diff;
pub mod file;
mod json;
pub mod program;
mod toml;

pub use agent::{Agent, Folders};

use agent::Format;

/// The entry that starts `tabwire mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What the agent calls it.
    pub name: String,
    pub command: String,
    /// Options of `tabwire mcp`. Without any, those of an existing entry stay.
    pub options: Vec<String>,
    /// Tabwire's home, if it is not the default.
    pub home: Option<String>,
}

/// What an agent's file has under the name of the entry.
#[derive(Debug, Default)]
struct Existing {
    command: Option<String>,
    args: Vec<String>,
    home: Option<String>,
}

/// What has to be set in an existing entry.
#[derive(Debug, Default, PartialEq, Eq)]
struct Patch {
    command: Option<String>,
    args: Option<Vec<String>>,
    home: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    Add(&'a Server),
    /// By name.
    Remove(&'a str),
}

/// Why a file cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    Syntax {
        line: usize,
        reason: String,
    },
    /// What has another type than the agent expects.
    NotATable(String),
    /// A key that is there twice. Which one counts depends on the reader.
    Twice(String),
    /// There is an entry with the name, and it starts another program.
    OtherServer(String),
}

impl Server {
    fn args(&self) -> Vec<String> {
        let command = std::iter::once("mcp".to_owned());
        command.chain(self.options.iter().cloned()).collect()
    }

    /// What differs from an existing entry. Fails if that is not Tabwire's.
    fn patch(&self, existing: &Existing) -> Result<Patch, Fault> {
        let command = existing.checked_command(&self.name)?;
        let is_mcp = existing.args.first().is_some_and(|first| first == "mcp");
        let keeps_args = if self.options.is_empty() {
            is_mcp
        } else {
            existing.args == self.args()
        };
        let other_home = self.home.clone().filter(|_| existing.home != self.home);
        Ok(Patch {
            command: (!program::is_same(command, &self.command)).then(|| self.command.clone()),
            args: (!keeps_args).then(|| self.args()),
            home: other_home,
        })
    }
}

impl Existing {
    /// The command, if it is Tabwire.
    fn checked_command(&self, name: &str) -> Result<&str, Fault> {
        self.command
            .as_deref()
            .filter(|command| program::is_tabwire(command))
            .ok_or_else(|| Fault::OtherServer(name.to_owned()))
    }
}

/// The new content of an agent's file, or nothing if it is already as wanted.
pub fn edit(agent: Agent, content: &str, change: Change<'_>) -> Result<Option<String>, Fault> {
    // Some editors write it; the parsers do not expect it.
    let (mark, text) = match content.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", content),
    };
    let edited = match agent.format() {
        Format::Json(format) => json::edit(text, change, format)?,
        Format::Toml => toml::edit(text, change)?,
    };
    Ok(edited
        .filter(|new| new != text)
        .map(|new| format!("{mark}{new}")))
}

/// Only the entry, as a complete file.
pub fn fragment(agent: Agent, server: &Server) -> Result<String, Fault> {
    edit(agent, "", Change::Add(server)).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
