//! The open port: a second port on 127.0.0.1 for clients that cannot show a token. Owns its listener,
//! and closes it when its time is over. What is admitted there is decided in `http/guard/open_port`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tabwire_home::milliseconds;
use tabwire_home::open_port::{
    DEFAULT_OPEN_PORT, MAX_OPEN_SECONDS, OpenPortOptions, OpenPortReport, OpenedPort,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::app::App;
use crate::config::BrowserMode;
use crate::error::Error;
use crate::http::listener::{self, Places, Serving};
use crate::http::peer::{CAN_IDENTIFY, Owners};
use crate::http::routes::{self, CONNECTION_TIMEOUT};
use crate::registry::NotFound;

/// How often to look whether the time is over. A machine that sleeps stops timers, but not the clock
/// that the user sees.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Browsers leave it out of `Host`. The guard takes a request without a port for chromedriver's.
const STANDARD_PORT: u16 = 80;
const GOING_AWAY: u16 = 1001;

pub struct OpenPort {
    /// Separate from those of the relay's own port: no program can use them up for others there.
    places: Places,
    /// Held while the port is opened or closed, so that only one is open at a time.
    current: AsyncMutex<Option<Current>>,
    /// The id of the opening whose clients may stay connected; 0 if the port is closed.
    current_id: AtomicU64,
    last_id: AtomicU64,
}

struct Current {
    opening: Arc<Opening>,
    accepting: JoinHandle<()>,
}

/// One time that the port is open. The guard looks at it for every request, because a connection can
/// outlive it.
pub struct Opening {
    pub id: u64,
    pub port: u16,
    /// The only browser that can be used through it. `None`: whichever is connected.
    pub browser: Option<String>,
    end: Mutex<End>,
    is_closed: AtomicBool,
}

/// Whichever comes first: a clock can be set back, and timers stop while the machine sleeps.
#[derive(Debug, Clone, Copy)]
struct End {
    at: Instant,
    until: SystemTime,
}

/// Why the port is not opened.
#[derive(Debug)]
pub enum OpenFault {
    Error(Error),
    NoBrowser(NotFound),
}

impl From<Error> for OpenFault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Why the port closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    TimeOver,
    /// `tabwire close-port`
    Command,
    /// The button in the popup.
    Popup,
    TokenReplaced,
    RelayStops,
}

impl Closing {
    /// For the log, and for clients that are disconnected.
    fn reason(self) -> &'static str {
        match self {
            Self::TimeOver => {
                "The time of the open port is over. Open it again with `tabwire open-port`."
            }
            Self::Command => "The open port was closed with `tabwire close-port`.",
            Self::Popup => "The open port was closed in the browser.",
            Self::TokenReplaced => "The open port was closed because the token was replaced.",
            Self::RelayStops => "The relay is stopping.",
        }
    }
}

impl End {
    fn after(seconds: u32) -> Self {
        let duration = Duration::from_secs(seconds.into());
        Self {
            at: Instant::now() + duration,
            until: SystemTime::now() + duration,
        }
    }

    fn is_over(self) -> bool {
        Instant::now() >= self.at || SystemTime::now() >= self.until
    }

    fn remaining(self) -> Duration {
        let until = self.until.duration_since(SystemTime::now());
        let by_clock = until.unwrap_or_default();
        self.at
            .saturating_duration_since(Instant::now())
            .min(by_clock)
    }
}

impl Opening {
    pub fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed) && !self.end().is_over()
    }

    fn end(&self) -> End {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_end(&self, end: End) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    fn report(&self) -> OpenPortReport {
        OpenPortReport {
            port: self.port,
            until: milliseconds(self.end().until),
            browser: self.browser.clone(),
        }
    }

    /// Whether these options describe this opening, apart from its end.
    fn fits(&self, options: &OpenPortOptions) -> bool {
        let has_port = options.port.is_none_or(|port| port == self.port);
        let asked = options.browser.as_deref();
        let has_browser = asked.is_none_or(|asked| {
            let own = self.browser.as_deref();
            own.is_some_and(|own| own.eq_ignore_ascii_case(asked))
        });
        has_port && has_browser
    }
}

impl OpenPort {
    pub fn new() -> Self {
        Self {
            places: Places::of_open_port(),
            current: AsyncMutex::default(),
            current_id: AtomicU64::new(0),
            last_id: AtomicU64::new(0),
        }
    }

    /// Opens the port, or moves the end of one that is open.
    pub async fn open(app: &Arc<App>, options: &OpenPortOptions) -> Result<OpenedPort, OpenFault> {
        check(options, CAN_IDENTIFY)?;
        let mut current = app.open_port.current.lock().await;
        if let Some(Current { opening, .. }) = current.as_ref().filter(|it| it.opening.is_open()) {
            return extend(app, opening, options);
        }
        // One whose end has not been noticed yet.
        app.open_port
            .end(app, current.take(), Closing::TimeOver)
            .await;
        let browser = choose_browser(app, options.browser.as_deref());
        let browser = browser.map_err(OpenFault::NoBrowser)?;
        let opened = app.open_port.listen(app, options, browser).await?;
        let opening = opened.opening.clone();
        *current = Some(opened);
        tokio::spawn(close_in_time(app.clone(), opening.clone()));
        let OpenPortOptions { seconds, .. } = options;
        tracing::info!(
            port = opening.port,
            browser = opening.browser,
            seconds,
            "opened a port that needs no token"
        );
        Ok(announce(app, &opening, false))
    }

    async fn listen(
        &self,
        app: &Arc<App>,
        options: &OpenPortOptions,
        browser: Option<String>,
    ) -> Result<Current, Error> {
        let listener = listener::bind(options.port.unwrap_or(DEFAULT_OPEN_PORT), "--port").await?;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let opening = Arc::new(Opening {
            id,
            port: listener.local_addr()?.port(),
            browser,
            end: Mutex::new(End::after(options.seconds)),
            is_closed: AtomicBool::new(false),
        });
        let serving = Serving {
            routes: routes::open_port_routes(app, &opening),
            http_timeout: CONNECTION_TIMEOUT,
            owners: Owners::OwnUser,
            places: self.places.clone(),
        };
        self.current_id.store(id, Ordering::Relaxed);
        Ok(Current {
            opening,
            accepting: tokio::spawn(listener::accept(listener, serving)),
        })
    }

    /// Closes the port and disconnects whoever uses it. Returns the port if it was open.
    pub async fn close(app: &App, closing: Closing) -> Option<u16> {
        let mut current = app.open_port.current.lock().await;
        app.open_port.end(app, current.take(), closing).await
    }

    async fn end(&self, app: &App, current: Option<Current>, closing: Closing) -> Option<u16> {
        let Current { opening, accepting } = current?;
        opening.is_closed.store(true, Ordering::Relaxed);
        self.current_id.store(0, Ordering::Relaxed);
        accepting.abort();
        // The port is free when this returns.
        let _ = accepting.await;
        let (port, reason) = (opening.port, closing.reason());
        tracing::info!(port, reason, "closed the port that needs no token");
        app.registry.show_open_port(None);
        self.close_stale_clients(app, reason);
        Some(port)
    }

    /// Disconnects the clients of earlier openings.
    fn close_stale_clients(&self, app: &App, reason: &str) {
        let current = self.current_id.load(Ordering::Relaxed);
        for entry in app.registry.entries() {
            let clients = &entry.connections.clients;
            clients.close_of_openings_except(current, GOING_AWAY, reason);
        }
    }

    /// Disconnects clients that were being connected when their port was closed.
    pub fn close_late_clients(app: &App) {
        app.open_port
            .close_stale_clients(app, "The open port is closed.");
    }
}

fn check(options: &OpenPortOptions, can_identify: bool) -> Result<(), Error> {
    if !(1..=MAX_OPEN_SECONDS).contains(&options.seconds) {
        return Err(Error::OpenPortTime {
            hours: MAX_OPEN_SECONDS / 3600,
        });
    }
    if options.port == Some(STANDARD_PORT) {
        return Err(Error::OpenPortStandard);
    }
    if !can_identify && !options.without_user_check {
        return Err(Error::OpenPortUnchecked);
    }
    Ok(())
}

/// With several browsers, clients could not choose one, and a browser that connects later must not be
/// open to them without notice.
fn choose_browser(app: &App, requested: Option<&str>) -> Result<Option<String>, NotFound> {
    if requested.is_none() && app.config.browser_mode == BrowserMode::One {
        return Ok(None);
    }
    let entry = app.registry.find(requested)?;
    Ok(entry.connections.browser_name())
}

fn extend(
    app: &App,
    opening: &Opening,
    options: &OpenPortOptions,
) -> Result<OpenedPort, OpenFault> {
    if !opening.fits(options) {
        let OpenPortReport { port, browser, .. } = opening.report();
        return Err(Error::OpenPortDiffers { port, browser }.into());
    }
    opening.set_end(End::after(options.seconds));
    let OpenPortOptions { seconds, .. } = options;
    tracing::info!(
        port = opening.port,
        seconds,
        "the port that needs no token stays open"
    );
    Ok(announce(app, opening, true))
}

fn announce(app: &App, opening: &Opening, extended: bool) -> OpenedPort {
    let report = opening.report();
    app.registry.show_open_port(Some(report.clone()));
    OpenedPort { report, extended }
}

/// Closes the port when its time is over, unless it has been closed before.
async fn close_in_time(app: Arc<App>, opening: Arc<Opening>) {
    while opening.is_open() {
        let pause = opening.end().remaining().min(CHECK_INTERVAL);
        tokio::time::sleep(pause).await;
    }
    let mut current = app.open_port.current.lock().await;
    let own = current.take_if(|it| it.opening.id == opening.id && !opening.is_open());
    app.open_port.end(&app, own, Closing::TimeOver).await;
}

#[cfg(test)]
mod tests;
