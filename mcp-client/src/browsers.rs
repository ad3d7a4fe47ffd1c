//! What the tools that manage browsers do: they ask this home's relay, as the commands of the same
//! names do, and remember which browser the agent's code runs in. They never start or stop a browser
//! themselves.

use std::io;

use serde_json::json;
use tabwire_home::control::{self, LaunchOptions, LaunchReport, Refusal, RefusalKind};
use tabwire_home::{BrowserReport, Token};

use crate::browser_report::{self, Known, Status};
use crate::browser_tools::BrowserCall;
use crate::current_browser::CurrentBrowser;
use crate::error::Error;
use crate::progress::Progress;
use crate::{Settings, relay};

const LAUNCHED: &str = "`execute` now runs in this browser. The page used before is not in it: code that uses `page` opens a new, empty tab.";
const WAS_RUNNING: &str = "It was running already. `execute` runs in this browser.";
const STOPPED: &str =
    "`execute` runs in whichever browser is connected, which may be the user's own.";
const RELEASED: &str = "It was running before Tabwire, so it stays open.";
const RESTARTED: &str = "Its pages are gone: code that uses `page` opens a new, empty tab.";

pub struct Browsers {
    settings: Settings,
    current: CurrentBrowser,
}

impl Browsers {
    pub fn new(settings: Settings, current: CurrentBrowser) -> Self {
        Self { settings, current }
    }

    /// Returns JSON for the agent.
    pub async fn call(&self, call: BrowserCall, progress: &Progress) -> Result<String, Error> {
        match call {
            BrowserCall::List => self.list().await,
            BrowserCall::Status => self.status().await,
            BrowserCall::Launch(options) => self.launch(&options, progress).await,
            BrowserCall::Stop(name) => self.stop(name).await,
            BrowserCall::Restart(name) => self.restart(name, progress).await,
        }
    }

    async fn list(&self) -> Result<String, Error> {
        let installed = match &self.settings.browser_tools {
            Some(installed) => installed().await,
            None => Vec::new(),
        };
        let connected = self.reports().await?;
        let pairings = self.settings.home.pairings()?;
        let known = Known::list(pairings.browsers(), &connected);
        Ok(json!({ "installed": installed, "known": known }).to_string())
    }

    /// Starts no relay: whoever looks changes nothing.
    async fn status(&self) -> Result<String, Error> {
        let port = relay::port(&self.settings, None);
        let Some(status) = relay::find(&self.settings, port).await? else {
            let next = "browser_launch and execute start a relay.";
            return Ok(json!({ "relay": null, "next": next }).to_string());
        };
        let reports = relay::browsers(&self.settings, port).await?;
        let pid = self.settings.home.running_relay().map(|state| state.pid);
        let status = Status {
            relay: json!({ "port": port, "pid": pid, "mode": status.mode }),
            browsers: browser_report::describe(&reports),
        };
        Ok(json!(status).to_string())
    }

    async fn launch(&self, options: &LaunchOptions, progress: &Progress) -> Result<String, Error> {
        relay::ensure_started(&self.settings, progress).await?;
        let before = self.reports().await?;
        progress.notify("launching the browser").await;
        let (port, token) = self.relay().await?;
        let launched = control::launch(port, &token, options).await;
        let report = launched.map_err(|error| refused(&error, options.browser.as_deref()))?;
        // Unless the user has renamed it, so that no browser has this name.
        if has(&self.reports().await?, &report.name) {
            self.current.set(Some(report.name.clone()));
        }
        let was_running = has(&before, &report.name);
        Ok(describe(
            &report,
            if was_running { WAS_RUNNING } else { LAUNCHED },
        ))
    }

    async fn restart(&self, name: Option<String>, progress: &Progress) -> Result<String, Error> {
        let current = self.current.get().name;
        let name = name.or_else(|| self.launched(current.as_ref()));
        progress.notify("restarting the browser").await;
        let (port, token) = self.relay().await?;
        let restarted = control::restart(port, &token, name.as_deref()).await;
        let report = restarted.map_err(|error| refused(&error, None))?;
        self.current.set(current);
        Ok(describe(&report, RESTARTED))
    }

    async fn stop(&self, name: Option<String>) -> Result<String, Error> {
        let current = self.current.get().name;
        let name = name.or_else(|| self.launched(current.as_ref()));
        let (port, token) = self.relay().await?;
        let stopped = control::stop_browser(port, &token, name.as_deref()).await;
        let stopped = stopped.map_err(|error| refused(&error, None));
        let gone = match &stopped {
            Ok(stopped) => stopped.name.as_ref(),
            // Its relay may have been replaced.
            Err(Error::NotLaunched(_)) => name.as_ref(),
            Err(_) => None,
        };
        if gone.is_some() {
            let remaining = current.filter(|current| Some(current) != gone);
            self.current
                .set(remaining.or(self.settings.browser.clone()));
        }
        let note = match self.current.get().name {
            Some(name) => format!("`execute` runs in {name}."),
            None => STOPPED.to_owned(),
        };
        let stopped = stopped?;
        Ok(if stopped.stays_open() {
            json!({ "released": stopped.name, "note": format!("{RELEASED} {note}") })
        } else {
            json!({ "stopped": stopped.name, "note": note })
        }
        .to_string())
    }

    /// The browser that the agent has launched.
    fn launched(&self, current: Option<&String>) -> Option<String> {
        let chosen_by_user = self.settings.browser.as_ref();
        current
            .filter(|name| Some(*name) != chosen_by_user)
            .cloned()
    }

    /// The relay that has launched browsers. Fails if none is running, because then there are none.
    async fn relay(&self) -> Result<(u16, Token), Error> {
        let port = relay::port(&self.settings, None);
        match relay::find(&self.settings, port).await? {
            Some(_) => Ok((port, Token::load(&self.settings.home)?)),
            None => Err(Error::NotLaunched(
                "No relay is running, so no browser was launched.".to_owned(),
            )),
        }
    }

    /// The browsers that have connected. None without a relay.
    async fn reports(&self) -> Result<Vec<BrowserReport>, Error> {
        let port = relay::port(&self.settings, None);
        match relay::find(&self.settings, port).await? {
            Some(_) => relay::browsers(&self.settings, port).await,
            None => Ok(Vec::new()),
        }
    }
}

fn has(reports: &[BrowserReport], name: &str) -> bool {
    let mut connected = reports.iter().filter(|report| report.connected);
    connected.any(|report| report.name == name)
}

fn describe(report: &LaunchReport, note: &str) -> String {
    let mut result = json!(report);
    if let Some(fields) = result.as_object_mut() {
        fields.insert("note".to_owned(), note.into());
    }
    result.to_string()
}

/// What the relay has refused, with a next step for an agent.
fn refused(error: &io::Error, browser: Option<&str>) -> Error {
    let is_refusal = error.get_ref().is_some_and(|source| source.is::<Refusal>());
    match Refusal::kind_of(error) {
        RefusalKind::UnknownBrowser => {
            Error::UnknownBrowser(browser.unwrap_or_default().to_owned())
        }
        RefusalKind::NotLaunched => Error::NotLaunched(error.to_string()),
        RefusalKind::Other if is_refusal => Error::BrowserRefused(error.to_string()),
        RefusalKind::Other => Error::RelayRequest(error.to_string()),
    }
}
