//! The service that starts the relay at login: what its definition says, where it is, and the commands
//! that make the system's service manager aware of it.
//!
//! Definitions are pure text for both systems. Nothing here runs a command.

mod launchd;
mod systemd;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::shell::quoted;

/// In the first lines of a definition. A file without it is not ours.
const MARK: &str = "Written by `tabwire service install`";

/// What the service runs. All text is free of control characters, which neither format can express.
pub struct Service {
    program: String,
    /// After `serve`.
    options: Vec<String>,
    /// Tabwire's home, if it is not the default.
    home: Option<String>,
    /// Where the output goes if the manager does not keep it.
    output: String,
}

impl Service {
    pub fn new(
        program: &Path,
        options: &[String],
        home: Option<&Path>,
        output: &Path,
    ) -> Result<Self, Error> {
        for option in options {
            check(option)?;
        }
        Ok(Self {
            program: text(program)?,
            options: options.to_vec(),
            home: home.map(text).transpose()?,
            output: text(output)?,
        })
    }
}

fn text(path: &Path) -> Result<String, Error> {
    let text = path.to_str();
    let text = text.ok_or_else(|| Error::ServiceText(path.to_string_lossy().into_owned()))?;
    check(text)?;
    Ok(text.to_owned())
}

fn check(text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::ServiceText(text.escape_debug().to_string()));
    }
    Ok(())
}

/// The program that runs services for the user.
#[derive(Debug, Clone, Copy)]
pub enum Manager {
    Systemd,
    Launchd { user_id: u32 },
}

impl Manager {
    pub fn current() -> Self {
        if cfg!(target_os = "macos") {
            let user_id = rustix::process::getuid().as_raw();
            Self::Launchd { user_id }
        } else {
            Self::Systemd
        }
    }

    /// Where the definition is. `config` is `$XDG_CONFIG_HOME`, if it is set.
    pub fn file(self, home: &Path, config: Option<&Path>) -> PathBuf {
        match self {
            Self::Systemd => config
                .map_or_else(|| home.join(".config"), Path::to_owned)
                .join("systemd/user")
                .join(systemd::UNIT),
            Self::Launchd { .. } => home
                .join("Library/LaunchAgents")
                .join(format!("{}.plist", launchd::LABEL)),
        }
    }

    pub fn definition(self, service: &Service) -> String {
        match self {
            Self::Systemd => systemd::unit(service),
            Self::Launchd { .. } => launchd::agent(service),
        }
    }

    /// Succeeds if the manager runs and takes commands from here.
    pub fn probe(self) -> Step {
        match self {
            Self::Systemd => Step::systemctl(&["show-environment"]),
            Self::Launchd { user_id } => Step::launchctl(&["print", &domain(user_id)]),
        }
    }

    /// Makes the service start at login, and also at once if `now`.
    pub fn enable(self, file: &Path, now: bool) -> Vec<Step> {
        match (self, now) {
            (Self::Systemd, true) => vec![
                Step::systemctl(&["daemon-reload"]),
                Step::systemctl(&["enable", "--now", systemd::UNIT]),
            ],
            (Self::Systemd, false) => vec![
                Step::systemctl(&["daemon-reload"]),
                Step::systemctl(&["enable", systemd::UNIT]),
            ],
            (Self::Launchd { .. }, true) => vec![self.start(file)],
            // Everything in its folder starts at login.
            (Self::Launchd { .. }, false) => Vec::new(),
        }
    }

    /// Starts a service that is installed.
    pub fn start(self, file: &Path) -> Step {
        match self {
            Self::Systemd => Step::systemctl(&["start", systemd::UNIT]),
            Self::Launchd { user_id } => {
                Step::launchctl(&["bootstrap", &domain(user_id), &file.to_string_lossy()])
            }
        }
    }

    /// Makes a running service use a changed definition.
    pub fn restart(self, file: &Path) -> Vec<Step> {
        match self {
            Self::Systemd => vec![Step::systemctl(&["restart", systemd::UNIT])],
            Self::Launchd { .. } => vec![self.disable(), self.start(file)],
        }
    }

    /// Stops the service, and keeps it from starting at login.
    pub fn disable(self) -> Step {
        match self {
            Self::Systemd => Step::systemctl(&["disable", "--now", systemd::UNIT]),
            Self::Launchd { user_id } => Step::launchctl(&["bootout", &target(user_id)]),
        }
    }

    /// After the definition was removed.
    pub fn forget(self) -> Option<Step> {
        match self {
            Self::Systemd => Some(Step::systemctl(&["daemon-reload"])),
            Self::Launchd { .. } => None,
        }
    }

    /// Succeeds if the service is running (systemd) or has been started (launchd, which starts it
    /// again if it fails).
    pub fn is_running(self) -> Step {
        match self {
            Self::Systemd => Step::systemctl(&["is-active", "--quiet", systemd::UNIT]),
            Self::Launchd { user_id } => Step::launchctl(&["print", &target(user_id)]),
        }
    }

    /// The link by which systemd starts the service at login. Only systemd makes one.
    pub fn login_link(self, file: &Path) -> Option<PathBuf> {
        match self {
            Self::Systemd => {
                let wanted = file.parent()?.join("default.target.wants");
                Some(wanted.join(systemd::UNIT))
            }
            Self::Launchd { .. } => None,
        }
    }

    /// Where a service that does not start says why.
    pub fn output_hint(self, output: &Path) -> String {
        match self {
            Self::Systemd => "journalctl --user -u tabwire".to_owned(),
            Self::Launchd { .. } => format!("cat {}", quote(&output.to_string_lossy())),
        }
    }
}

/// Whether a file was written by `tabwire service install`.
pub fn is_ours(definition: &str) -> bool {
    definition.lines().take(3).any(|line| line.contains(MARK))
}

fn domain(user_id: u32) -> String {
    format!("gui/{user_id}")
}

fn target(user_id: u32) -> String {
    format!("gui/{user_id}/{}", launchd::LABEL)
}

/// A command for the service manager, to run or to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub program: &'static str,
    pub arguments: Vec<String>,
}

impl Step {
    fn systemctl(arguments: &[&str]) -> Self {
        Self::new("systemctl", &[&["--user"], arguments].concat())
    }

    fn launchctl(arguments: &[&str]) -> Self {
        Self::new("launchctl", arguments)
    }

    fn new(program: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&it| it.to_owned()).collect();
        Self { program, arguments }
    }
}

/// As it is typed in a shell.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)?;
        for argument in &self.arguments {
            write!(f, " {}", quote(argument))?;
        }
        Ok(())
    }
}

/// For a shell.
fn quote(word: &str) -> String {
    if is_plain(word) {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// Whether a word means itself in a shell and in a unit.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}
