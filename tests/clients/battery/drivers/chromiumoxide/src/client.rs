//! The operations of the battery with chromiumoxide. Each returns what the runner compares.

use std::error::Error;
use std::time::Duration;
use std::{env, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chromiumoxide::cdp::browser_protocol::browser::{
    DownloadProgressState, EventDownloadProgress, SetDownloadBehaviorBehavior,
    SetDownloadBehaviorParams,
};
use chromiumoxide::cdp::browser_protocol::fetch::{
    DisableParams, EnableParams, EventRequestPaused, FulfillRequestParams, RequestPattern,
};
use chromiumoxide::cdp::browser_protocol::network::CookieParam;
use chromiumoxide::cdp::js_protocol::runtime::EvaluateParams;
use chromiumoxide::page::ScreenshotParams;
use chromiumoxide::{Browser, Page};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time};

pub type Failure = Box<dyn Error + Send + Sync>;

/// How long to wait for what chromiumoxide has no event for.
const TIMEOUT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(50);

/// What the runner passes.
pub struct Given {
    url: String,
    site: String,
    folder: PathBuf,
}

impl Given {
    pub fn from_environment() -> Result<Self, Failure> {
        let given: Value = serde_json::from_str(&env::var("TABWIRE_BATTERY")?)?;
        let text = |pointer| {
            let found = given.pointer(pointer).and_then(Value::as_str);
            found.map(str::to_owned).ok_or(pointer)
        };
        Ok(Self {
            url: text("/address/ws")?,
            site: text("/site")?,
            folder: text("/folder")?.into(),
        })
    }

    /// An address on the site.
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.site)
    }
}

pub struct Client<'a> {
    given: &'a Given,
    browser: Browser,
    handler: JoinHandle<()>,
    /// A tab that the client has opened.
    own: Option<Page>,
}

impl<'a> Client<'a> {
    pub async fn connect(given: &'a Given) -> Result<Self, Failure> {
        let (mut browser, mut handler) = Browser::connect(&given.url).await?;
        let handler = tokio::spawn(async move { while handler.next().await.is_some() {} });
        browser.fetch_targets().await?;
        Ok(Self {
            given,
            browser,
            handler,
            own: None,
        })
    }

    /// Pages that exist already are found one after the other.
    pub async fn list(&self) -> Result<Value, Failure> {
        let mut urls = Vec::new();
        let deadline = time::Instant::now() + Duration::from_secs(3);
        while urls.len() < 8 && time::Instant::now() < deadline {
            time::sleep(INTERVAL).await;
            urls.clear();
            for page in self.browser.pages().await? {
                urls.extend(page.url().await?);
            }
        }
        Ok(json!(urls))
    }

    async fn page_at(&self, path: &str) -> Result<Page, Failure> {
        let url = self.given.at(path);
        let deadline = time::Instant::now() + TIMEOUT;
        while time::Instant::now() < deadline {
            for page in self.browser.pages().await? {
                if page.url().await?.as_ref() == Some(&url) {
                    return Ok(page);
                }
            }
            time::sleep(INTERVAL).await;
        }
        Err(format!("no page at {path}").into())
    }

    async fn work(&mut self) -> Result<Page, Failure> {
        let url = self.given.at("/work");
        let page = match &self.own {
            Some(page) => page.clone(),
            None => self.browser.new_page(&url).await?,
        };
        if page.url().await?.as_ref() != Some(&url) {
            page.goto(&url).await?;
        }
        self.own = Some(page.clone());
        Ok(page)
    }

    pub async fn title(&self) -> Result<Value, Failure> {
        Ok(json!(self.page_at("/inbox").await?.get_title().await?))
    }

    pub async fn evaluate(&self) -> Result<Value, Failure> {
        let page = self.page_at("/notes").await?;
        Ok(page.evaluate("window.answer").await?.into_value()?)
    }

    pub async fn click(&self) -> Result<Value, Failure> {
        let page = self.page_at("/form").await?;
        page.find_element("#press").await?.click().await?;
        let output = page.find_element("output").await?;
        Ok(json!(output.inner_text().await?))
    }

    pub async fn type_text(&self) -> Result<Value, Failure> {
        let page = self.page_at("/form").await?;
        let input = page.find_element("#name").await?;
        input.focus().await?.type_str("hello").await?;
        Ok(json!(input.string_property("value").await?))
    }

    pub async fn frame(&self) -> Result<Value, Failure> {
        let page = self.page_at("/framed").await?;
        let main = page.mainframe().await?;
        let frames = page.frames().await?;
        let inner = frames
            .into_iter()
            .find(|frame| Some(frame) != main.as_ref());
        let context = page
            .frame_execution_context(inner.ok_or("the page has no frames")?)
            .await?
            .ok_or("the frame has no execution context")?;
        let mut read = EvaluateParams::new("document.querySelector('#text').textContent");
        read.context_id = Some(context);
        Ok(page.evaluate_expression(read).await?.into_value()?)
    }

    pub async fn open(&mut self) -> Result<Value, Failure> {
        Ok(json!(self.work().await?.get_title().await?))
    }

    pub async fn navigate(&mut self) -> Result<Value, Failure> {
        let page = self.work().await?;
        page.goto(self.given.at("/next")).await?;
        Ok(json!(page.get_title().await?))
    }

    pub async fn screenshot(&mut self) -> Result<Value, Failure> {
        let page = self.work().await?;
        let picture = page.screenshot(ScreenshotParams::default()).await?;
        Ok(json!(STANDARD.encode(picture)))
    }

    pub async fn intercept(&mut self) -> Result<Value, Failure> {
        let page = self.work().await?;
        let mut paused = page.event_listener::<EventRequestPaused>().await?;
        let pattern = RequestPattern::builder().url_pattern("*/data").build();
        page.execute(EnableParams::builder().pattern(pattern).build())
            .await?;
        let answering = page.clone();
        let answer = tokio::spawn(async move {
            let Some(request) = paused.next().await else {
                return;
            };
            let mut answer = FulfillRequestParams::new(request.request_id.clone(), 200);
            answer.body = Some(STANDARD.encode("from the client").into());
            let _ = answering.execute(answer).await;
        });
        let fetched = page
            .evaluate("fetch('/data').then((response) => response.text())")
            .await?;
        answer.abort();
        page.execute(DisableParams::default()).await?;
        Ok(fetched.into_value()?)
    }

    pub async fn popup(&mut self) -> Result<Value, Failure> {
        let page = self.work().await?;
        page.find_element("#popup").await?.click().await?;
        let popup = self.page_at("/popup").await?;
        let title = popup.wait_for_navigation().await?.get_title().await?;
        popup.close().await?;
        Ok(json!(title))
    }

    pub async fn download(&mut self) -> Result<Value, Failure> {
        let page = self.work().await?;
        let mut progress = self
            .browser
            .event_listener::<EventDownloadProgress>()
            .await?;
        let behavior = SetDownloadBehaviorParams::builder()
            .behavior(SetDownloadBehaviorBehavior::AllowAndName)
            .download_path(self.given.folder.to_string_lossy())
            .events_enabled(true)
            .build()?;
        self.browser.execute(behavior).await?;
        page.find_element("#download").await?.click().await?;
        let completed = async {
            while let Some(event) = progress.next().await {
                if event.state == DownloadProgressState::Completed {
                    return Some(event.guid.clone());
                }
            }
            None
        };
        let guid = time::timeout(TIMEOUT, completed)
            .await
            .map_err(|_| "no download in time")?;
        let file = self.given.folder.join(guid.ok_or("no download")?);
        Ok(json!(tokio::fs::read_to_string(file).await?))
    }

    pub async fn cookies(&self) -> Result<Value, Failure> {
        let mut cookie = CookieParam::new("client", "set");
        cookie.url = Some(self.given.at("/"));
        self.browser.set_cookies(vec![cookie]).await?;
        let cookies = self.browser.get_cookies().await?;
        let mut pairs: Vec<_> = cookies
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        pairs.sort();
        Ok(json!(pairs.join(" ")))
    }

    pub async fn close(&mut self) -> Result<Value, Failure> {
        if let Some(page) = self.own.take() {
            page.close().await?;
        }
        Ok(json!(true))
    }

    /// Dropping everything closes the connection. `Browser::close` would end a browser on its own port.
    pub async fn disconnect(self) {
        self.handler.abort();
        let _ = self.handler.await;
    }
}
