//! Starts a browser in its own process group, with the extension or with a debugging port, and stops
//! it. Never touches a browser that it did not start.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tabwire_home::control::LoadBy;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::debugging_pipe::DebuggingPipe;
use super::detect::{Browser, Kind};
use super::process::LaunchedProcess;
use super::user_arguments::UserArguments;
use crate::error::Error;

/// How long it may take to notice that a process has exited.
const WAIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A browser without a window, or with a profile that is used once, needs no updates, accounts or
/// statistics. It starts faster without them.
const WITHOUT_BACKGROUND_WORK: [&str; 6] = [
    "--disable-background-networking",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--metrics-recording-only",
];

/// What such a browser does not need either: casting to other devices, and hints about pages.
const BACKGROUND_FEATURES: [&str; 3] = ["MediaRouter", "OptimizationHints", "Translate"];

/// Pages that the address bar shows below itself. Chromium loads them when it starts, in a process of
/// their own, which is an eighth of the work of starting. Without a window nobody sees them.
const ADDRESS_BAR_FEATURES: [&str; 3] = [
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
];

/// Chromium ignores `--load-extension` with this feature.
const IGNORES_FLAG: &str = "DisableLoadExtensionCommandLineSwitch";

// Flags with a list, of which Chromium reads only the last. The user's values are added to ours.
const DISABLE_FEATURES: &str = "disable-features";
const LOAD_EXTENSION: &str = "load-extension";

/// How the relay gets at the browser.
#[derive(Debug, Clone)]
pub enum Access {
    Extension {
        folder: PathBuf,
        load_by: LoadBy,
    },
    /// A port that the browser chooses. Every program on this machine can connect to it.
    DebuggingPort,
}

pub struct Launch<'a> {
    pub browser: &'a Browser,
    pub profile: &'a Path,
    pub access: &'a Access,
    pub headless: bool,
    /// The profile is new, and nobody will use it for anything else.
    pub is_temporary: bool,
    pub arguments: &'a [String],
}

/// A browser that we started. Dropping it kills the browser.
pub struct RunningBrowser {
    /// Also its process group.
    pub pid: u32,
    /// How it has exited.
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Waits for the process, so that nothing is left of it when it exits.
    waiting: JoinHandle<()>,
    /// The browser exits when its debugging pipe closes, so this stays open while it should run.
    pipe: Option<DebuggingPipe>,
}

impl Launch<'_> {
    /// Starts the program. A browser that loads its extension over a pipe has not loaded it yet.
    pub fn start(&self) -> Result<RunningBrowser, Error> {
        let failed = |reason| Error::StartBrowser {
            program: self.browser.path.clone(),
            reason,
        };
        let by_pipe = self.loads_by_pipe();
        let mut command = self.command(by_pipe);
        let pipe = by_pipe
            .then(|| DebuggingPipe::attach(&mut command))
            .transpose()
            .map_err(failed)?;
        let child = command.spawn().map_err(failed)?;
        // The command holds the browser's ends of the pipe. As long as they are open, a closed pipe
        // goes unnoticed.
        drop(command);
        let mut browser = RunningBrowser::new(child);
        browser.pipe = pipe;
        Ok(browser)
    }

    fn loads_by_pipe(&self) -> bool {
        let Access::Extension { folder, load_by } = self.access else {
            return false;
        };
        match load_by {
            // The flag takes a comma-separated list, so it cannot express a path with a comma.
            LoadBy::Auto => {
                matches!(self.browser.kind, Some(Kind::Chrome | Kind::Edge))
                    || folder.to_string_lossy().contains(',')
            }
            LoadBy::Flag => false,
            LoadBy::Pipe => true,
        }
    }

    fn command(&self, by_pipe: bool) -> Command {
        let is_logging = |argument: &String| argument.starts_with("--enable-logging");
        let stderr = if self.arguments.iter().any(is_logging) {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        let mut command = Command::new(&self.browser.path);
        command
            .args(self.browser_arguments(by_pipe))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            // Ctrl-C in the terminal must reach only us; we stop the browser ourselves.
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    fn browser_arguments(&self, by_pipe: bool) -> Vec<String> {
        let mut arguments = vec![
            format!("--user-data-dir={}", self.profile.display()),
            "--no-first-run".to_owned(),
            "--no-default-browser-check".to_owned(),
        ];
        arguments.extend(self.access.arguments(by_pipe));
        if self.headless {
            arguments.push("--headless=new".to_owned());
            arguments.push("--mute-audio".to_owned());
        }
        if self.needs_no_background_work() {
            arguments.extend(WITHOUT_BACKGROUND_WORK.map(str::to_owned));
        }
        if rustix::process::geteuid().is_root() {
            // Chromium refuses to run as root with its sandbox.
            arguments.push("--no-sandbox".to_owned());
        }
        let user = UserArguments::new(self.arguments);
        let lists = [
            (DISABLE_FEATURES, self.disabled_features(by_pipe)),
            (LOAD_EXTENSION, self.loaded_extensions(by_pipe)),
        ];
        for (flag, own) in lists {
            let values: Vec<String> = own
                .into_iter()
                .chain(user.values_of(flag).map(str::to_owned))
                .collect();
            if !values.is_empty() {
                arguments.push(format!("--{flag}={}", values.join(",")));
            }
        }
        // Last, because the user's may end with addresses.
        arguments.extend(user.without(&[DISABLE_FEATURES, LOAD_EXTENSION]));
        // Extensions cannot attach to Chrome's new-tab page; start with a tab that clients can use.
        arguments.push("about:blank".to_owned());
        arguments
    }

    fn needs_no_background_work(&self) -> bool {
        self.headless || self.is_temporary
    }

    fn disabled_features(&self, by_pipe: bool) -> Vec<String> {
        let mut features: Vec<&str> = Vec::new();
        if matches!(self.access, Access::Extension { .. }) && !by_pipe {
            features.push(IGNORES_FLAG);
        }
        if self.needs_no_background_work() {
            features.extend(BACKGROUND_FEATURES);
        }
        if self.headless {
            features.extend(ADDRESS_BAR_FEATURES);
        }
        features.into_iter().map(str::to_owned).collect()
    }

    fn loaded_extensions(&self, by_pipe: bool) -> Vec<String> {
        match self.access {
            Access::Extension { folder, .. } if !by_pipe => vec![folder.display().to_string()],
            _ => Vec::new(),
        }
    }
}

impl Access {
    fn arguments(&self, by_pipe: bool) -> Vec<String> {
        // This browser was started for automation, so Chrome's notice about it is redundant.
        let silent = "--silent-debugger-extension-api".to_owned();
        match self {
            Self::DebuggingPort => vec!["--remote-debugging-port=0".to_owned()],
            Self::Extension { .. } if by_pipe => vec![
                silent,
                "--remote-debugging-pipe".to_owned(),
                "--enable-unsafe-extension-debugging".to_owned(),
            ],
            Self::Extension { .. } => vec![silent],
        }
    }
}

impl RunningBrowser {
    pub fn new(mut child: Child) -> Self {
        let pid = child.id().unwrap_or_default();
        let (exited, exit) = watch::channel(None);
        let waiting = tokio::spawn(async move {
            if let Ok(status) = child.wait().await {
                exited.send_replace(Some(status));
            }
        });
        Self {
            pid,
            exit,
            waiting,
            pipe: None,
        }
    }

    pub fn is_running(&self) -> bool {
        self.exit.borrow().is_none()
    }

    /// Resolves when the browser has exited. `None` if it is unknown how.
    pub fn exited(&self) -> impl Future<Output = Option<ExitStatus>> + Send + use<> {
        let mut exit = self.exit.clone();
        async move {
            let exited = exit.wait_for(|status| status.is_some()).await;
            exited.ok().and_then(|status| *status)
        }
    }

    /// Loads the extension, if that is done over the debugging pipe.
    pub async fn load_extension(&mut self, access: &Access) -> Result<(), Error> {
        match (&mut self.pipe, access) {
            (Some(pipe), Access::Extension { folder, .. }) => pipe.load_extension(folder).await,
            _ => Ok(()),
        }
    }

    /// Asks the browser to exit, and kills it if it does not. `process` is this browser's.
    pub async fn stop(&mut self, process: &LaunchedProcess) {
        self.pipe = None;
        if self.is_running() {
            process.stop_child().await;
        } else {
            // Its id may belong to another process by now.
            process.stop().await;
        }
        let _ = tokio::time::timeout(WAIT_TIMEOUT, self.exited()).await;
    }
}

impl Drop for RunningBrowser {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser(kind: Option<Kind>) -> Browser {
        Browser {
            name: "browser".to_owned(),
            kind,
            path: PathBuf::from("/usr/bin/browser"),
        }
    }

    fn extension(folder: &str, load_by: LoadBy) -> Access {
        Access::Extension {
            folder: PathBuf::from(folder),
            load_by,
        }
    }

    fn launch<'a>(browser: &'a Browser, access: &'a Access, arguments: &'a [String]) -> Launch<'a> {
        Launch {
            browser,
            profile: Path::new("/p"),
            access,
            headless: false,
            is_temporary: false,
            arguments,
        }
    }

    /// The arguments for a browser that loads the extension in `/e` by the flag.
    fn arguments_with(given: &[&str]) -> Vec<String> {
        let given: Vec<String> = given.iter().map(|own| (*own).to_owned()).collect();
        let (browser, access) = (browser(None), extension("/e", LoadBy::Flag));
        launch(&browser, &access, &given).browser_arguments(false)
    }

    fn starting_with<'a>(arguments: &'a [String], start: &str) -> Vec<&'a String> {
        let found = arguments.iter().filter(|own| own.starts_with(start));
        found.collect()
    }

    #[test]
    fn lists_of_the_user_are_joined_with_ours() {
        let arguments = arguments_with(&[
            "--disable-features=A,B",
            "--load-extension=/a",
            "--lang=de",
            "-disable-features=C",
        ]);
        let features = format!("--disable-features={IGNORES_FLAG},A,B,C");
        assert_eq!(
            starting_with(&arguments, "--disable-features"),
            [&features],
            "{arguments:?}"
        );
        let extensions = starting_with(&arguments, "--load-extension");
        assert_eq!(extensions, ["--load-extension=/e,/a"]);
        assert!(arguments.contains(&"--lang=de".to_owned()));
    }

    #[test]
    fn address_bar_is_changed_only_where_nobody_sees_it() {
        let (browser, access) = (browser(None), Access::DebuggingPort);
        for (headless, is_temporary) in [(true, false), (false, true), (false, false)] {
            let launch = Launch {
                headless,
                is_temporary,
                ..launch(&browser, &access, &[])
            };
            let features = launch.disabled_features(false).join(",");
            assert_eq!(features.contains("Omnibox"), headless, "{features}");
        }
    }

    #[test]
    fn addresses_of_the_user_do_not_hide_our_flags() {
        let arguments = arguments_with(&["--", "--load-extension=/a"]);
        let end = arguments.iter().position(|own| own == "--").unwrap();
        let (flags, addresses) = arguments.split_at(end);
        assert_eq!(addresses, ["--", "--load-extension=/a", "about:blank"]);
        for flag in ["--load-extension=/e", "--disable-features="] {
            assert_eq!(starting_with(flags, flag).len(), 1, "{flags:?}");
        }
    }

    /// Branded Chrome and Edge ignore the flag.
    #[test]
    fn extension_is_loaded_by_the_pipe_only_where_the_flag_does_not_work() {
        let by_pipe = |kind: Option<Kind>, folder: &str, load_by: LoadBy| {
            launch(&browser(kind), &extension(folder, load_by), &[]).loads_by_pipe()
        };
        for (kind, expected) in [
            (Some(Kind::Chrome), true),
            (Some(Kind::Edge), true),
            (Some(Kind::Chromium), false),
            (Some(Kind::Brave), false),
            (Some(Kind::Vivaldi), false),
            (None, false),
        ] {
            assert_eq!(by_pipe(kind, "/e", LoadBy::Auto), expected, "{kind:?}");
            assert!(by_pipe(kind, "/a,b", LoadBy::Auto), "a comma");
            assert!(by_pipe(kind, "/e", LoadBy::Pipe));
            assert!(!by_pipe(kind, "/e", LoadBy::Flag));
        }
        assert!(!launch(&browser(None), &Access::DebuggingPort, &[]).loads_by_pipe());
    }
}
