//! What can go wrong before, around and in an agent's code: each error says what happened, and its next step.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("code runs in Node.js 20 or newer, and {0}")]
    NoNode(String),
    #[error("code runs in Node.js 20 or newer, and `node --version` says '{0}'")]
    NodeTooOld(String),
    #[error("playwright-core is not installed yet, and `npm`, which brings it, was not found")]
    NoNpm,
    #[error("playwright-core could not be installed: {0}")]
    Install(String),
    #[error("no relay runs on port {port}, and one could not be started: {reason}")]
    RelayStart {
        port: u16,
        reason: String,
        log: PathBuf,
    },
    #[error("what listens on port {0} does not answer as a Tabwire relay does")]
    NotARelay(u16),
    #[error("what answers on port {0} is not the relay of this home")]
    ForeignRelay(u16),
    #[error("this home's relay runs on port {port} (process {pid}), and not on port {asked}")]
    RelayElsewhere { asked: u16, port: u16, pid: u32 },
    #[error("this home's relay (process {pid}, port {port}) does not answer")]
    SilentRelay { port: u16, pid: u32 },
    #[error("no browser is connected: the Tabwire extension is not there")]
    NoExtension,
    #[error("another client has the browser: {holder}; it did not leave within {} s", waited.as_secs_f32())]
    SlotBusy { holder: String, waited: Duration },
    #[error("the browser could not be connected to: {0}")]
    Connect(String),
    #[error("the code had not returned after {} s and was ended", after.as_secs_f32())]
    TimedOut { after: Duration },
    #[error("the code took more than {0} MiB of memory and was ended")]
    OutOfMemory(u64),
    #[error("the call was cancelled and its code ended")]
    Cancelled,
    #[error("a reset ended the code")]
    Reset,
    #[error("a reset came first; nothing of the code was run")]
    ResetBefore,
    #[error("execute does not take this: {0}")]
    Arguments(String),
    #[error("the process that runs the code has ended ({0})")]
    WorkerEnded(String),
    #[error("the process that runs the code could not be started: {reason}")]
    WorkerStart { reason: String, folder: PathBuf },
    #[error("{0}")]
    NoSuchTab(String),
    #[error("the process that runs the code failed: {0}")]
    Runner(String),
    #[error("cannot read {what}: {reason}")]
    Unreadable {
        what: String,
        reason: std::io::Error,
    },
    #[error("cannot write {what}: {reason}")]
    Unwritable {
        what: String,
        reason: std::io::Error,
    },
    #[error("cannot use Tabwire's home: {0}")]
    Home(#[from] std::io::Error),
}

/// The one command that brings Node.js and npm, and the one that brings a newer Node.js, whatever the system's own packages are.
const INSTALL_NODE: &str = if cfg!(target_os = "macos") {
    "brew install node"
} else {
    "sudo apt-get install nodejs npm"
};
const RENEW_NODE: &str = if cfg!(target_os = "macos") {
    "brew upgrade node"
} else {
    "sudo npx --yes n lts"
};

/// Said wherever a worker was replaced in the middle of code.
pub const LOST: &str = "`state` and variables are lost; `page` is kept. What the code had begun in the page may have happened.";

impl Error {
    /// A word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoNode(_) => "no-node",
            Self::NodeTooOld(_) => "node-too-old",
            Self::NoNpm => "no-npm",
            Self::Install(_) => "no-package",
            Self::RelayStart { .. } | Self::NotARelay(_) => "no-relay",
            Self::ForeignRelay(_) => "foreign-relay",
            Self::RelayElsewhere { .. } => "relay-elsewhere",
            Self::SilentRelay { .. } => "silent-relay",
            Self::NoExtension => "no-extension",
            Self::SlotBusy { .. } => "busy",
            Self::Connect(_) => "connect",
            Self::TimedOut { .. } => "timeout",
            Self::OutOfMemory(_) => "memory",
            Self::Cancelled => "cancelled",
            Self::Reset | Self::ResetBefore => "reset",
            Self::Arguments(_) => "arguments",
            Self::WorkerEnded(_) => "worker",
            Self::WorkerStart { .. } => "no-worker",
            Self::NoSuchTab(_) => "no-such-tab",
            Self::Runner(_) => "runner",
            Self::Unreadable { .. } => "unreadable",
            Self::Unwritable { .. } => "unwritable",
            Self::Home(_) => "home",
        }
    }

    /// What to do about it. Reset is named only where it helps: a replaced worker is as new already.
    pub fn next(&self) -> String {
        match self {
            Self::NoNode(_) | Self::NoNpm => {
                format!("Ask the person to run `{INSTALL_NODE}`, then call again. If it is there already, this server's PATH lacks it.")
            }
            Self::NodeTooOld(_) => {
                format!("Ask the person to run `{RENEW_NODE}`, then call again. If a newer one is there already, put it first on this server's PATH.")
            }
            Self::Install(_) => "Ask the person to run `tabwire mcp --install`, then call again.".into(),
            Self::RelayStart { log, .. } => format!("Ask the person to run `tabwire serve`; its words are in {}.", log.display()),
            Self::NotARelay(_) => "Ask the person to end that program, or to give this server and the extension another --port.".into(),
            Self::ForeignRelay(_) => "It belongs to another home, has a token from before, or is none: this server needs the same TABWIRE_HOME as that relay, or another --port; a relay with an old token has to be started anew.".into(),
            Self::RelayElsewhere { .. } => "Leave out --port to use it, or set TABWIRE_HOME to another folder for another relay.".into(),
            Self::SilentRelay { pid, .. } => format!(
                "Ask the person to run `kill -CONT {pid}` if it was stopped, or `kill -KILL {pid}` if it hangs, then call again: where none runs one is started."
            ),
            Self::NoExtension => {
                "Ask the person to open the browser that has the extension; it connects within 30 s. If none has it: `tabwire install-extension`, then chrome://extensions, Developer mode, Load unpacked, the folder it names. Or `tabwire up` for a browser of its own.".into()
            }
            Self::SlotBusy { .. } => "Call again later, or ask the person to end that client, or to start the relay with --client-mode multi-client.".into(),
            Self::Connect(_) | Self::Runner(_) => "Call again; if it stays, call reset.".into(),
            Self::TimedOut { .. } => format!(
                "{LOST} Look with `snapshot()`. Then do less in one call, or pass a larger `timeout`. If the page itself does not answer, a dialog may be open in it: use another tab, or ask the person."
            ),
            Self::OutOfMemory(_) => format!("{LOST} Work on less at a time."),
            Self::Cancelled | Self::WorkerEnded(_) => format!("{LOST} Call again."),
            Self::Reset => format!("{LOST} Look with `snapshot()`, then go on."),
            Self::ResetBefore => "Call again.".into(),
            Self::Arguments(_) => "Nothing was run. Call again with `code`, a text, and if wanted `timeout`, 0.1 to 600 seconds.".into(),
            Self::WorkerStart { folder, .. } => {
                format!("Ask the person to run `rm -r '{}' && tabwire mcp --install`, then call again.", folder.display())
            }
            Self::NoSuchTab(_) => "Name one tab: its number, its target id, or a part of its address or title.".into(),
            Self::Unreadable { .. } => "Name a file with the code, or give the code with -e or on stdin.".into(),
            Self::Unwritable { .. } => "Name a place that can be written to.".into(),
            Self::Home(_) => "Ask the person to look at the folder's owner and rights.".into(),
        }
    }

    /// Whether it is about the set-up, and not about the code.
    pub fn is_environment(&self) -> bool {
        !matches!(
            self,
            Self::TimedOut { .. }
                | Self::OutOfMemory(_)
                | Self::Cancelled
                | Self::Reset
                | Self::ResetBefore
                | Self::Arguments(_)
                | Self::WorkerEnded(_)
        )
    }
}
