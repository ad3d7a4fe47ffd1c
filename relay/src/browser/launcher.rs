//! The browsers that this relay launches, from their start until they are stopped. Only these are
//! ever stopped; a profile that is open already is joined and left open.

mod on_demand;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::join_all;
use tabwire_home::control::{LaunchOptions, LaunchReport, Ownership, Stopped};
use tabwire_home::{Home, PairingId};
use tokio::sync::Mutex;

use self::on_demand::Known;
use super::extension_browser::ExtensionBrowsers;
use super::launched::{Backend, Launched, Which, find, find_like};
use super::launching::Launching;
use super::name::Naming;
use super::owned::Owned;
use super::program::{Program, Started};
use super::watchdog::Watchdog;
use super::{detect, leftovers, reserved};
use crate::direct::{self, StrongSignal};
use crate::error::Error;
use crate::registry::{Entry, Registry, Switch};
use crate::shared_work::SharedWork;

pub struct Launcher {
    home: Home,
    registry: Arc<Registry>,
    watchdog: Arc<Watchdog>,
    extensions: ExtensionBrowsers,
    /// What is launched when a client needs a browser.
    on_demand: Option<LaunchOptions>,
    on_demand_name: std::sync::Mutex<Option<Known>>,
    /// The launch that clients wait for.
    ensuring: SharedWork<LaunchReport>,
    /// Locked while a browser is launched or stopped, so that whoever needs the same one waits for
    /// it.
    browsers: Mutex<Vec<Launched>>,
    /// What is being launched while `browsers` is locked.
    launching: Launching,
    /// How often a browser was restarted.
    restarts: AtomicU32,
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
            watchdog: Arc::new(Watchdog::start(home)),
            extensions: ExtensionBrowsers {
                home: home.clone(),
                port,
                registry: registry.clone(),
                owned: Owned::default(),
            },
            registry,
            on_demand,
            on_demand_name: std::sync::Mutex::default(),
            ensuring: SharedWork::default(),
            browsers: Mutex::default(),
            launching: Launching::default(),
            restarts: AtomicU32::new(0),
        }
    }

    /// Who started the browser of this pairing. `None` for one that the user has opened.
    pub fn ownership(&self, pairing: &PairingId) -> Option<Ownership> {
        self.extensions.owned.get(pairing)
    }

    /// The extension of a browser has connected.
    pub fn on_extension_opened(&self, name: &str, pairing: Option<&PairingId>) {
        self.extensions.owned.log_opened(name, pairing);
    }

    /// The extension of a browser is not connected any more.
    pub fn on_extension_lost(&self, name: &str, pairing: Option<&PairingId>, signal: StrongSignal) {
        if !self.launching.is_closed() {
            self.extensions.owned.log_lost(name, pairing, signal);
        }
    }

    /// The relay is stopping. Nothing can be launched any more.
    pub fn close(&self) {
        self.launching.close();
    }

    /// The browsers, with their current names. Locked until it is dropped.
    async fn browsers(&self) -> tokio::sync::MutexGuard<'_, Vec<Launched>> {
        let mut browsers = self.browsers.lock().await;
        for browser in browsers.iter_mut() {
            self.update_name(browser);
        }
        browsers
    }

    fn update_name(&self, browser: &mut Launched) {
        let pairing = browser.pairing();
        if let Some(name) = pairing.and_then(|own| self.registry.name_of(own)) {
            browser.known_as = Some(name);
        }
    }

    /// Launches a browser, unless it is running already.
    pub async fn launch(&self, options: &LaunchOptions) -> Result<LaunchReport, Error> {
        let mut browsers = self.browsers().await;
        self.ready(&mut browsers, options, Switch::WhenConnected)
            .await
    }

    async fn ready(
        &self,
        browsers: &mut Vec<Launched>,
        options: &LaunchOptions,
        switch: Switch,
    ) -> Result<LaunchReport, Error> {
        self.registry.check_launchable()?;
        reserved::check(&options.arguments, options.direct)?;
        let browser = detect::choose(options.browser.as_deref())?;
        let is_only = browsers.len() == 1;
        let like = find_like(browsers, options, &browser)?;
        if let Some(launched) = like.and_then(|at| browsers.get_mut(at)) {
            if switch == Switch::WhenConnected {
                launched.program.allow_launch();
            }
            return self.wait_until_ready(launched, switch, is_only).await;
        }
        let naming = Naming {
            home: &self.home,
            registry: &self.registry,
            browsers,
            options,
        };
        let names = naming.names(&browser)?;
        let mut launched = Launched::new(&self.home, &self.watchdog, options, names, browser)?;
        self.make_way(browsers, &launched, switch).await?;
        let is_only = browsers.is_empty();
        let report = self.wait_until_ready(&mut launched, switch, is_only).await;
        self.after_launch(browsers, launched, report.is_ok()).await;
        report
    }

    /// Stops a browser whose place or profile the new one needs before it starts. Fails if it has to
    /// stay.
    async fn make_way(
        &self,
        browsers: &mut Vec<Launched>,
        new: &Launched,
        switch: Switch,
    ) -> Result<(), Error> {
        let sharing = browsers.iter().find(|own| own.shares_profile(new));
        match sharing {
            Some(own) if !self.registry.is_one() => {
                let name = own.name().to_owned();
                return Err(Error::LaunchedOtherwise { name });
            }
            None if switch == Switch::WhenConnected || !self.registry.is_one() => return Ok(()),
            _ => {}
        }
        if !browsers.is_empty() {
            self.registry.make_way();
            self.forget_all(browsers).await;
        }
        Ok(())
    }

    /// Keeps a browser that is ready, in place of others if there can be only one.
    async fn after_launch(&self, browsers: &mut Vec<Launched>, launched: Launched, is_ready: bool) {
        if is_ready {
            if self.registry.is_one() {
                self.forget_all(browsers).await;
            }
            browsers.push(launched);
            return;
        }
        self.forget(launched).await;
        // It may have connected before it failed.
        let is_displaced = |own: &mut Launched| matches!(&own.backend, Backend::Direct(Some(entry)) if self.registry.is_displaced(entry));
        let mut displaced: Vec<Launched> = browsers.extract_if(.., is_displaced).collect();
        self.forget_all(&mut displaced).await;
    }

    /// Waits until clients can use the browser, and starts it if it is not running. Ends when the
    /// browser is stopped.
    async fn wait_until_ready(
        &self,
        browser: &mut Launched,
        switch: Switch,
        is_only: bool,
    ) -> Result<LaunchReport, Error> {
        let program = browser.program.clone();
        let waiting = program.unless_closing(async {
            let _launching = self.launching.begin(browser, is_only)?;
            self.get_ready(browser, switch).await
        });
        waiting.await
    }

    async fn get_ready(
        &self,
        browser: &mut Launched,
        switch: Switch,
    ) -> Result<LaunchReport, Error> {
        let program = &browser.program;
        let joined = program.is_running().await;
        let (tabs, debug_port) = match &mut browser.backend {
            Backend::Extension(pairing) => {
                let tabs = self.extensions.ready(program, pairing, switch).await?;
                (tabs, None)
            }
            Backend::Direct(entry) => {
                let direct = self.direct_ready(program, entry).await?;
                (direct.pages().await?.len(), Some(direct.url().port))
            }
        };
        // It may have been killed meanwhile. Then the next client that needs it launches it again.
        let Some(Started { ownership, pid }) = program.running().await else {
            return Err(Error::BrowserStopped);
        };
        self.update_name(browser);
        let program = &browser.program;
        Ok(LaunchReport {
            id: browser.id,
            name: browser.name().to_owned(),
            tabs,
            ownership,
            headless: ownership == Ownership::Launched && program.plan.headless,
            pid,
            debug_port,
            joined,
        })
    }

    async fn direct_ready(
        &self,
        program: &Arc<Program>,
        entry: &mut Option<Entry>,
    ) -> Result<Arc<direct::Browser>, Error> {
        if let Some(direct) = entry.as_ref().and_then(|entry| entry.direct.clone()) {
            direct.recover().await?;
            return Ok(direct);
        }
        let (name, profile) = (program.plan.name.clone(), program.plan.profile.clone());
        let launched = direct::Browser::launch(name, profile, program.clone()).await?;
        let launched = Arc::new(launched);
        let added = entry.insert(self.registry.add_direct(launched.clone()));
        self.registry.prefer_direct(added);
        Ok(launched)
    }

    /// Stops a browser that this relay launched, also while it is being launched. One that was running
    /// before is only released.
    pub async fn stop(&self, which: Which<'_>) -> Result<Stopped, Error> {
        let interrupted = self.launching.interrupt(which);
        let mut browsers = self.browsers().await;
        let which = interrupted.as_ref().map_or(which, |own| Which::Id(own.id));
        let at = match (find(&browsers, which), interrupted) {
            (Ok(at), _) => at,
            // It was new, and whoever launched it has cleaned up.
            (Err(_), Some(own)) => return Ok(Stopped::browser(own.name, Ownership::Launched)),
            (Err(error), None) => return Err(error),
        };
        let browser = browsers.remove(at);
        let name = browser.name().to_owned();
        let ownership = self.forget(browser).await;
        Ok(Stopped::browser(
            name,
            ownership.unwrap_or(Ownership::Launched),
        ))
    }

    /// Ends the launch of a new browser with these options, if it is under way.
    pub async fn interrupt(&self, options: &LaunchOptions) -> Result<Stopped, Error> {
        let interrupted = self.launching.interrupt_new(options);
        let interrupted = interrupted.ok_or_else(|| Error::NotLaunched {
            name: options.name.clone(),
            launched: Vec::new(),
        })?;
        // Until it is cleaned up.
        drop(self.browsers.lock().await);
        Ok(Stopped::browser(interrupted.name, Ownership::Launched))
    }

    /// Stops a browser and launches it again, with the same options. Its clients stay connected.
    pub async fn restart(&self, which: Which<'_>) -> Result<LaunchReport, Error> {
        // A client may have asked for it to be launched again, and it may hang. The client gets what is
        // launched now.
        self.restarts.fetch_add(1, Ordering::Relaxed);
        self.launching.interrupt_again(which);
        let mut browsers = self.browsers().await;
        let at = find(&browsers, which)?;
        let is_only = browsers.len() == 1;
        let Some(browser) = browsers.get_mut(at) else {
            return Err(Error::BrowserStopped);
        };
        browser.program.interrupt();
        if browser.program.ownership().await == Some(Ownership::Attached) {
            let name = browser.name().to_owned();
            return Err(Error::RestartAttached { name });
        }
        browser.program.stop().await;
        browser.program.allow_launch();
        self.wait_until_ready(browser, Switch::AtOnce, is_only)
            .await
    }

    /// Stops every browser that this relay launched. Nothing can be launched any more.
    pub async fn stop_all(&self) {
        self.close();
        let mut browsers = self.browsers.lock().await;
        self.forget_all(&mut browsers).await;
    }

    async fn forget_all(&self, browsers: &mut Vec<Launched>) {
        join_all(browsers.drain(..).map(|browser| self.forget(browser))).await;
    }

    /// Stops a browser if it was launched, and removes what is temporary. Returns who had started it, if
    /// it was running.
    async fn forget(&self, browser: Launched) -> Option<Ownership> {
        match &browser.backend {
            Backend::Direct(entry) => {
                if let Some(entry) = entry {
                    self.registry.remove_direct(entry).await;
                }
                // A client may be launching it. This ends that.
                self.discard(&browser.program).await
            }
            Backend::Extension(pairing) => {
                let ownership = browser.program.ownership().await;
                // Otherwise their next request would launch the browser again. One that stays open
                // keeps its clients.
                if let Some(pairing) = pairing
                    && ownership == Some(Ownership::Launched)
                {
                    self.registry.close_clients_of(pairing);
                }
                self.discard(&browser.program).await;
                let Some(pairing) = pairing else {
                    return ownership;
                };
                self.extensions.owned.remove(pairing);
                self.registry.no_longer_prefer(pairing);
                if browser.program.plan.temporary.is_some() {
                    self.registry.forget(pairing);
                }
                ownership
            }
        }
    }

    async fn discard(&self, program: &Program) -> Option<Ownership> {
        let ownership = program.close().await;
        if let Some(folder) = &program.plan.temporary {
            leftovers::remove_folder(&self.home, folder).await;
        }
        ownership
    }
}
