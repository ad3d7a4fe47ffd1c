//! What can fail before, around and in an agent's code. Each error says what happened (`Display`)
//! and what to do about it (`remedy`). An agent and a shell user get the same facts, but only the
//! shell user can act on the machine.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("Code runs in Node.js 20 or newer, but {0}.")]
    NoNode(String),
    #[error("Code runs in Node.js 20 or newer, but `node --version` prints '{0}'.")]
    NodeTooOld(String),
    #[error("playwright-core is not installed yet, and `npm`, which installs it, was not found.")]
    NoNpm,
    #[error("Cannot install playwright-core: {0}.")]
    Install(String),
    #[error("Cannot use the secrets in {place}: {reason}.")]
    Secrets { place: String, reason: String },
    #[error("No relay is running on port {port}, and starting one failed: {reason}.")]
    RelayStart {
        port: u16,
        reason: String,
        output: PathBuf,
    },
    #[error("The program on port {0} does not respond like a Tabwire relay.")]
    NotARelay(u16),
    #[error("The program on port {0} is not this home's relay.")]
    ForeignRelay(u16),
    #[error("This home's relay is on port {port} (process {pid}), not on port {requested}.")]
    RelayElsewhere { requested: u16, port: u16, pid: u32 },
    #[error("This home's relay (process {pid}, port {port}) does not respond.")]
    SilentRelay { port: u16, pid: u32 },
    #[error("No browser connected.")]
    NoExtension,
    #[error(
        "The browser '{name}' is not connected. {}",
        describe_connected(connected)
    )]
    BrowserNotConnected {
        name: String,
        connected: Vec<String>,
    },
    #[error("Several browsers are connected: {}.", .0.join(", "))]
    SeveralBrowsers(Vec<String>),
    #[error(
        "Another client is using the browser: {holder}. It did not disconnect within {} s.",
        waited.as_secs_f32()
    )]
    SlotBusy { holder: String, waited: Duration },
    #[error("Cannot connect to the browser: {0}.")]
    Connect(String),
    #[error("The code did not finish within {} s and was stopped.", after.as_secs_f32())]
    TimedOut { after: Duration },
    #[error("The code used more than {0} MiB of memory and was stopped.")]
    OutOfMemory(u64),
    #[error("The call was cancelled and its code was stopped.")]
    Cancelled,
    #[error("A reset stopped the code.")]
    Reset,
    #[error("A reset came first; the code was not run.")]
    ResetBefore,
    #[error("Invalid arguments for {tool}: {reason}.")]
    Arguments {
        tool: &'static str,
        reason: String,
        /// What the tool takes.
        usage: &'static str,
    },
    #[error("No browser '{0}' found on this machine.")]
    UnknownBrowser(String),
    /// What the relay responds.
    #[error("{0}")]
    NotLaunched(String),
    /// What the relay responds.
    #[error("{0}")]
    BrowserRefused(String),
    #[error("The relay does not respond as it should: {0}.")]
    RelayRequest(String),
    #[error("The process that runs the code exited ({0}).")]
    WorkerExited(String),
    #[error("Cannot start the process that runs the code: {reason}.")]
    WorkerStart { reason: String, folder: PathBuf },
    #[error("{0}")]
    NoSuchTab(String),
    #[error("The process that runs the code failed: {0}.")]
    Runner(String),
    #[error("Cannot read {what}: {reason}.")]
    Unreadable { what: String, reason: io::Error },
    #[error("Cannot write {what}: {reason}.")]
    Unwritable { what: String, reason: io::Error },
    #[error(transparent)]
    Home(#[from] tabwire_home::Error),
    #[error("Cannot use Tabwire's home: {0}.")]
    HomeFile(#[from] io::Error),
}

/// Who reads an error. The runner knows them by the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Audience {
    /// Calls tools. Anything on the machine needs the user.
    Agent,
    ShellUser,
}

/// The command that installs Node.js and npm.
const INSTALL_NODE: &str = if cfg!(target_os = "macos") {
    "brew install node"
} else {
    "sudo apt-get install nodejs npm"
};
/// The command that upgrades Node.js, however old the system's packages are.
const UPGRADE_NODE: &str = if cfg!(target_os = "macos") {
    "brew upgrade node"
} else {
    "sudo npx --yes n lts"
};

const SIDE_EFFECTS: &str = "Anything the code started in the page may have taken effect.";

impl Audience {
    /// A step on the machine, such as "run `npm install`". An agent has to ask the user for it.
    fn step(self, step: &str) -> String {
        match self {
            Self::Agent => format!("Ask the user to {step}, then call again."),
            Self::ShellUser => format!("{}, then try again.", capitalized(step)),
        }
    }

    fn retry(self) -> &'static str {
        match self {
            Self::Agent => "Call again.",
            Self::ShellUser => "Try again.",
        }
    }

    /// What is lost when code is stopped and its worker replaced. Runs from a shell share no state,
    /// so they have none to lose.
    pub fn loss(self) -> String {
        match self {
            Self::Agent => {
                format!("`state` and variables are lost; `page` is kept. {SIDE_EFFECTS}")
            }
            Self::ShellUser => SIDE_EFFECTS.to_owned(),
        }
    }
}

fn describe_connected(names: &[String]) -> String {
    match names {
        [] => "No browser is connected.".to_owned(),
        names => format!("Connected: {}.", names.join(", ")),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

impl Error {
    /// A stable identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoNode(_) => "no-node",
            Self::NodeTooOld(_) => "node-too-old",
            Self::NoNpm => "no-npm",
            Self::Install(_) => "no-package",
            Self::Secrets { .. } => "secrets",
            Self::RelayStart { .. } | Self::NotARelay(_) => "no-relay",
            Self::ForeignRelay(_) => "foreign-relay",
            Self::RelayElsewhere { .. } => "relay-elsewhere",
            Self::SilentRelay { .. } => "silent-relay",
            Self::NoExtension | Self::BrowserNotConnected { .. } => "no-extension",
            Self::SeveralBrowsers(_) => "several-browsers",
            Self::SlotBusy { .. } => "busy",
            Self::Connect(_) => "connect",
            Self::TimedOut { .. } => "timeout",
            Self::OutOfMemory(_) => "memory",
            Self::Cancelled => "cancelled",
            Self::Reset | Self::ResetBefore => "reset",
            Self::Arguments { .. } => "arguments",
            Self::UnknownBrowser(_) => "unknown-browser",
            Self::NotLaunched(_) => "not-launched",
            Self::BrowserRefused(_) => "browser-refused",
            Self::RelayRequest(_) => "relay",
            Self::WorkerExited(_) => "worker",
            Self::WorkerStart { .. } => "no-worker",
            Self::NoSuchTab(_) => "no-such-tab",
            Self::Runner(_) => "runner",
            Self::Unreadable { .. } => "unreadable",
            Self::Unwritable { .. } => "unwritable",
            Self::Home(_) | Self::HomeFile(_) => "home",
        }
    }

    /// What the reader can do about it. Suggests a reset only where it helps: a replaced worker is
    /// new already.
    pub fn remedy(&self, audience: Audience) -> String {
        match self {
            Self::TimedOut { .. }
            | Self::OutOfMemory(_)
            | Self::Cancelled
            | Self::Reset
            | Self::ResetBefore
            | Self::Arguments { .. }
            | Self::WorkerExited(_)
            | Self::NoSuchTab(_)
            | Self::Unreadable { .. }
            | Self::Unwritable { .. } => self.remedy_for_code(audience),
            Self::UnknownBrowser(_) => "Call browser_list, then call again with one of its names, or with the path of a program.".to_owned(),
            Self::NotLaunched(_) => "Call browser_status to see which browsers were launched, or browser_launch to launch one.".to_owned(),
            Self::BrowserRefused(_) => "Call browser_list to see what is installed and which names are in use, then call again with other arguments. If it keeps failing, ask the user to run `tabwire doctor`.".to_owned(),
            _ => self.remedy_for_set_up(audience),
        }
    }

    /// The code was stopped, not run, or its input or output failed.
    fn remedy_for_code(&self, audience: Audience) -> String {
        let loss = audience.loss();
        match self {
            Self::TimedOut { .. } => match audience {
                Audience::Agent => format!(
                    "{loss} Call `snapshot()` to see the page. Then do less in one call, or pass a larger `timeout`. If the page does not respond, it may be showing a dialog: use another tab, or ask the user to close it."
                ),
                Audience::ShellUser => format!(
                    "{loss} Do less in one run, or pass a larger --timeout. If the page does not respond, it may be showing a dialog: close it, or use another tab."
                ),
            },
            Self::OutOfMemory(_) => format!("{loss} Process less data at a time."),
            Self::Reset => format!("{loss} Call `snapshot()` to see the page, then continue."),
            Self::ResetBefore => audience.retry().to_owned(),
            Self::Arguments { usage, .. } => format!("Nothing was run. Call again with {usage}."),
            Self::NoSuchTab(_) => {
                "Name one tab by its number, its target id, or a part of its address or title."
                    .to_owned()
            }
            Self::Unreadable { .. } => {
                "Pass a file with the code, or pass the code with -e or on stdin.".to_owned()
            }
            Self::Unwritable { .. } => "Choose a place that you can write to.".to_owned(),
            _ => format!("{loss} {}", audience.retry()),
        }
    }

    /// Relay, browser, Node.js or the home is not usable.
    fn remedy_for_set_up(&self, audience: Audience) -> String {
        match self {
            Self::NoNode(_) | Self::NoNpm | Self::NodeTooOld(_) | Self::Install(_) | Self::WorkerStart { .. } => {
                self.remedy_for_node(audience)
            }
            Self::RelayStart { output, .. } => {
                format!("{} Its output is in {}.", audience.step("run `tabwire serve`"), output.display())
            }
            Self::Secrets { .. } => audience.step("correct that"),
            Self::NotARelay(_) => {
                audience.step("stop that program, or choose another --port for Tabwire and its extension")
            }
            Self::ForeignRelay(_) => format!(
                "It may belong to another home, use an outdated token, or be another program. {}",
                audience.step("use that relay's TABWIRE_HOME, choose another --port, or restart the relay if its token is outdated")
            ),
            Self::RelayElsewhere { .. } => {
                audience.step("leave out --port to use it, or set TABWIRE_HOME to another folder for a second relay")
            }
            Self::SilentRelay { pid, .. } => format!(
                "{} A new relay starts when none is running.",
                audience.step(&format!("run `kill -CONT {pid}` if it is suspended, or `kill -KILL {pid}` if it hangs"))
            ),
            Self::NoExtension => format!(
                "{} It connects within 30 s. To add the extension to a browser: `tabwire install-extension`, then chrome://extensions, Developer mode, Load unpacked, and the folder it names. To use a separate browser: `tabwire up`.",
                audience.step("open the browser that has the Tabwire extension")
            ),
            Self::BrowserNotConnected { .. } => {
                audience.step("open that browser, or choose another one with --browser or TABWIRE_BROWSER")
            }
            Self::SeveralBrowsers(_) => {
                audience.step("choose one with --browser NAME or TABWIRE_BROWSER")
            }
            Self::SlotBusy { .. } => match audience {
                Audience::Agent => "Call again later, or ask the user to close that client or to start the relay with --client-mode multi-client.".to_owned(),
                Audience::ShellUser => "Try again later, close that client, or start the relay with --client-mode multi-client.".to_owned(),
            },
            Self::Connect(_) | Self::Runner(_) if audience == Audience::Agent => {
                "Call again. If it keeps failing, call reset.".to_owned()
            }
            Self::Home(_) | Self::HomeFile(_) => audience.step("fix this"),
            _ => audience.retry().to_owned(),
        }
    }

    fn remedy_for_node(&self, audience: Audience) -> String {
        match self {
            Self::NodeTooOld(_) => format!(
                "{} If a newer version is already installed, put it first on PATH.",
                audience.step(&format!("run `{UPGRADE_NODE}`"))
            ),
            Self::Install(_) => audience.step("run `tabwire mcp --install`"),
            Self::WorkerStart { folder, .. } => audience.step(&format!(
                "run `rm -r '{}' && tabwire mcp --install`",
                folder.display()
            )),
            _ => format!(
                "{} If it is already installed, add it to PATH.",
                audience.step(&format!("run `{INSTALL_NODE}`"))
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_asks_the_user_and_shell_user_acts() {
        let error = Error::Install("offline".into());
        assert_eq!(
            error.remedy(Audience::Agent),
            "Ask the user to run `tabwire mcp --install`, then call again."
        );
        assert_eq!(
            error.remedy(Audience::ShellUser),
            "Run `tabwire mcp --install`, then try again."
        );
    }
}
