//! The browsers that this relay launches, from their start until they are stopped. Only these are
//! ever stopped; a profile that is open already is joined and left open.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tabwire_home::{Home, PairingId};
use tokio::sync::Mutex;

use super::bundle::{self, Copy};
use super::detect;
use super::launch::{self, Launch, LoadBy, RunningBrowser};
use super::process::LaunchedProcess;
use super::profile;
use super::watchdog::{Remains, Watchdog};
use crate::error::Error;
use crate::registry::Registry;

/// How long a browser may take until its extension has proven itself and listed its tabs.
pub const READY_TIMEOUT: Duration = Duration::from_secs(15);
const EXIT_POLL: Duration = Duration::from_millis(500);
/// In a temporary folder: which process uses it.
const PROCESS_FILE: &str = "process.json";

/// Which browser to launch, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LaunchOptions {
    /// A name from `tabwire browsers`, or the path of a program. `None`: the first one found.
    pub browser: Option<String>,
    /// What the browser is called. `None`: what kind of browser it is.
    pub name: Option<String>,
    pub headless: bool,
    pub profile: ProfileChoice,
    pub load_by: LoadBy,
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileChoice {
    /// A folder of its own in Tabwire's home, which is kept.
    #[default]
    Kept,
    Folder(PathBuf),
    /// A new one, which is removed when the browser is stopped.
    Temporary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    /// It was running already. It is never stopped.
    Attached,
    Launched,
}

/// A browser that is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchReport {
    pub name: String,
    pub tabs: usize,
    pub ownership: Ownership,
    pub headless: bool,
}

pub struct Launcher {
    home: Home,
    port: u16,
    registry: Arc<Registry>,
    watchdog: Watchdog,
    /// What is launched when a client needs a browser.
    on_demand: Option<LaunchOptions>,
    /// Locked while a browser is launched or stopped, so that whoever needs the same one waits for
    /// it.
    browsers: Mutex<Vec<Launched>>,
}

struct Launched {
    name: String,
    options: LaunchOptions,
    pairing: PairingId,
    /// `None` if it was running already.
    process: Option<(RunningBrowser, LaunchedProcess)>,
    /// The folder that is removed with it.
    temporary: Option<PathBuf>,
}

/// Where a browser's extension and profile are.
struct Folders {
    extension: PathBuf,
    profile: PathBuf,
    temporary: Option<PathBuf>,
}

impl Launcher {
    pub fn new(
        home: &Home,
        port: u16,
        registry: Arc<Registry>,
        on_demand: Option<LaunchOptions>,
    ) -> Self {
        Self {
            home: home.clone(),
            port,
            registry,
            watchdog: Watchdog::start(home),
            on_demand,
            browsers: Mutex::default(),
        }
    }

    /// Whether a browser is launched when a client needs one.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// Ensures that the browser for clients is running and connected. Whoever asks at the same time
    /// waits for the same launch.
    pub async fn ensure(&self) -> Result<(), Error> {
        let Some(options) = &self.on_demand else {
            return Ok(());
        };
        let mut browsers = self.browsers.lock().await;
        self.ready(&mut browsers, options).await.map(drop)
    }

    /// Launches a browser, unless it is running already.
    pub async fn launch(&self, options: &LaunchOptions) -> Result<LaunchReport, Error> {
        let mut browsers = self.browsers.lock().await;
        self.ready(&mut browsers, options).await
    }

    async fn ready(
        &self,
        browsers: &mut Vec<Launched>,
        options: &LaunchOptions,
    ) -> Result<LaunchReport, Error> {
        self.registry.check_launchable()?;
        let name = name_of(options)?;
        if let Some(at) = browsers.iter().position(|browser| browser.name == name)
            && let Some(browser) = browsers.get_mut(at)
        {
            if browser.is_running() {
                return self.wait_until_ready(browser).await;
            }
            self.forget(browsers.remove(at)).await;
        }
        let mut browser = self.start(options, name).await?;
        let outcome = self.wait_until_ready(&mut browser).await;
        match outcome {
            Ok(report) => {
                browsers.push(browser);
                Ok(report)
            }
            Err(error) => {
                self.forget(browser).await;
                Err(error)
            }
        }
    }

    async fn start(&self, options: &LaunchOptions, name: String) -> Result<Launched, Error> {
        let browser = detect::choose(options.browser.as_deref())?;
        let folders = self.folders(options, &name)?;
        let (pairing, secret) = bundle::pair(&self.home, &folders.extension, Some(&name))?;
        let copy = Copy {
            folder: &folders.extension,
            port: self.port,
            secret: &secret,
            shows_welcome: false,
        };
        copy.write()?;
        self.registry.prefer(&pairing);
        let mut launched = Launched {
            name,
            options: options.clone(),
            pairing,
            process: None,
            temporary: folders.temporary,
        };
        if let Some(pid) = profile::open_by(&folders.profile) {
            tracing::info!(ownership = "attached", pid, userDataDir = %folders.profile.display(), "the profile is open already");
            return Ok(launched);
        }
        let headless = options.headless || !launch::has_display();
        let launch = Launch {
            browser: &browser,
            profile: &folders.profile,
            extension: &folders.extension,
            headless,
            is_temporary: launched.temporary.is_some(),
            load_by: options.load_by,
            arguments: &options.arguments,
        };
        let running = launch.start().await?;
        let pid = running.child.id().unwrap_or_default();
        tracing::info!(ownership = "launched", pid, userDataDir = %folders.profile.display(), "browser launched");
        let process = LaunchedProcess::new(pid, folders.profile, headless);
        if let Some(folder) = &launched.temporary {
            write_process(folder, &process);
        }
        self.watchdog.on_launched(Remains {
            process: process.clone(),
            folder: launched.temporary.clone(),
        });
        launched.process = Some((running, process));
        Ok(launched)
    }

    fn folders(&self, options: &LaunchOptions, name: &str) -> Result<Folders, Error> {
        let base = match &options.profile {
            ProfileChoice::Temporary => self.new_temporary_folder()?,
            _ => self.home.launched_folder(name),
        };
        Ok(Folders {
            extension: base.join("extension"),
            profile: match &options.profile {
                ProfileChoice::Folder(folder) => folder.clone(),
                _ => base.join("profile"),
            },
            temporary: (options.profile == ProfileChoice::Temporary).then_some(base),
        })
    }

    fn new_temporary_folder(&self) -> Result<PathBuf, Error> {
        let parent = self.home.temporary_folder();
        fs::create_dir_all(&parent)?;
        Ok(tempfile::Builder::new()
            .prefix("browser-")
            .tempdir_in(parent)?
            .keep())
    }

    /// Waits until the browser's own extension has connected.
    async fn wait_until_ready(&self, browser: &mut Launched) -> Result<LaunchReport, Error> {
        let ready = self.registry.ready(&browser.pairing);
        let (tabs, ownership) = match &mut browser.process {
            None => (
                tokio::time::timeout(READY_TIMEOUT, ready)
                    .await
                    .map_err(|_| Error::ProfileInUse {
                        name: browser.name.clone(),
                    })?,
                Ownership::Attached,
            ),
            Some((running, process)) => tokio::select! {
                tabs = ready => (tabs, Ownership::Launched),
                status = running.child.wait() => return Err(Error::BrowserExited {
                    status: status?,
                    profile: process.profile.clone(),
                }),
                () = tokio::time::sleep(READY_TIMEOUT) => return Err(Error::ExtensionTimeout {
                    seconds: READY_TIMEOUT.as_secs(),
                }),
            },
        };
        Ok(LaunchReport {
            name: browser.name.clone(),
            tabs,
            ownership,
            headless: browser
                .process
                .as_ref()
                .is_some_and(|(_, process)| process.headless),
        })
    }

    /// Stops a browser that this relay launched.
    pub async fn stop(&self, name: Option<&str>) -> Result<String, Error> {
        let mut browsers = self.browsers.lock().await;
        let at = find(&browsers, name)?;
        let browser = browsers.remove(at);
        let name = browser.name.clone();
        self.forget(browser).await;
        Ok(name)
    }

    /// Resolves when a browser has exited, or was launched again. Checks now and then, because it is
    /// for a message only.
    pub async fn changed(&self, name: &str, was_running: bool) {
        while self.is_running(name).await == was_running {
            tokio::time::sleep(EXIT_POLL).await;
        }
    }

    async fn is_running(&self, name: &str) -> bool {
        let mut browsers = self.browsers.lock().await;
        let browser = browsers.iter_mut().find(|browser| browser.name == name);
        browser.is_some_and(Launched::is_running)
    }

    /// Stops a browser and launches it again, with the same options.
    pub async fn restart(&self, name: Option<&str>) -> Result<LaunchReport, Error> {
        let mut browsers = self.browsers.lock().await;
        let at = find(&browsers, name)?;
        let browser = browsers.remove(at);
        let options = browser.options.clone();
        self.forget(browser).await;
        self.ready(&mut browsers, &options).await
    }

    /// Stops every browser that this relay launched.
    pub async fn stop_all(&self) {
        let mut browsers = self.browsers.lock().await;
        for browser in browsers.drain(..) {
            self.forget(browser).await;
        }
    }

    /// Stops a browser if it was launched, and removes what is temporary.
    async fn forget(&self, mut browser: Launched) {
        if let Some((running, process)) = &mut browser.process {
            running.stop().await;
            self.watchdog.on_stopped(process.pid);
        }
        self.registry.no_longer_prefer(&browser.pairing);
        if let Some(folder) = &browser.temporary {
            self.registry.forget(&browser.pairing);
            remove_temporary(&self.home, folder);
        }
    }
}

impl Launched {
    fn is_running(&mut self) -> bool {
        match &mut self.process {
            Some((running, _)) => matches!(running.child.try_wait(), Ok(None)),
            None => true,
        }
    }
}

/// What a browser is called, unless the user chooses a name.
fn name_of(options: &LaunchOptions) -> Result<String, Error> {
    match &options.name {
        Some(name) => Ok(name.clone()),
        None => Ok(detect::choose(options.browser.as_deref())?.name.to_owned()),
    }
}

fn find(browsers: &[Launched], name: Option<&str>) -> Result<usize, Error> {
    let names = || {
        browsers
            .iter()
            .map(|browser| browser.name.clone())
            .collect()
    };
    match (name, browsers) {
        (Some(name), _) => browsers.iter().position(|browser| browser.name == name),
        (None, [_]) => Some(0),
        (None, _) => None,
    }
    .ok_or_else(|| Error::NotLaunched {
        name: name.map(str::to_owned),
        launched: names(),
    })
}

fn remove_temporary(home: &Home, folder: &Path) {
    let unpaired = home.update_pairings(|pairings| {
        pairings.unpair_folder(&folder.join("extension"));
    });
    let removed = fs::remove_dir_all(folder);
    if let Err(error) = unpaired {
        tracing::warn!(%error, "cannot unpair a temporary browser");
    }
    if let Err(error) = removed {
        tracing::warn!(%error, folder = %folder.display(), "cannot remove a temporary profile");
    }
}

/// Removes what runs that were killed left behind. Only the relay that owns the home may do this.
pub async fn remove_leftovers(home: &Home) {
    let Ok(folders) = fs::read_dir(home.temporary_folder()) else {
        return;
    };
    for folder in folders.flatten().map(|folder| folder.path()) {
        if let Some(process) = read_process(&folder) {
            process.stop().await;
        }
        remove_temporary(home, &folder);
    }
}

/// The browser whose temporary folder this is.
fn read_process(folder: &Path) -> Option<LaunchedProcess> {
    let text = fs::read(folder.join(PROCESS_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Lets the next relay find the browser, if this one and its watchdog are killed.
fn write_process(folder: &Path, process: &LaunchedProcess) {
    if let Ok(text) = serde_json::to_string(process) {
        let _ = fs::write(folder.join(PROCESS_FILE), text);
    }
}
