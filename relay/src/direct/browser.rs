//! A browser with a debugging port of its own: where it is, what it is called, and how to find it
//! again.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use serde_json::Value;
use tabwire_home::check_name;

use super::port::{self, Fault, Version};
use super::url::BrowserUrl;
use crate::error::Error;

/// How often a browser that is expected back is looked for.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Who started the browser. Only one that the relay launched may ever be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    Attached,
    // Nothing launches a browser for its debugging port yet.
    #[allow(dead_code)]
    Launched,
}

impl Ownership {
    pub fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Launched => "launched",
        }
    }
}

/// Starts a browser again that the relay launched.
pub trait Launcher: Send + Sync + 'static {
    /// Resolves when the debugging port answers, and returns where it is.
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<BrowserUrl, Error>> + Send + '_>>;
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
    pub ownership: Ownership,
    /// For the log.
    pub user_data_dir: Option<PathBuf>,
    /// Changes if a relaunched browser gets another port.
    url: Mutex<BrowserUrl>,
    launcher: Option<Box<dyn Launcher>>,
    /// Held by whoever looks for the browser.
    recovery: tokio::sync::Mutex<()>,
    /// How long to look for a browser that cannot be launched.
    recovery_timeout: Duration,
}

impl Browser {
    /// A browser that is running already. `name`: `None` names it after its product.
    pub async fn attach(
        url: BrowserUrl,
        name: Option<String>,
        recovery_timeout: Duration,
    ) -> Result<Self, Error> {
        let version = port::version(url).await;
        let version = version.map_err(|fault| unavailable(url, &fault))?;
        Ok(Self {
            name: name.unwrap_or_else(|| brand(&version.product)),
            ownership: Ownership::Attached,
            user_data_dir: None,
            url: Mutex::new(url),
            launcher: None,
            recovery: tokio::sync::Mutex::default(),
            recovery_timeout,
        })
    }

    /// A browser that the relay has launched, and launches again when it is gone.
    // Nothing launches a browser for its debugging port yet.
    #[allow(dead_code)]
    pub fn launched(
        url: BrowserUrl,
        name: String,
        user_data_dir: PathBuf,
        launcher: Box<dyn Launcher>,
    ) -> Self {
        Self {
            name,
            ownership: Ownership::Launched,
            user_data_dir: Some(user_data_dir),
            url: Mutex::new(url),
            launcher: Some(launcher),
            recovery: tokio::sync::Mutex::default(),
            recovery_timeout: Duration::ZERO,
        }
    }

    pub fn url(&self) -> BrowserUrl {
        *self.url.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Finds the browser at its port, or else launches it again. One that cannot be launched gets
    /// some time to come back.
    pub async fn recover(&self) -> Result<Recovered, Error> {
        let started = Instant::now();
        // Clients and HTTP may ask at the same time. One of them launches, the others find the
        // browser.
        let _recovery = self.recovery.lock().await;
        loop {
            let Err(error) = self.version().await else {
                return Ok(Recovered::Attached);
            };
            if let Some(launcher) = &self.launcher {
                let url = launcher.launch().await?;
                *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
                return Ok(Recovered::Relaunched);
            }
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

    /// A launcher whose browser is at this port.
    struct At(BrowserUrl);

    impl Launcher for At {
        fn launch(&self) -> Pin<Box<dyn Future<Output = Result<BrowserUrl, Error>> + Send + '_>> {
            Box::pin(async { Ok(self.0) })
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
        let (old, new) = (free_port(), free_port());
        let launcher = Box::new(At(new));
        let browser = Browser::launched(old, "chrome".to_owned(), PathBuf::new(), launcher);
        assert_eq!(browser.recover().await.ok(), Some(Recovered::Relaunched));
        assert_eq!(browser.url(), new);
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
