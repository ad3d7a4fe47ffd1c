//! One agent's session: the worker, the page in use, and the turn at the browser. It owns all of it; calls come one at a
//! time.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, interval, sleep};

use crate::Settings;
use crate::answer::{Answer, Failure};
use crate::errors::{Error, LOST};
use crate::progress::Progress;
use crate::worker::{Reply, Worker};
use crate::{relay, runner};

const RELEASE_WITHIN: Duration = Duration::from_secs(5);
/// The longest that anything but the agent's own code may take in the worker.
const STEP_WITHIN: Duration = Duration::from_secs(20);
const REPORTED_TABS: usize = 30;

pub struct Session {
    settings: Settings,
    worker: Option<Worker>,
    /// Where the relay was looked for last.
    port: Option<u16>,
    /// The target id of the page in use; it outlives workers and connections.
    target: Option<String>,
    /// Tabs that were opened only because code needed a page.
    opened: Vec<String>,
    /// What the agent has to be told with its next answer.
    notes: Vec<String>,
    /// Whether the worker was asked something that it has not answered: a call was dropped there.
    in_call: bool,
}

#[derive(Debug, Clone, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tab {
    pub index: usize,
    pub target: String,
    pub title: String,
    pub url: String,
    pub in_use: bool,
    /// The tab in one line, as code that returns pages sees it too.
    #[serde(skip_serializing)]
    pub line: String,
}

#[derive(Deserialize)]
struct Tabs {
    tabs: Vec<Tab>,
}

impl Session {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            worker: None,
            port: None,
            target: None,
            opened: Vec::new(),
            notes: Vec::new(),
            in_call: false,
        }
    }

    /// Runs code and gives what it said, whatever happened.
    pub async fn execute(&mut self, code: &str, limit: Duration, progress: &Progress) -> Answer {
        let mut answer = match self.ready(progress).await {
            Ok(()) => self.run(code, limit, progress).await,
            Err(error) => error.into(),
        };
        for note in self.notes.drain(..).rev() {
            answer.text.insert_str(0, &format!("[{note}]\n"));
        }
        answer
    }

    /// Everything that code needs: relay, browser, runner, worker, and the slot.
    pub async fn ready(&mut self, progress: &Progress) -> Result<(), Error> {
        if self.in_call {
            self.replace_worker("The last call was given up in the middle of its code.")
                .await;
        }
        let port = relay::port(&self.settings, self.port);
        self.port = Some(port);
        relay::ensure(&self.settings, port, progress).await?;
        if self.worker.is_some() {
            match self.take_slot(port, progress).await {
                // It ended while nobody looked, or what earlier code left behind keeps it busy; a new one does.
                Err(error @ (Error::WorkerEnded(_) | Error::OutOfMemory(_) | Error::Runner(_))) => {
                    self.note_loss(&error)
                }
                taken => return taken,
            }
        }
        let runner = runner::ensure(&self.settings.home, progress).await?;
        self.worker = Some(Worker::start(&runner, self.settings.memory_mib)?);
        let taken = self.take_slot(port, progress).await;
        if matches!(taken, Err(Error::WorkerStart { .. })) {
            // A Node that is too old cannot even read the runner, and says so in words of its own.
            runner::check_node().await?;
        }
        taken
    }

    async fn take_slot(&mut self, port: u16, progress: &Progress) -> Result<(), Error> {
        let since = Instant::now();
        loop {
            let token = (self.settings.token)()?;
            let parameters =
                json!({ "url": relay::cdp_url(port, &token.0), "target": self.target });
            let reply = self.ask("connect", parameters).await?;
            let Some(Failure { kind, message, .. }) = reply.error else {
                return Ok(());
            };
            match kind.as_str() {
                "busy" => relay::wait_for_slot(&self.settings, port, since, progress).await?,
                "unauthorized" => return Err(Error::ForeignRelay(port)),
                "no-extension" => return Err(Error::NoExtension),
                _ => return Err(Error::Connect(message)),
            }
            // Somebody else was faster each time, or a client comes and goes: the wait is bounded all the same.
            if since.elapsed() > self.settings.standby + STEP_WITHIN {
                return Err(Error::Connect("the slot was never free".into()));
            }
        }
    }

    async fn run(&mut self, code: &str, limit: Duration, progress: &Progress) -> Answer {
        let parameters = json!({
            "code": code,
            "timeoutMs": u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            "outputLimit": self.settings.output_limit,
            "imageLimit": self.settings.image_limit,
        });
        match self.call("execute", parameters, limit, progress).await {
            Ok(reply) => {
                let mut answer: Answer = serde_json::from_value(reply.ok).unwrap_or_default();
                answer.failure = reply.error;
                answer
            }
            Err(error) => {
                let said = self
                    .worker
                    .as_mut()
                    .map(|worker| std::mem::take(&mut worker.said))
                    .unwrap_or_default();
                self.end_worker().await;
                Answer {
                    text: said.trim_end().to_owned(),
                    failure: Some(error.into()),
                    ..Answer::default()
                }
            }
        }
    }

    /// Something that should be quick; a worker that does not answer is ended.
    async fn ask(&mut self, what: &str, parameters: Value) -> Result<Reply, Error> {
        let asked = self
            .call(what, parameters, STEP_WITHIN, &Progress::silent())
            .await;
        match asked {
            Ok(reply) => Ok(reply),
            Err(error) => {
                self.end_worker().await;
                Err(match error {
                    Error::TimedOut { after } => {
                        Error::Runner(format!("no answer to '{what}' in {} s", after.as_secs()))
                    }
                    other => other,
                })
            }
        }
    }

    async fn call(
        &mut self,
        what: &str,
        parameters: Value,
        limit: Duration,
        progress: &Progress,
    ) -> Result<Reply, Error> {
        let Some(worker) = self.worker.as_mut() else {
            return Err(Error::Runner("it is not there".into()));
        };
        self.in_call = true;
        let outcome = {
            let call = worker.call(what, parameters);
            let deadline = sleep(limit);
            tokio::pin!(call, deadline);
            let began = Instant::now();
            let mut signs = interval(Duration::from_secs(1));
            signs.tick().await;
            loop {
                tokio::select! {
                    outcome = &mut call => break outcome,
                    () = &mut deadline => break Err(Error::TimedOut { after: limit }),
                    _ = signs.tick() => progress.notify(&format!("running for {} s", began.elapsed().as_secs())).await,
                }
            }
        };
        self.in_call = false;
        self.learn();
        outcome
    }

    /// What the worker has told of tabs outlives it.
    fn learn(&mut self) {
        if let Some(worker) = self.worker.as_mut() {
            self.target = worker.page.clone().or(self.target.take());
            self.opened.append(&mut worker.opened);
        }
    }

    /// Ends the worker in the middle of its code, now: the agent does not want it any more.
    pub async fn abandon(&mut self) {
        if self.in_call {
            self.replace_worker("The last call was cancelled and its code ended.")
                .await;
        }
    }

    /// The worker has ended between calls, or had to be.
    fn note_loss(&mut self, error: &Error) {
        let why = match error {
            Error::OutOfMemory(mib) => format!("What earlier code left running took more than {mib} MiB of memory and was ended."),
            Error::WorkerEnded(_) => "The process that runs the code had ended.".to_owned(),
            Error::Runner(_) => {
                "The process that runs the code did not answer, perhaps for what earlier code had left running, and was ended.".to_owned()
            }
            _ => "The process that runs the code did not let go of the browser.".to_owned(),
        };
        self.notes.push(format!("{why} {LOST}"));
    }

    async fn replace_worker(&mut self, why: &str) {
        self.notes.push(format!("{why} {LOST}"));
        self.end_worker().await;
    }

    /// Ends the worker, whatever it does. What is lost by it is for the caller to say.
    pub async fn end_worker(&mut self) {
        self.in_call = false;
        self.learn();
        if let Some(worker) = self.worker.take() {
            worker.kill().await;
        }
    }

    /// A new worker and a new connection; the page in use stays.
    pub async fn reset(&mut self, progress: &Progress) -> Answer {
        self.end_worker().await;
        self.notes.clear();
        let tabs = match self.ready(progress).await {
            Ok(()) => self.tabs().await,
            Err(error) => Err(error),
        };
        match tabs {
            Ok(tabs) => Answer {
                text: report(&tabs),
                ..Answer::default()
            },
            Err(error) => error.into(),
        }
    }

    pub async fn tabs(&mut self) -> Result<Vec<Tab>, Error> {
        let reply = self.ask("tabs", json!({})).await?;
        if let Some(failure) = reply.error {
            return Err(Error::Runner(failure.message));
        }
        let Tabs { tabs } =
            serde_json::from_value(reply.ok).map_err(|error| Error::Runner(error.to_string()))?;
        Ok(tabs)
    }

    /// Takes a tab into use by what a person calls it.
    pub async fn use_tab(&mut self, tab: &str) -> Result<(), Error> {
        let reply = self.ask("use", json!({ "tab": tab })).await?;
        reply
            .error
            .map_or(Ok(()), |failure| Err(Error::NoSuchTab(failure.message)))
    }

    /// Gives the slot back. The worker stays, and with it `state`.
    pub async fn release(&mut self) {
        if self.worker.is_some()
            && !self.in_call
            && let Err(error) = self
                .call("release", json!({}), RELEASE_WITHIN, &Progress::silent())
                .await
        {
            self.note_loss(&error);
            self.end_worker().await;
        }
    }

    /// The end of a run of its own: tabs that were opened only because code needed a page are closed.
    pub async fn finish(mut self) {
        if self.in_call {
            self.end_worker().await;
        }
        // Code that was ended took its worker along; the tab is still there.
        if !self.opened.is_empty()
            && (self.worker.is_some() || self.ready(&Progress::silent()).await.is_ok())
        {
            let parameters = json!({ "targets": self.opened });
            let _ = self
                .call("close", parameters, RELEASE_WITHIN, &Progress::silent())
                .await;
        }
        self.release().await;
        self.end_worker().await;
    }
}

fn report(tabs: &[Tab]) -> String {
    let mut lines = vec!["Connected anew; `state` is empty.".to_owned()];
    lines.push(match tabs.iter().find(|tab| tab.in_use) {
        Some(tab) => format!("page: {}", tab.url),
        None => "page: none in use; code that uses `page` gets a new background tab".to_owned(),
    });
    lines.push(format!("{} pages:", tabs.len()));
    lines.extend(tabs.iter().take(REPORTED_TABS).map(|tab| tab.line.clone()));
    if tabs.len() > REPORTED_TABS {
        lines.push(format!(
            "… and {} more: pages()",
            tabs.len() - REPORTED_TABS
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(index: usize, in_use: bool) -> Tab {
        let url = format!("https://site/{index}");
        Tab {
            index,
            target: String::new(),
            title: String::new(),
            line: format!("[{index}] {url}"),
            url,
            in_use,
        }
    }

    #[test]
    fn the_report_of_a_reset_names_the_page_in_use_and_stays_short() {
        let tabs: Vec<Tab> = (0..200).map(|index| tab(index, index == 3)).collect();
        let report = report(&tabs);
        assert!(report.contains("page: https://site/3\n200 pages:\n[0] https://site/0\n"));
        assert!(report.ends_with("… and 170 more: pages()"));
    }
}
