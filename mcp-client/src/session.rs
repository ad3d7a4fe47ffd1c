//! One agent's session: the worker, the current page, and the claim on the browser. It owns all
//! three and handles one call at a time.

use std::time::Duration;

use serde_json::{Value, json};
use tabwire_home::{Token, cdp_url};
use tokio::time::{Instant, interval, sleep};

use crate::current_browser::{Choice, CurrentBrowser};
use crate::error::{Audience, Error};
use crate::progress::Progress;
use crate::response::{Failure, Report, Response};
use crate::tabs::{Tab, Tabs, describe};
use crate::worker::{OpenedTab, Reply, Worker};
use crate::{Settings, relay, runner};

const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// For every worker request except running the agent's code.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the extension may be away when the session ends, as after a reload.
const EXTENSION_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

pub struct Session {
    settings: Settings,
    audience: Audience,
    worker: Option<Worker>,
    /// What the agent calls itself.
    agent: Option<String>,
    /// By which the relay recognizes this session when it connects again.
    identity: String,
    /// Which browser to use, as others have chosen it.
    current: CurrentBrowser,
    /// How many of its changes this session has followed.
    changes: u64,
    /// The relay's port at the last call.
    port: Option<u16>,
    /// The target id of the current page. It outlives workers and connections.
    target: Option<String>,
    /// Tabs that are closed when the session ends.
    opened: Vec<String>,
    /// Notes for the next response.
    notes: Vec<String>,
    /// Whether a worker request is pending. Still true at the next call if that one's future was
    /// dropped.
    in_call: bool,
}

impl Session {
    pub fn new(settings: Settings, audience: Audience) -> Self {
        Self {
            current: CurrentBrowser::new(settings.browser.clone()),
            changes: 0,
            settings,
            audience,
            worker: None,
            agent: None,
            identity: format!("{:032x}", rand::random::<u128>()),
            port: None,
            target: None,
            opened: Vec::new(),
            notes: Vec::new(),
            in_call: false,
        }
    }

    pub fn current_browser(&self) -> CurrentBrowser {
        self.current.clone()
    }

    /// The agent has introduced itself. Used for the next connection.
    pub fn set_agent(&mut self, name: String) {
        self.agent = Some(name);
    }

    /// Runs code. The response includes what the code printed before it failed.
    pub async fn execute(
        &mut self,
        code: &str,
        timeout: Duration,
        progress: &Progress,
    ) -> Response {
        let mut response = match self.prepare(progress).await {
            Ok(()) => self.run(code, timeout, progress).await,
            Err(error) => error.into(),
        };
        for note in self.notes.drain(..).rev() {
            response.text.insert_str(0, &format!("[{note}]\n"));
        }
        response
    }

    /// Ensures everything that code needs: relay, browser, runner, worker and the client slot.
    pub async fn prepare(&mut self, progress: &Progress) -> Result<(), Error> {
        if self.in_call {
            self.replace_worker("The last call was abandoned while its code was running.")
                .await;
        }
        self.follow_browser().await;
        let port = relay::port(&self.settings, self.port);
        self.port = Some(port);
        relay::ensure(&self.settings, port, progress).await?;
        self.ensure_connected(port, progress).await
    }

    /// Ensures that a worker is running and connected to the relay.
    async fn ensure_connected(&mut self, port: u16, progress: &Progress) -> Result<(), Error> {
        if self.worker.is_some() {
            match self.connect(port, progress).await {
                // It exited between calls, or earlier code keeps it busy. Start a new one.
                Err(
                    error @ (Error::WorkerExited(_) | Error::OutOfMemory(_) | Error::Runner(_)),
                ) => self.note_loss(&error),
                outcome => return outcome,
            }
        }
        let runner = runner::ensure(&self.settings.home, progress).await?;
        self.worker = Some(Worker::start(&runner, self.settings.memory_mib)?);
        let connected = self.connect(port, progress).await;
        if matches!(connected, Err(Error::WorkerStart { .. })) {
            // A Node.js that is too old cannot even parse the runner, and its own error does not
            // help.
            runner::check_node().await?;
        }
        connected
    }

    /// Uses another browser if it was chosen. The connection to the last one may not have noticed yet
    /// that its browser is gone.
    async fn follow_browser(&mut self) {
        let Choice { name, changes } = self.current.get();
        if changes != self.changes {
            self.changes = changes;
            self.settings.browser = name;
            self.release().await;
        }
    }

    /// Connects the worker to the relay, which takes the client slot.
    async fn connect(&mut self, port: u16, progress: &Progress) -> Result<(), Error> {
        let since = Instant::now();
        loop {
            // Read each time: a user who replaces the token wants the old one to stop working.
            let token = Token::load_or_create(&self.settings.home)?;
            let url = cdp_url(port, &token, self.settings.browser.as_deref());
            let name = self.agent.as_ref().unwrap_or(&self.settings.client_name);
            let secrets = self.settings.secrets.reveal();
            let files = &self.settings.files;
            let parameters = json!({ "url": url, "name": name, "identity": self.identity, "target": self.target, "secrets": secrets, "files": files });
            let reply = self.request("connect", parameters).await?;
            let Some(Report { kind, message, .. }) = reply.error else {
                return Ok(());
            };
            match kind.as_str() {
                "busy" => relay::wait_for_slot(&self.settings, port, since, progress).await?,
                "unauthorized" => return Err(Error::ForeignRelay(port)),
                "no-extension" => return Err(Error::NoExtension),
                _ => return Err(Error::Connect(message)),
            }
            // Other clients may take the slot first every time, so the whole wait is bounded as
            // well.
            if since.elapsed() > self.settings.standby + REQUEST_TIMEOUT {
                return Err(Error::Connect("the browser was always in use".into()));
            }
        }
    }

    async fn run(&mut self, code: &str, timeout: Duration, progress: &Progress) -> Response {
        let parameters = json!({
            "code": code,
            "audience": self.audience,
            "timeoutMs": milliseconds(timeout),
            "actionTimeoutMs": milliseconds(self.settings.action_timeout),
            "navigationTimeoutMs": milliseconds(self.settings.navigation_timeout),
            "outputLimit": self.settings.output_limit,
            "imageLimit": self.settings.image_limit,
        });
        match self
            .request_within(timeout, "execute", parameters, progress)
            .await
        {
            Ok(reply) => {
                let mut response: Response = serde_json::from_value(reply.ok).unwrap_or_default();
                response.failure = reply.error.map(Failure::Code);
                response
            }
            Err(error) => {
                let worker = self.worker.as_mut();
                let output = worker.map(|worker| std::mem::take(&mut worker.output));
                self.end_worker().await;
                Response {
                    text: output.unwrap_or_default().trim_end().to_owned(),
                    ..Response::from(error)
                }
            }
        }
    }

    /// A request that should be quick. A worker that does not reply is killed.
    async fn request(&mut self, method: &str, parameters: Value) -> Result<Reply, Error> {
        let outcome = self
            .request_within(REQUEST_TIMEOUT, method, parameters, &Progress::silent())
            .await;
        if outcome.is_err() {
            self.end_worker().await;
        }
        outcome.map_err(|error| match error {
            Error::TimedOut { after } => Error::Runner(format!(
                "no reply to '{method}' within {} s",
                after.as_secs()
            )),
            other => other,
        })
    }

    async fn request_within(
        &mut self,
        timeout: Duration,
        method: &str,
        parameters: Value,
        progress: &Progress,
    ) -> Result<Reply, Error> {
        let Some(worker) = self.worker.as_mut() else {
            return Err(Error::Runner("it is not running".into()));
        };
        self.in_call = true;
        let outcome = {
            let request = worker.request(method, parameters);
            let deadline = sleep(timeout);
            tokio::pin!(request, deadline);
            let start = Instant::now();
            let mut ticks = interval(Duration::from_secs(1));
            ticks.tick().await;
            loop {
                tokio::select! {
                    outcome = &mut request => break outcome,
                    () = &mut deadline => break Err(Error::TimedOut { after: timeout }),
                    _ = ticks.tick() => progress.notify(&format!("running for {} s", start.elapsed().as_secs())).await,
                }
            }
        };
        self.in_call = false;
        self.remember_tabs();
        outcome
    }

    /// What the worker reported about tabs outlives it.
    fn remember_tabs(&mut self) {
        if let Some(worker) = self.worker.as_mut() {
            self.target = worker.page.clone().or(self.target.take());
            let opened = std::mem::take(&mut worker.opened).into_iter();
            // What a shell's user opens on purpose stays open.
            let is_own = |tab: &OpenedTab| !tab.explicit || self.audience == Audience::Agent;
            self.opened
                .extend(opened.filter(is_own).map(|tab| tab.target));
            let kept = std::mem::take(&mut worker.kept);
            self.opened.retain(|target| !kept.contains(target));
        }
    }

    /// Stops code that the agent no longer wants.
    pub async fn abort_call(&mut self) {
        if self.in_call {
            self.replace_worker("The last call was cancelled and its code was stopped.")
                .await;
        }
    }

    /// Notes that the worker exited between calls or had to be killed.
    fn note_loss(&mut self, error: &Error) {
        let reason = match error {
            Error::OutOfMemory(mib) => {
                format!("Something that earlier code left running used more than {mib} MiB of memory and was stopped.")
            }
            Error::WorkerExited(_) => "The process that runs the code had exited.".to_owned(),
            Error::Runner(_) => {
                "The process that runs the code did not respond, perhaps because of something that earlier code left running, and was stopped.".to_owned()
            }
            _ => "The process that runs the code did not release the browser and was stopped.".to_owned(),
        };
        self.notes
            .push(format!("{reason} {}", self.audience.loss()));
    }

    async fn replace_worker(&mut self, reason: &str) {
        self.notes
            .push(format!("{reason} {}", self.audience.loss()));
        self.end_worker().await;
    }

    /// Kills the worker. The caller reports what is lost.
    pub async fn end_worker(&mut self) {
        self.in_call = false;
        self.remember_tabs();
        if let Some(worker) = self.worker.take() {
            worker.kill().await;
        }
    }

    /// Starts a new worker and a new connection. The current page stays.
    pub async fn reset(&mut self, progress: &Progress) -> Response {
        self.end_worker().await;
        self.notes.clear();
        let tabs = match self.prepare(progress).await {
            Ok(()) => self.tabs().await,
            Err(error) => Err(error),
        };
        tabs.map_or_else(Response::from, |tabs| Response::text(describe(&tabs)))
    }

    pub async fn tabs(&mut self) -> Result<Vec<Tab>, Error> {
        let reply = self.request("tabs", json!({})).await?;
        if let Some(report) = reply.error {
            return Err(Error::Runner(report.message));
        }
        let Tabs { tabs } =
            serde_json::from_value(reply.ok).map_err(|error| Error::Runner(error.to_string()))?;
        Ok(tabs)
    }

    /// Makes a tab the current page, by number, target id, or a part of its address or title.
    pub async fn use_tab(&mut self, tab: &str) -> Result<(), Error> {
        let reply = self.request("use", json!({ "tab": tab })).await?;
        reply
            .error
            .map_or(Ok(()), |report| Err(Error::NoSuchTab(report.message)))
    }

    /// Releases the browser. The worker stays, and `state` with it.
    pub async fn release(&mut self) {
        if self.worker.is_some()
            && !self.in_call
            && let Err(error) = self.try_request("release", json!({})).await
        {
            self.note_loss(&error);
            self.end_worker().await;
        }
    }

    /// Ends the session: closes the tabs that it has opened and that nobody wants to keep. The next
    /// call begins a new one.
    pub async fn finish(&mut self) {
        if self.in_call {
            self.end_worker().await;
        }
        if !self.opened.is_empty() && self.reconnect().await {
            let parameters = json!({ "targets": self.opened });
            if self.try_request("close", parameters).await.is_ok() {
                self.opened.clear();
            }
        }
        self.release().await;
        self.end_worker().await;
        *self = Self {
            // Those that could not be closed are left to the next session's end.
            opened: std::mem::take(&mut self.opened),
            current: self.current.clone(),
            changes: self.changes,
            ..Self::new(self.settings.clone(), self.audience)
        };
    }

    /// Connects to the browser once more, unless it has gone and its tabs with it. The browser may have
    /// been released since the last call, and code that was stopped took its worker with it.
    async fn reconnect(&mut self) -> bool {
        let port = relay::port(&self.settings, self.port);
        let deadline = Instant::now() + EXTENSION_TIMEOUT;
        loop {
            match relay::find(&self.settings, port).await {
                Ok(Some(status)) if status.extension => {
                    let connected = self.ensure_connected(port, &Progress::silent()).await;
                    return connected.is_ok();
                }
                Ok(Some(_)) if Instant::now() < deadline => sleep(POLL_INTERVAL).await,
                _ => return false,
            }
        }
    }

    /// A request whose failure the caller handles; the worker is kept.
    async fn try_request(&mut self, method: &str, parameters: Value) -> Result<Reply, Error> {
        self.request_within(RELEASE_TIMEOUT, method, parameters, &Progress::silent())
            .await
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
