//! The MCP server: two tools, their words, and their way to the session.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::Settings;
use crate::answer::Answer;
use crate::errors::Error;
use crate::progress::Progress;
use crate::relay;
use crate::session::Session;
use crate::stdin;

const DEFAULT_TIMEOUT_S: f64 = 30.0;
const TIMEOUT_S: RangeInclusive<f64> = 0.1..=600.0;
const LONGEST_REASON: usize = 200;
/// How long nothing may come from an agent over HTTP until its connection is forgotten. A call that runs counts for nothing
/// there, and a person may be at lunch.
const HTTP_SESSION_WITHIN: Duration = Duration::from_secs(8 * 60 * 60);

const INSTRUCTIONS: &str = "Drives the person's own browser, with their logins and tabs. Look with snapshot(), act by its refs, look again with \
snapshot({diff: true}). Their tabs are theirs: work in your own `page` unless asked; take one over with `page = pages().find(p => p.url().includes('…'))`.";

const EXECUTE: &str = "Run Playwright JavaScript in the person's browser. Top-level await; the value of the last expression (or `return`) and console output come back.
In scope:
- page: the tab in use, kept between calls; `page = …` changes it. None in use: a new background tab
- context, browser: Playwright's. pages(): all tabs
- state: an object kept between calls (variables are not)
- snapshot(locator?, {diff, depth}): text of the accessibility tree; act on its refs with page.locator('aria-ref=e5'). diff: only what changed
- screenshot(locator?, {fullPage, labels}): adds a picture; labels: draws the refs
Example: await page.goto('https://example.com'); snapshot()";

const RESET: &str = "Start afresh: a new connection, empty `state`; lists the tabs and the page in use. For when execute keeps failing for no reason of the code.";

/// The handler; clones share one session, so that an agent finds its page again whichever connection it comes by.
#[derive(Clone)]
pub struct Server {
    settings: Settings,
    session: Arc<Mutex<Session>>,
    /// Tells the code that runs, and what waits for its turn, that a reset has come.
    resets: watch::Sender<()>,
    /// The release that waits for the server to be idle; there is one at most.
    release: Arc<Mutex<Option<JoinHandle<()>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecuteArguments {
    code: String,
    /// In seconds.
    timeout: Option<f64>,
}

impl ExecuteArguments {
    fn of(arguments: JsonObject) -> Result<Self, Error> {
        // The words repeat what was given, however long that is.
        let wrong = |error: serde_json::Error| {
            Error::Arguments(error.to_string().chars().take(LONGEST_REASON).collect())
        };
        let arguments: Self = serde_json::from_value(Value::Object(arguments)).map_err(wrong)?;
        match arguments.timeout {
            Some(timeout) if !TIMEOUT_S.contains(&timeout) => Err(Error::Arguments(format!(
                "a timeout of {timeout:?} seconds"
            ))),
            _ => Ok(arguments),
        }
    }
}

/// Serves the agent at the other end of stdin and stdout, until it goes.
pub async fn serve_stdio(settings: Settings) -> Result<(), std::io::Error> {
    let server = Server::new(settings);
    let (input, output) = rmcp::transport::stdio_pipes();
    let running = match server.serve((stdin::readable(input), output)).await {
        Ok(running) => running,
        // An agent that goes before it has said hello is no fault.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(std::io::Error::other(error)),
    };
    running.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}

/// The same by streamable HTTP at `/mcp`. Whoever serves this stands before it with the gate: host, origin and token.
/// All who connect share one page and one state.
pub fn http_routes(settings: Settings) -> Router {
    let server = Server::new(settings);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(HTTP_SESSION_WITHIN);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(sessions),
        StreamableHttpServerConfig::default(),
    );
    Router::new().route_service("/mcp", service)
}

impl Server {
    fn new(settings: Settings) -> Self {
        let session = Arc::new(Mutex::new(Session::new(settings.clone())));
        let early = settings.clone();
        // The extension needs a moment to find a new relay; the first call shall not have to wait for it.
        tokio::spawn(async move {
            if let Err(error) = relay::ensure_started(&early, &Progress::silent()).await {
                tracing::warn!("{error}. {}", error.next());
            }
        });
        Self {
            settings,
            session,
            resets: watch::Sender::new(()),
            release: Arc::default(),
        }
    }

    async fn execute(
        &self,
        arguments: ExecuteArguments,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let limit = Duration::from_secs_f64(arguments.timeout.unwrap_or(DEFAULT_TIMEOUT_S));
        let progress = Progress::of_request(context);
        let mut resets = self.resets.subscribe();
        let mut session = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Error::Cancelled.into(),
            _ = resets.changed() => return Error::ResetBefore.into(),
            session = self.session.lock() => session,
        };
        let given_up = async {
            tokio::select! {
                () = context.ct.cancelled() => Error::Cancelled,
                _ = resets.changed() => Error::Reset,
            }
        };
        let answer = tokio::select! {
            biased;
            given_up = given_up => {
                session.abandon().await;
                given_up.into()
            }
            answer = session.execute(&arguments.code, limit, &progress) => answer,
        };
        drop(session);
        (self.settings.after_call)(arguments.code.len() + answer.size());
        self.release_when_idle().await;
        answer
    }

    /// Does not wait for the code that runs, and lets none run that came before.
    async fn reset(&self, context: &RequestContext<RoleServer>) -> Answer {
        self.resets.send_replace(());
        let progress = Progress::of_request(context);
        let mut session = tokio::select! {
            session = self.session.lock() => session,
            () = context.ct.cancelled() => return Error::Cancelled.into(),
        };
        let answer = tokio::select! {
            answer = session.reset(&progress) => answer,
            () = context.ct.cancelled() => {
                // Half connected is not connected. There is nothing to tell of it: the state was to go.
                session.end_worker().await;
                Error::Cancelled.into()
            }
        };
        drop(session);
        self.release_when_idle().await;
        answer
    }

    async fn release_when_idle(&self) {
        let (session, idle) = (self.session.clone(), self.settings.idle);
        let release = tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            // A call that holds the session sets its own release when it is done.
            if let Ok(mut session) = session.try_lock() {
                session.release().await;
            }
        });
        if let Some(earlier) = self.release.lock().await.replace(release) {
            earlier.abort();
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let identity =
            Implementation::new("tabwire", env!("CARGO_PKG_VERSION")).with_title("Tabwire");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(identity)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match request.name.as_ref() {
            "execute" => match ExecuteArguments::of(request.arguments.unwrap_or_default()) {
                Ok(arguments) => self.execute(arguments, &context).await,
                Err(error) => error.into(),
            },
            "reset" => self.reset(&context).await,
            other => {
                return Err(ErrorData::invalid_params(
                    format!("there is no tool '{other}'; there are execute and reset"),
                    None,
                ));
            }
        };
        Ok(to_result(answer).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method != stdin::UNREADABLE {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let reason = params
            .as_ref()
            .and_then(|params| params["reason"].as_str())
            .unwrap_or_default();
        Err(ErrorData::parse_error(
            format!("this message cannot be read: {reason}"),
            None,
        ))
    }
}

fn tools() -> Vec<Tool> {
    let execute = json!({
        "type": "object",
        "properties": {
            "code": { "type": "string" },
            "timeout": { "type": "number", "minimum": TIMEOUT_S.start(), "maximum": TIMEOUT_S.end(), "description": "seconds, default 30; then the code is ended and state lost" },
        },
        "required": ["code"],
    });
    let hints = |title: &str| {
        ToolAnnotations::with_title(title)
            .read_only(false)
            .open_world(true)
    };
    vec![
        Tool::new("execute", EXECUTE, object(execute)).with_annotations(
            hints("Run code in the browser")
                .destructive(true)
                .idempotent(false),
        ),
        Tool::new(
            "reset",
            RESET,
            object(json!({ "type": "object", "properties": {} })),
        )
        .with_annotations(
            hints("Reconnect to the browser")
                .destructive(false)
                .idempotent(true),
        ),
    ]
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::default(),
    }
}

fn to_result(answer: Answer) -> CallToolResult {
    let mut words = answer.text;
    if let Some(failure) = &answer.failure {
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(&failure.words());
    } else if words.is_empty() && answer.images.is_empty() {
        words.push_str("done; no value");
    }
    let text = (!words.is_empty()).then(|| ContentBlock::text(words));
    let images = answer
        .images
        .into_iter()
        .map(|image| ContentBlock::image(image.data, image.mime_type));
    let content = text.into_iter().chain(images).collect();
    match answer.failure {
        None => CallToolResult::success(content),
        Some(failure) => {
            let mut result = CallToolResult::error(content);
            result.structured_content = Some(json!({ "error": failure }));
            result
        }
    }
}
