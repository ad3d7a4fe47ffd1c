//! A browser with a debugging port of its own: where it is, what it is called, and how to find it
//! again.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use serde_json::Value;
use tabwire_home::check_name;
use tabwire_home::control::Ownership;
use tokio::sync::Notify;

use super::port::{self, Fault, Version};
use super::url::BrowserUrl;
use crate::error::Error;
use crate::shared_work::SharedWork;

/// How often a browser that is expected back is looked for.
pub const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Where a browser is, and who started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub url: BrowserUrl,
    pub ownership: Ownership,
}

/// Starts a browser that the relay may launch.
pub trait Launcher: Send + Sync + 'static {
    /// Resolves when the debugging port answers.
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<Found, Error>> + Send + '_>>;
}

/// How a browser was found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    Attached,
    Relaunched,
}

impl Recovered {
    pub fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Relaunched => "relaunched",
        }
    }
}

pub struct Browser {
    pub name: String,
    /// For the log.
    pub user_data_dir: Option<PathBuf>,
    /// Changes when the browser is launched again.
    found: Mutex<Found>,
    launcher: Option<Arc<dyn Launcher>>,
    /// Clients and HTTP may look for the browser at the same time.
    recovery: SharedWork<Recovered>,
    /// Somebody has made sure that the browser is running. The hub may still believe that it is gone.
    pub running: Notify,
    /// How long to look for a browser that cannot be launched.
    pub recovery_timeout: Duration,
}

impl Browser {
    /// A browser that is running already. `name` gets the name of its product.
    pub async fn attach(
        url: BrowserUrl,
        name: impl FnOnce(&str) -> Result<String, Error>,
        recovery_timeout: Duration,
    ) -> Result<Self, Error> {
        let version = port::version(url).await;
        let version = version.map_err(|fault| unavailable(url, &fault))?;
        Ok(Self {
            name: name(&brand(&version.product))?,
            user_data_dir: None,
            found: Mutex::new(Found {
                url,
                ownership: Ownership::Attached,
            }),
            launcher: None,
            recovery: SharedWork::default(),
            running: Notify::new(),
            recovery_timeout,
        })
    }

    /// A browser that the relay launches, now and whenever it is gone and needed.
    pub async fn launch(
        name: String,
        user_data_dir: PathBuf,
        launcher: Arc<dyn Launcher>,
    ) -> Result<Self, Error> {
        Ok(Self {
            name,
            user_data_dir: Some(user_data_dir),
            found: Mutex::new(launcher.launch().await?),
            launcher: Some(launcher),
            recovery: SharedWork::default(),
            running: Notify::new(),
            recovery_timeout: Duration::ZERO,
        })
    }

    /// Whether the relay launches the browser when it is needed.
    pub fn is_launchable(&self) -> bool {
        self.launcher.is_some()
    }

    pub fn ownership(&self) -> Ownership {
        self.found().ownership
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn url(&self) -> BrowserUrl {
        self.found().url
    }

    pub async fn version(&self) -> Result<Version, Error> {
        let url = self.url();
        let version = port::version(url).await;
        version.map_err(|fault| unavailable(url, &fault))
    }

    /// What the port serves at this path.
    pub async fn get(&self, path: &str) -> Result<Bytes, Error> {
        let url = self.url();
        let body = port::get(url, path).await;
        body.map_err(|fault| unavailable(url, &fault))
    }

    /// What `/json/list` has about the browser's pages.
    pub async fn pages(&self) -> Result<Vec<Value>, Error> {
        let list = self.get("/json/list").await?;
        let targets: Vec<Value> = serde_json::from_slice(&list).unwrap_or_default();
        let is_page = |target: &Value| target.get("type").is_some_and(|kind| kind == "page");
        Ok(targets.into_iter().filter(is_page).collect())
    }

    /// Launches the browser again if it is gone and can be launched.
    pub async fn ensure_running(&self) -> Result<(), Error> {
        if self.launcher.is_some() {
            self.recover().await?;
        }
        Ok(())
    }

    /// Finds the browser, or else launches it again. One that cannot be launched gets some time to
    /// come back.
    pub async fn recover(&self) -> Result<Recovered, Error> {
        self.recovery.run(self.find_again()).await
    }

    async fn find_again(&self) -> Result<Recovered, Error> {
        let started = Instant::now();
        if let Some(launcher) = &self.launcher {
            let found = launcher.launch().await?;
            let before = std::mem::replace(&mut *self.found(), found);
            self.running.notify_one();
            return Ok(if before == found {
                Recovered::Attached
            } else {
                Recovered::Relaunched
            });
        }
        loop {
            let Err(error) = self.version().await else {
                return Ok(Recovered::Attached);
            };
            if started.elapsed() >= self.recovery_timeout {
                return Err(error);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }
}

fn unavailable(url: BrowserUrl, fault: &Fault) -> Error {
    Error::BrowserPort {
        url,
        reason: fault.to_string(),
    }
}

/// What a browser is named after: `Chrome/156.0.8078.79` is `chrome`.
fn brand(product: &str) -> String {
    let name = product.split('/').next().unwrap_or_default();
    let name = name.strip_prefix("Headless").unwrap_or(name);
    let name = match name {
        "Edg" => "edge".to_owned(),
        name => name.to_ascii_lowercase(),
    };
    if check_name(&name).is_ok() {
        name
    } else {
        "browser".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launcher whose browser gets another port each time.
    struct AnyPort;

    impl Launcher for AnyPort {
        fn launch(&self) -> Pin<Box<dyn Future<Output = Result<Found, Error>> + Send + '_>> {
            let (url, ownership) = (free_port(), Ownership::Launched);
            Box::pin(async move { Ok(Found { url, ownership }) })
        }
    }

    /// A port that nobody listens on.
    fn free_port() -> BrowserUrl {
        let listener = std::net::TcpListener::bind("127.0.0.1:0");
        let address = listener.and_then(|listener| listener.local_addr());
        let port = address.expect("a free port").port();
        BrowserUrl { port }
    }

    #[tokio::test]
    async fn browser_that_is_gone_is_launched_again() {
        let launched = Browser::launch("chrome".to_owned(), PathBuf::new(), Arc::new(AnyPort));
        let browser = launched.await.expect("launched");
        let first = browser.url();
        assert_eq!(browser.recover().await.ok(), Some(Recovered::Relaunched));
        assert_ne!(browser.url(), first);
    }

    #[test]
    fn browser_is_named_after_its_product() {
        for (product, name) in [
            ("Chrome/156.0.8078.79", "chrome"),
            ("HeadlessChrome/156.0", "chrome"),
            ("Edg/156.0.1", "edge"),
            ("Some Browser/1", "browser"),
            ("", "browser"),
        ] {
            assert_eq!(brand(product), name, "{product}");
        }
    }
}
