//! The browsers that this relay launches, from their start until they are stopped. Only these are
//! ever stopped; a profile that is open already is joined and left open.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tabwire_home::control::{LaunchOptions, LaunchReport, Ownership, ProfileChoice};
use tabwire_home::{Home, PairingId};
use tokio::sync::Mutex;

use super::bundle::{self, Copy};
use super::launch::{self, Access};
use super::name::choose_name;
use super::owned::Owned;
use super::program::{Plan, Program, READY_TIMEOUT, Started};
use super::watchdog::Watchdog;
use super::{detect, leftovers};
use crate::direct;
use crate::error::Error;
use crate::registry::Registry;

const EXIT_POLL: Duration = Duration::from_millis(500);

pub struct Launcher {
    home: Home,
    port: u16,
    registry: Arc<Registry>,
    watchdog: Arc<Watchdog>,
    /// What is launched when a client needs a browser.
    on_demand: Option<LaunchOptions>,
    /// Locked while a browser is launched or stopped, so that whoever needs the same one waits for
    /// it.
    browsers: Mutex<Vec<Launched>>,
    owned: Owned,
}

struct Launched {
    options: LaunchOptions,
    program: Arc<Program>,
    backend: Backend,
}

/// How clients get to the browser.
enum Backend {
    /// `None` until the browser is started for the first time.
    Extension(Option<PairingId>),
    Direct(Arc<direct::Browser>),
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
            watchdog: Arc::new(Watchdog::start(home)),
            on_demand,
            browsers: Mutex::default(),
            owned: Owned::default(),
        }
    }

    /// Who started the browser of this pairing. `None` for one that the user has opened.
    pub fn ownership(&self, pairing: &PairingId) -> Option<Ownership> {
        self.owned.get(pairing)
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
        let browser = detect::choose(options.browser.as_deref())?;
        let name = self.name(browsers, options, &browser)?;
        if let Some(known) = browsers.iter_mut().find(|known| known.name() == name) {
            if known.options.direct != options.direct {
                return Err(Error::LaunchedOtherwise { name });
            }
            return self.wait_until_ready(known).await;
        }
        if self.registry.has_one_browser() && !browsers.is_empty() {
            self.registry.make_way();
            self.forget_all(browsers).await;
        }
        let mut launched = self.start(options, name, browser).await?;
        let report = self.wait_until_ready(&mut launched).await;
        match report {
            Ok(report) => {
                browsers.push(launched);
                Ok(report)
            }
            Err(error) => {
                self.forget(launched).await;
                Err(error)
            }
        }
    }

    /// What the browser is called: what the user wants, or else what kind of browser it is. Never what
    /// another browser is called.
    fn name(
        &self,
        browsers: &[Launched],
        options: &LaunchOptions,
        browser: &detect::Browser,
    ) -> Result<String, Error> {
        let pairings = self.home.pairings()?;
        let is_taken = |name: &str| {
            let is_launched = browsers.iter().any(|browser| browser.name() == name);
            // Only the extension of a kept profile has had the name before.
            let extension = match options.profile {
                _ if options.direct => None,
                ProfileChoice::Temporary => None,
                _ => fs::canonicalize(self.home.launched_folder(name).join("extension")).ok(),
            };
            let is_paired = pairings.has_name_outside(extension.as_deref(), name);
            !is_launched && (is_paired || self.registry.has_url_named(name))
        };
        choose_name(is_taken, options.name.as_deref(), browser.name)
    }

    async fn start(
        &self,
        options: &LaunchOptions,
        name: String,
        browser: detect::Browser,
    ) -> Result<Launched, Error> {
        let folder = match &options.profile {
            ProfileChoice::Temporary => leftovers::new_folder(&self.home)?,
            _ => self.home.launched_folder(&name),
        };
        let plan = Plan {
            name,
            browser,
            profile: match &options.profile {
                ProfileChoice::Folder(folder) => folder.clone(),
                _ => folder.join("profile"),
            },
            access: if options.direct {
                Access::DebuggingPort
            } else {
                Access::Extension {
                    folder: folder.join("extension"),
                    load_by: options.load_by,
                }
            },
            headless: options.headless || !launch::has_display(),
            temporary: (options.profile == ProfileChoice::Temporary).then_some(folder),
            arguments: options.arguments.clone(),
        };
        let program = Arc::new(Program::new(plan, self.watchdog.clone()));
        Ok(Launched {
            backend: self.backend(&program).await?,
            options: options.clone(),
            program,
        })
    }

    /// Starts a browser with a debugging port. One with the extension is started later.
    async fn backend(&self, program: &Arc<Program>) -> Result<Backend, Error> {
        let plan = &program.plan;
        if let Access::Extension { .. } = plan.access {
            return Ok(Backend::Extension(None));
        }
        let launched =
            direct::Browser::launch(plan.name.clone(), plan.profile.clone(), program.clone());
        match launched.await {
            Ok(browser) => {
                let browser = Arc::new(browser);
                self.registry.add_direct(browser.clone());
                Ok(Backend::Direct(browser))
            }
            Err(error) => {
                self.discard(program).await;
                Err(error)
            }
        }
    }

    /// Waits until clients can use the browser, and starts it if it is not running.
    async fn wait_until_ready(&self, browser: &mut Launched) -> Result<LaunchReport, Error> {
        let program = &browser.program;
        let (tabs, debug_port) = match &mut browser.backend {
            Backend::Extension(pairing) => (self.extension_tabs(program, pairing).await?, None),
            Backend::Direct(direct) => {
                direct.recover().await?;
                (direct.pages().await?.len(), Some(direct.url().port))
            }
        };
        let Started { ownership, pid } = program.start().await?;
        Ok(LaunchReport {
            name: program.plan.name.clone(),
            tabs,
            ownership,
            headless: ownership == Ownership::Launched && program.plan.headless,
            pid,
            debug_port,
        })
    }

    /// How many tabs the browser has, when its own extension has connected.
    async fn extension_tabs(
        &self,
        program: &Program,
        pairing: &mut Option<PairingId>,
    ) -> Result<usize, Error> {
        let was_running = program.is_running().await;
        match self.extension_ready(program, pairing).await {
            // Its connection had ended before its process did.
            Err(Error::BrowserExited { .. }) if was_running => {
                self.extension_ready(program, pairing).await
            }
            outcome => outcome,
        }
    }

    async fn extension_ready(
        &self,
        program: &Program,
        pairing: &mut Option<PairingId>,
    ) -> Result<usize, Error> {
        if self.is_unpaired(pairing.as_ref())? {
            // It cannot connect any more.
            program.stop().await;
        }
        if !program.is_running().await {
            if let Some(last) = pairing {
                // Its last connection may not have been closed yet.
                self.registry.disconnected(last).await;
            }
            // Each time, because the user may have unpaired it.
            *pairing = self.write_extension(&program.plan)?;
        }
        let Some(pairing) = pairing else {
            return Err(Error::BrowserStopped);
        };
        self.registry.prefer(pairing);
        let Started { ownership, .. } = program.start().await?;
        let tabs = tokio::select! {
            tabs = self.registry.ready(pairing) => tabs,
            error = program.exited() => return Err(error),
            () = tokio::time::sleep(READY_TIMEOUT) => return Err(match ownership {
                Ownership::Launched => Error::ExtensionTimeout { seconds: READY_TIMEOUT.as_secs() },
                Ownership::Attached => Error::ProfileInUse { name: program.plan.name.clone() },
            }),
        };
        program.on_connected(ownership).await;
        self.owned.insert(pairing, ownership);
        Ok(tabs)
    }

    /// Whether the user has unpaired the browser.
    fn is_unpaired(&self, pairing: Option<&PairingId>) -> Result<bool, Error> {
        let pairings = self.home.pairings()?;
        Ok(pairing.is_some_and(|pairing| !pairings.contains(pairing)))
    }

    /// Writes an extension that can prove to be this browser's own.
    fn write_extension(&self, plan: &Plan) -> Result<Option<PairingId>, Error> {
        let Access::Extension { folder, .. } = &plan.access else {
            return Ok(None);
        };
        let (pairing, secret) = bundle::pair(&self.home, folder, Some(&plan.name))?;
        let copy = Copy {
            folder,
            port: self.port,
            secret: &secret,
            shows_welcome: false,
        };
        copy.write()?;
        Ok(Some(pairing))
    }

    /// Stops a browser that this relay launched.
    pub async fn stop(&self, name: Option<&str>) -> Result<String, Error> {
        let mut browsers = self.browsers.lock().await;
        let at = find(&browsers, name)?;
        let browser = browsers.remove(at);
        let name = browser.name().to_owned();
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
        let browsers = self.browsers.lock().await;
        match browsers.iter().find(|browser| browser.name() == name) {
            Some(browser) => browser.program.is_running().await,
            None => false,
        }
    }

    /// Stops a browser and launches it again, with the same options. Its clients stay connected.
    pub async fn restart(&self, name: Option<&str>) -> Result<LaunchReport, Error> {
        let mut browsers = self.browsers.lock().await;
        let at = find(&browsers, name)?;
        let mut browser = browsers.remove(at);
        browser.program.stop().await;
        let report = self.wait_until_ready(&mut browser).await;
        browsers.insert(at, browser);
        report
    }

    /// Stops every browser that this relay launched.
    pub async fn stop_all(&self) {
        let mut browsers = self.browsers.lock().await;
        self.forget_all(&mut browsers).await;
    }

    async fn forget_all(&self, browsers: &mut Vec<Launched>) {
        for browser in browsers.drain(..) {
            self.forget(browser).await;
        }
    }

    /// Stops a browser if it was launched, and removes what is temporary.
    async fn forget(&self, browser: Launched) {
        match &browser.backend {
            Backend::Direct(direct) => {
                self.registry.remove_direct(direct).await;
                self.discard(&browser.program).await;
            }
            Backend::Extension(pairing) => {
                self.discard(&browser.program).await;
                let Some(pairing) = pairing else { return };
                self.owned.remove(pairing);
                self.registry.no_longer_prefer(pairing);
                if browser.program.plan.temporary.is_some() {
                    self.registry.forget(pairing);
                }
            }
        }
    }

    async fn discard(&self, program: &Program) {
        program.close().await;
        if let Some(folder) = &program.plan.temporary {
            leftovers::remove_folder(&self.home, folder);
        }
    }
}

impl Launched {
    fn name(&self) -> &str {
        &self.program.plan.name
    }
}

fn find(browsers: &[Launched], name: Option<&str>) -> Result<usize, Error> {
    let names = || {
        browsers
            .iter()
            .map(|browser| browser.name().to_owned())
            .collect()
    };
    match (name, browsers) {
        (Some(name), _) => browsers.iter().position(|browser| browser.name() == name),
        (None, [_]) => Some(0),
        (None, _) => None,
    }
    .ok_or_else(|| Error::NotLaunched {
        name: name.map(str::to_owned),
        launched: names(),
    })
}
