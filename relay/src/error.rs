//! What can go wrong in a command. Each text is a complete sentence that tells the user what to do.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use crate::browser::profile_pairing::Unidentified;
use crate::direct::BrowserUrl;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Home(#[from] tabwire_home::Error),
    #[error(transparent)]
    BrowserName(#[from] tabwire_home::NameFault),
    #[error("{0} {remedy}", remedy = .0.remedy(tabwire_mcp::Audience::ShellUser))]
    Mcp(#[from] tabwire_mcp::Error),
    #[error("{variable} is '{value}'. Set it to single-active or multi-client.")]
    ClientMode {
        variable: &'static str,
        value: String,
    },
    #[error(
        "Port {port} is in use by {holder}. If that is a relay, run `tabwire status` to see it. Otherwise choose another port with {option}."
    )]
    PortInUse {
        port: u16,
        holder: String,
        /// What chooses the port.
        option: &'static str,
    },
    #[error("Cannot listen on 127.0.0.1:{port}: {reason}.")]
    Listen { port: u16, reason: io::Error },
    #[error("A port can be open for {hours} hours at most. Choose another time with --for.")]
    OpenPortTime { hours: u32 },
    #[error(
        "Port 80 cannot be opened: on it, requests of web pages cannot be told from those of programs. Choose another one with --port."
    )]
    OpenPortStandard,
    #[error(
        "On this system Tabwire cannot check which user connects, so other users of this machine could use the port, too. To open it anyway, add --without-user-check."
    )]
    OpenPortUnchecked,
    #[error(
        "Port {port} is already open{}, and only one can be. Close it with `tabwire close-port`, or leave out --port and --browser to change only its time.",
        browser.as_ref().map_or_else(String::new, |name| format!(" for '{name}'"))
    )]
    OpenPortDiffers { port: u16, browser: Option<String> },
    #[error("Cannot handle signals: {0}.")]
    Signals(io::Error),
    #[error("The relay failed: {0}. This is a bug in Tabwire.")]
    HubEnded(String),
    #[error("No browser can be used at {url}: {reason}. Start it with --remote-debugging-port={port}.", port = .url.port)]
    BrowserPort { url: BrowserUrl, reason: String },
    #[error("The browser is gone and cannot be used again. {reason}")]
    Recovery { reason: String },
    #[error(
        "`tabwire up` starts a browser of its own. To use one that is running, use `tabwire serve --browser-url`."
    )]
    UpWithBrowserUrl,
    #[error(
        "`tabwire up` launches a browser in any case. Choose it with --browser, and use --direct for its debugging port."
    )]
    UpWithLaunch,
    #[error(
        "This relay uses the browser at {url}, and one browser at a time. To launch another one, start the relay with --browsers many."
    )]
    OnlyBrowserUrl { url: BrowserUrl },
    #[error("No relay is running in {}. Start one with `tabwire serve` or `tabwire up`.", home.display())]
    NoRelay { home: PathBuf },
    #[error("Cannot read {}: {reason}. A relay started with --no-cdp-url-file does not write it.", file.display())]
    CdpUrlFile { file: PathBuf, reason: io::Error },
    #[error("Cannot read the log in {}: {reason}. Remove it; the next relay starts a new one.", file.display())]
    ReadLog { file: PathBuf, reason: io::Error },
    #[error("Cannot write the extension to {}: it contains other files and no extension. Choose an empty folder.", .0.display())]
    OtherFiles(PathBuf),
    #[error("Cannot write the extension to {}: {reason}.", folder.display())]
    WriteExtension { folder: PathBuf, reason: io::Error },
    #[error("Cannot write to {}: {reason}.", path.display())]
    WriteFile { path: PathBuf, reason: io::Error },
    #[error("{} already exists. Choose another file for --record, or move this one elsewhere.", .0.display())]
    RecordExists(PathBuf),
    #[error("{} was not written by `tabwire service install`. Move it elsewhere, then try again.", .0.display())]
    OtherService(PathBuf),
    #[error("A service cannot contain '{0}': only text without control characters is possible.")]
    ServiceText(String),
    #[error(
        "A service cannot record: its file would be in the way at the next start. Run `tabwire serve --record FILE` yourself instead."
    )]
    ServiceRecords,
    #[error("A service starts in another folder. Use a full path, such as `--launch {}`.", .0.display())]
    ServiceRelativePath(PathBuf),
    #[error("`{command}` failed: {reason}. Run it yourself once that is solved.")]
    ServiceManager { command: String, reason: String },
    #[error("Cannot read {}: {reason}.", file.display())]
    ReadConfig { file: PathBuf, reason: io::Error },
    #[error("{} {problem}, so Tabwire does not change it. Run this with --print, and add the lines yourself.", file.display())]
    SetupFile {
        file: PathBuf,
        problem: &'static str,
    },
    #[error("{} cannot be read, in line {line}: {reason}. Correct it first; nothing was changed.", file.display())]
    SetupSyntax {
        file: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("In {}, {problem}. Correct it first; nothing was changed.", file.display())]
    SetupContent { file: PathBuf, problem: String },
    #[error("{} has another server named '{name}'. Choose another name with --as NAME.", file.display())]
    SetupOther { file: PathBuf, name: String },
    #[error(
        "Nothing was changed: there is no terminal to ask. Add --yes, or use --print to see the lines."
    )]
    SetupNeedsYes,
    #[error("{agent} does not start `tabwire mcp` with {option}. Leave it out.")]
    SetupOption {
        agent: &'static str,
        option: &'static str,
    },
    #[error("Tabwire does not know where {0} looks for skills. Leave out --skill.")]
    SetupNoSkills(&'static str),
    #[error("{} is not Tabwire's skill. Move it elsewhere, then try again.", .0.display())]
    OtherSkill(PathBuf),
    #[error("Invalid path {}: {reason}.", path.display())]
    InvalidPath { path: PathBuf, reason: io::Error },
    #[error("No Chromium-based browser found. Install one, for example with: {0}")]
    NoBrowser(&'static str),
    #[error("No browser '{0}' found. Run `tabwire browsers` to list those on this machine.")]
    UnknownBrowser(String),
    #[error("Cannot start {program}: {reason}.")]
    StartProgram { program: String, reason: io::Error },
    #[error("Cannot start {}: {reason}.", program.display())]
    StartBrowser { program: PathBuf, reason: io::Error },
    #[error("Cannot load the extension over the browser's debugging pipe: {0}.")]
    DebuggingPipe(String),
    #[error(
        "The browser exited before it could be used ({}). Is it already running with the profile {}?",
        status.map_or_else(|| "for an unknown reason".to_owned(), |status| status.to_string()),
        profile.display()
    )]
    BrowserExited {
        status: Option<ExitStatus>,
        profile: PathBuf,
    },
    #[error(
        "The browser's extension did not connect within {seconds} seconds. Run `tabwire doctor` to see why, or try `tabwire launch` with --load-by pipe or --load-by flag."
    )]
    ExtensionTimeout { seconds: u64 },
    #[error(
        "The profile of '{name}' is open in a running browser whose extension has not connected. Run `tabwire doctor` to see why, close that browser, or choose another profile."
    )]
    ProfileInUse { name: String },
    #[error("The profile of '{name}' is open in a running browser {}", describe(*reason))]
    ProfileUnidentified { name: String, reason: Unidentified },
    #[error(
        "The profile of '{name}' is open in a running browser without a debugging port, or with a fixed one, which Tabwire cannot find. Close that browser, choose another profile, or use the fixed port with `tabwire serve --browser-url http://127.0.0.1:PORT`."
    )]
    ProfileWithoutPort { name: String },
    #[error(
        "'{name}' was closed. Tabwire did not launch it, and does not launch it for a client. Open it again, or launch it with `tabwire launch`."
    )]
    AttachedClosed { name: String },
    #[error(
        "The browser's debugging port did not answer within {seconds} seconds. Chrome opens none for its default profile folder, and a policy can forbid it. Run `tabwire doctor` to see why, or use `tabwire launch` with another --profile."
    )]
    PortTimeout { seconds: u64 },
    #[error("The browser was stopped. Launch it again with `tabwire launch`.")]
    BrowserStopped,
    #[error(
        "'{name}' is already running with other options. Stop it with `tabwire stop {name}`, or choose another name with --name."
    )]
    LaunchedOtherwise { name: String },
    #[error(
        "'{name}' was running before Tabwire, so Tabwire does not restart it. Close it yourself, then run `tabwire launch`."
    )]
    RestartAttached { name: String },
    #[error("Tabwire sets --{argument} itself. Use `{instead}` instead.")]
    ReservedArgument {
        argument: &'static str,
        instead: &'static str,
    },
    #[error("--{argument} cannot be used. {reason}")]
    RefusedArgument {
        argument: &'static str,
        reason: &'static str,
    },
    #[error("{}", describe_not_launched(name.as_deref(), launched))]
    NotLaunched {
        name: Option<String>,
        launched: Vec<String>,
    },
    #[error(
        "`tabwire pipe` must be started by a client, with a pipe on file descriptors 3 and 4. Write a script that such a client can launch with `tabwire pipe --script FILE`. Other clients connect to the URL that `tabwire cdp-url` prints."
    )]
    NoClientPipe,
    #[error(
        "The profile {} is open in a running browser (process {pid}) without a debugging port. Close that browser, or choose another profile.",
        profile.display()
    )]
    PipeProfileInUse { profile: PathBuf, pid: u32 },
    #[error(
        "The browser is gone. {reason} Start the client again, and it gets another browser. Run `tabwire status` to see which ones are connected."
    )]
    PipeBrowserGone { reason: String },
    #[error("{} was not written by `tabwire pipe --script`. Choose another file.", .0.display())]
    OtherScript(PathBuf),
    #[error(
        "Asked {state} to stop, but it has not exited within {seconds} seconds. Run `tabwire logs` to see why. If it hangs, run `kill -KILL {pid}`.",
        pid = .state.pid
    )]
    StopTimeout {
        state: tabwire_home::State,
        seconds: u64,
    },
    #[error("The relay is busy: {0}. Run `tabwire logs` to see what it is doing, then try again.")]
    SilentRelay(String),
    /// What several have waited for.
    #[error("{0}")]
    Shared(Arc<Error>),
    /// What a running relay responds.
    #[error("{0}")]
    Relay(String),
    #[error("{0}.")]
    Io(#[from] io::Error),
}

impl Error {
    /// The error itself, although several may have waited for it.
    pub fn root(&self) -> &Self {
        match self {
            Self::Shared(error) => error.root(),
            own => own,
        }
    }
}

/// The rest of a sentence, and the next step.
fn describe(reason: Unidentified) -> &'static str {
    match reason {
        Unidentified::NoExtension => {
            "without the Tabwire extension. Add the extension with `tabwire install-extension`, close that browser, or choose another profile."
        }
        Unidentified::SwitchedOff => {
            "whose Tabwire extension is switched off. Switch it on in chrome://extensions, close that browser, or choose another profile."
        }
        Unidentified::NotPaired => {
            "whose extension is not paired with this relay. Pair it with `tabwire pair`, close that browser, or choose another profile."
        }
        Unidentified::MayBePairedByCode => {
            "whose extension may be paired by a code, so Tabwire cannot tell which browser it is. If `tabwire status` lists it, clients can use it without a launch. Otherwise pair it with `tabwire pair`, close it, or choose another profile."
        }
        Unidentified::SharedFolder => {
            "whose extension is in a folder that several browsers have loaded, so Tabwire cannot tell which one it is. If `tabwire status` lists it, clients can use it without a launch. Otherwise close it, or choose another profile."
        }
    }
}

fn describe_not_launched(name: Option<&str>, launched: &[String]) -> String {
    match (name, launched) {
        (_, []) => {
            "Tabwire has launched no browser. Only browsers that it launched can be stopped."
                .to_owned()
        }
        (Some(name), _) => format!(
            "Tabwire has not launched '{name}'. It launched: {}.",
            launched.join(", ")
        ),
        (None, _) => format!(
            "Tabwire has launched several browsers. Name one: {}.",
            launched.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabwire_home::NameFault;

    #[test]
    fn errors_about_browsers_name_the_next_step() {
        let state = tabwire_home::State { port: 1, pid: 23 };
        let reason = "It closed the connection.".to_owned();
        let name = || "work".to_owned();
        for (error, step) in [
            (Error::PortTimeout { seconds: 15 }, "--profile"),
            // `serve --launch` has no such options.
            (Error::PortTimeout { seconds: 15 }, "`tabwire launch`"),
            (Error::ExtensionTimeout { seconds: 15 }, "`tabwire launch`"),
            (
                NameFault::Taken("a".to_owned()).into(),
                "Choose another name",
            ),
            (Error::BrowserStopped, "`tabwire launch`"),
            (Error::AttachedClosed { name: name() }, "`tabwire launch`"),
            (Error::ProfileWithoutPort { name: name() }, "--browser-url"),
            (Error::ProfileInUse { name: name() }, "`tabwire doctor`"),
            (Error::NoClientPipe, "`tabwire pipe --script FILE`"),
            (Error::NoClientPipe, "`tabwire cdp-url`"),
            (Error::PipeBrowserGone { reason }, "`tabwire status`"),
            (Error::StopTimeout { state, seconds: 15 }, "`kill -KILL 23`"),
        ] {
            let text = error.to_string();
            assert!(text.contains(step) && text.ends_with('.'), "{text}");
        }
    }
}
