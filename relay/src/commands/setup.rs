//! `tabwire setup`: adds `tabwire mcp` to an agent's configuration, after showing what changes there. Removes it again.

mod list;
mod options;

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::commands::absolute;
use crate::error::Error;
use crate::setup::file::ConfigFile;
use crate::setup::{Agent, Change, Fault, Folders, Server, diff, edit, fragment, program};

/// For agents that read skills. It teaches them the tool before they have called it.
const SKILL: &str = include_str!("../../../skills/tabwire/SKILL.md");
/// The line of its front matter by which it is recognized.
const SKILL_NAME: &str = "name: tabwire";

#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools)] // Each is an option of its own.
pub struct SetupOptions {
    /// The agent to set up
    #[arg(value_enum, required_unless_present = "list")]
    agent: Option<Agent>,
    /// List the agents, their files, and whether they are set up
    #[arg(long, conflicts_with_all = ["agent", "yes", "print", "remove", "skill", "name", "file", "mcp"])]
    list: bool,
    /// Print JSON, with --list
    #[arg(long, requires = "list")]
    json: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the lines to add instead of writing them
    #[arg(long, conflicts_with_all = ["yes", "remove", "skill"])]
    print: bool,
    /// Remove Tabwire from the agent's configuration, and its skill
    #[arg(long, conflicts_with_all = ["skill", "mcp"])]
    remove: bool,
    /// Also install a skill that explains Tabwire to the agent: Claude Code, Codex, Gemini CLI
    #[arg(long)]
    skill: bool,
    /// What the agent calls the server
    #[arg(long = "as", value_name = "NAME", default_value = "tabwire", value_parser = options::server_name)]
    name: String,
    /// Change this file instead of the one for all your projects
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Options of `tabwire mcp`, after `--`
    #[arg(last = true, value_name = "MCP OPTIONS")]
    mcp: Vec<String>,
}

/// What happens to one file.
struct Step {
    file: ConfigFile,
    /// Nothing if the file is removed.
    content: Option<String>,
}

pub fn run(options: &SetupOptions) -> Result<ExitCode, Error> {
    let folders = Folders::current().ok_or(tabwire_home::Error::NoHomeFolder)?;
    let Some(agent) = options.agent else {
        list::print(&folders, options.json);
        return Ok(ExitCode::SUCCESS);
    };
    let mcp = match options::parse(&options.mcp) {
        Ok(parsed) => options::check(agent, &parsed, &options.mcp)?,
        Err(error) => {
            let _ = error.print();
            return Ok(ExitCode::from(2));
        }
    };
    let server = Server {
        name: options.name.clone(),
        command: program::command(agent.has_shell_path())?,
        options: mcp,
        home: options::other_home(&folders)?,
    };
    let setup = Setup {
        agent,
        server,
        options,
        folders: &folders,
    };
    if options.print {
        return setup.print();
    }
    setup.change()
}

struct Setup<'a> {
    agent: Agent,
    server: Server,
    options: &'a SetupOptions,
    folders: &'a Folders,
}

impl Setup<'_> {
    fn file(&self) -> Result<PathBuf, Error> {
        match &self.options.file {
            Some(file) => absolute(file),
            None => Ok(self.agent.file(self.folders)),
        }
    }

    /// The lines go to stdout alone, so that they can be piped.
    fn print(&self) -> Result<ExitCode, Error> {
        let file = self.file()?;
        let lines = fragment(self.agent, &self.server).map_err(|fault| explain(fault, &file))?;
        eprintln!("For {}:", file.display());
        print_line!("{}", lines.trim_end());
        Ok(ExitCode::SUCCESS)
    }

    fn change(&self) -> Result<ExitCode, Error> {
        let steps = self.plan()?;
        let title = self.agent.title();
        if steps.is_empty() {
            let file = self.file()?;
            if self.options.remove {
                print_line!(
                    "{title} is not set up: nothing to remove from {}.",
                    file.display()
                );
            } else {
                print_line!("{title} is already set up, in {}.", file.display());
            }
            return Ok(ExitCode::SUCCESS);
        }
        let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        for step in &steps {
            step.file.check()?;
            step.show(color);
        }
        if !self.options.yes {
            if !io::stdin().is_terminal() {
                return Err(Error::SetupNeedsYes);
            }
            if !confirm(&mut io::stdin().lock(), &mut io::stdout())? {
                print_line!("Nothing was changed.");
                return Ok(ExitCode::FAILURE);
            }
        }
        // Agents write to these files too, and may have done so while the user was reading.
        for step in self.plan()? {
            step.file.check()?;
            step.carry_out()?;
        }
        print_line!("{} {}", self.outcome(), self.agent.next_step());
        Ok(ExitCode::SUCCESS)
    }

    fn outcome(&self) -> String {
        let title = self.agent.title();
        if self.options.remove {
            format!("{title} no longer starts Tabwire.")
        } else {
            format!("{title} is set up.")
        }
    }

    /// What has to be done, without what is already as wanted.
    fn plan(&self) -> Result<Vec<Step>, Error> {
        let change = if self.options.remove {
            Change::Remove(&self.server.name)
        } else {
            Change::Add(&self.server)
        };
        let file = ConfigFile::read(&self.file()?)?;
        let edited = edit(self.agent, file.text(), change);
        let edited = edited.map_err(|fault| explain(fault, &file.target))?;
        let has_file = !self.options.remove || file.content.is_some();
        let config = edited.filter(|_| has_file).map(|content| Step {
            file,
            content: Some(content),
        });
        Ok(config.into_iter().chain(self.plan_skill()?).collect())
    }

    fn plan_skill(&self) -> Result<Option<Step>, Error> {
        let Some(folder) = self.agent.skills(self.folders) else {
            return if self.options.skill {
                Err(Error::SetupNoSkills(self.agent.title()))
            } else {
                Ok(None)
            };
        };
        let file = ConfigFile::read(&folder.join("tabwire").join("SKILL.md"))?;
        let is_ours = file.content.as_deref().map(is_our_skill);
        match (self.options.skill, self.options.remove, is_ours) {
            (true, _, Some(false)) => Err(Error::OtherSkill(file.path)),
            (true, _, _) if file.text() != SKILL => Ok(Some(Step {
                file,
                content: Some(SKILL.to_owned()),
            })),
            (_, true, Some(true)) => Ok(Some(Step {
                file,
                content: None,
            })),
            _ => Ok(None),
        }
    }
}

fn is_our_skill(text: &str) -> bool {
    text.lines().take(5).any(|line| line == SKILL_NAME)
}

impl Step {
    fn show(&self, color: bool) {
        let ConfigFile { path, target, .. } = &self.file;
        let note = match (&self.file.content, &self.content) {
            (None, _) => " (new file)",
            (_, None) => " (removed)",
            _ => "",
        };
        print_line!("{}{note}", path.display());
        if self.file.is_link() {
            print_line!("This is a link. The change goes to {}", target.display());
        }
        let after = self.content.as_deref().unwrap_or_default();
        // Not with `print_line`, which would escape the colors. The diff shows control characters as text.
        let _ = writeln!(
            io::stdout(),
            "{}",
            diff::show(self.file.text(), after, color)
        );
    }

    fn carry_out(&self) -> Result<(), Error> {
        if let Some(content) = &self.content {
            return self.file.write(content);
        }
        self.file.remove()?;
        // Its folder has nothing else in it, unless somebody put it there.
        let _ = self.file.path.parent().map(std::fs::remove_dir);
        Ok(())
    }
}

fn confirm(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    write!(output, "Write this? [y/N] ")?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    let answer = answer.trim().to_lowercase();
    Ok(answer == "y" || answer == "yes")
}

fn explain(fault: Fault, file: &Path) -> Error {
    let file = file.to_owned();
    match fault {
        Fault::Syntax { line, reason } => Error::SetupSyntax {
            file,
            line,
            reason: reason.trim_end_matches('.').to_owned(),
        },
        Fault::NotATable(what) => Error::SetupContent {
            file,
            problem: format!("{what} is not an object with fields"),
        },
        Fault::Twice(key) => Error::SetupContent {
            file,
            problem: format!("'{key}' appears twice"),
        },
        Fault::OtherServer(name) => Error::SetupOther { file, name },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (answer, expected) in [
            ("y\n", true),
            (" Yes \n", true),
            ("\n", false),
            ("", false),
            ("no\n", false),
            ("yesterday\n", false),
        ] {
            let mut prompt = Vec::new();
            let confirmed = confirm(&mut answer.as_bytes(), &mut prompt).unwrap();
            assert_eq!(confirmed, expected, "{answer:?}");
            assert_eq!(prompt, b"Write this? [y/N] ");
        }
    }

    #[test]
    fn recognizes_its_own_skill() {
        assert!(is_our_skill(SKILL));
        assert!(!is_our_skill("---\nname: tabwires\n---\n"));
    }
}
