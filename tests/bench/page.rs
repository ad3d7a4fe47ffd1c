//! A page in a real Chromium that connects to the relay as fast as it can: with WebSockets, and with
//! requests. It is served from here, and asks here whether it should connect.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::routing::get;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;

const START_TIMEOUT: Duration = Duration::from_secs(30);

const SOURCE: &str = r"<!doctype html><script>
  let connections = 0;
  let isOn = false;
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  const webSocket = () =>
    new Promise((resolve) => (new WebSocket('ws://127.0.0.1:PORT/cdp').onclose = resolve));
  // Chromium opens up to six connections to each name.
  const request = () =>
    fetch(`http://${connections % 50}.localhost:PORT/`, { mode: 'no-cors' }).catch(() => {});
  async function repeat(connect) {
    for (;;) {
      if (isOn) {
        await connect();
        connections++;
      } else {
        await pause();
      }
    }
  }
  for (let i = 0; i < 100; i++) {
    repeat(webSocket);
    repeat(request);
  }
  (async () => {
    for (;;) {
      isOn = (await (await fetch('/connections/' + connections)).text()) === 'on';
      await pause();
    }
  })();
</script>";

#[derive(Default)]
struct Shared {
    is_on: AtomicBool,
    /// How many connections of the page have been refused.
    connections: AtomicU32,
    is_loaded: AtomicBool,
}

/// Closed when it is dropped.
pub struct Page {
    chromium: Child,
    /// Removed with the page.
    _profile: tempfile::TempDir,
    shared: Arc<Shared>,
}

impl Page {
    pub async fn start(relay_port: u16) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let page = Html(SOURCE.replace("PORT", &relay_port.to_string()));
        let routes = Router::new()
            .route("/", get(|| async { page }))
            .route("/connections/{count}", get(poll))
            .with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        tokio::spawn(axum::serve(listener, routes).into_future());
        let profile = tempfile::Builder::new()
            .prefix("tabwire-bench-")
            .tempdir()?;
        let chromium = Command::new(chromium())
            .args(["--headless=new", "--no-sandbox", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("Cannot start Chromium")?;
        Ok(Self {
            chromium,
            _profile: profile,
            shared,
        })
    }

    /// Waits until the page has loaded.
    pub async fn ready(&self) -> anyhow::Result<()> {
        let loading = async {
            while !self.shared.is_loaded.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let loaded = tokio::time::timeout(START_TIMEOUT, loading).await;
        loaded.context("Chromium did not load the page in time")
    }

    /// Whether the page should connect.
    pub fn connect(&self, is_on: bool) {
        self.shared.is_on.store(is_on, Ordering::Relaxed);
    }

    /// How many connections of the page have been refused until now.
    pub fn connections(&self) -> u32 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Not killed: it ends its own processes first, which would otherwise write to the profile
        // while that is removed.
        let _ = kill_process(Pid::from_child(&self.chromium), Signal::TERM);
        let _ = self.chromium.wait();
    }
}

async fn poll(State(shared): State<Arc<Shared>>, Path(count): Path<u32>) -> &'static str {
    shared.connections.store(count, Ordering::Relaxed);
    shared.is_loaded.store(true, Ordering::Relaxed);
    if shared.is_on.load(Ordering::Relaxed) {
        "on"
    } else {
        "off"
    }
}

fn chromium() -> PathBuf {
    std::env::var_os("CHROMIUM").map_or_else(|| "chromium".into(), PathBuf::from)
}
