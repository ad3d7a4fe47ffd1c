//! The MCP server: routes tool calls to the one session that all its connections share, and
//! releases the browser when no calls come in.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::browser_tools::{self, BrowserCall};
use crate::browsers::Browsers;
use crate::error::{Audience, Error};
use crate::http_sessions::HttpSessions;
use crate::opening::FromFirstRequest;
use crate::progress::Progress;
use crate::response::Response;
use crate::session::Session;
use crate::tools::{self, ExecuteArguments};
use crate::{Settings, relay, stdin};

/// How long closing the agent's tabs may take when it has gone.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// Clones share one session, so that an agent finds its page again over any connection.
#[derive(Clone)]
pub struct Server {
    settings: Settings,
    session: Arc<Mutex<Session>>,
    browsers: Arc<Browsers>,
    /// Notifies running and queued calls of a reset.
    resets: watch::Sender<()>,
    /// The task that releases the browser when the server becomes idle; at most one.
    release: Arc<Mutex<Option<JoinHandle<()>>>>,
    /// Over HTTP, the agents that are connected.
    http: Option<Arc<HttpSessions>>,
}

/// Serves the agent on stdin and stdout until it disconnects, or until `stop`.
pub async fn serve_stdio(
    settings: Settings,
    stop: impl Future<Output = ()>,
) -> Result<(), std::io::Error> {
    let server = Server::new(settings);
    let serving = async {
        let (input, output) = rmcp::transport::stdio_pipes();
        let transport = AsyncRwTransport::new_server(stdin::parseable(input), output);
        let starting = server.clone().serve(FromFirstRequest::new(transport));
        let running = match starting.await {
            Ok(running) => running,
            // An agent may disconnect before it initializes.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(std::io::Error::other(error)),
        };
        running.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = serving => outcome,
        () = stop => Ok(()),
    };
    server.finish().await;
    outcome
}

impl Server {
    pub fn new(settings: Settings) -> Self {
        let session = Session::new(settings.clone(), Audience::Agent);
        let early = settings.clone();
        // The extension needs a moment to find a new relay. Start it now, so that the first call
        // does not have to wait.
        tokio::spawn(async move {
            if let Err(error) = relay::ensure_started(&early, &Progress::silent()).await {
                tracing::warn!("{error} {}", error.remedy(Audience::ShellUser));
            }
        });
        Self {
            browsers: Arc::new(Browsers::new(settings.clone(), session.current_browser())),
            settings,
            session: Arc::new(Mutex::new(session)),
            resets: watch::Sender::new(()),
            release: Arc::default(),
            http: None,
        }
    }

    /// Streamable HTTP at `/mcp`. The caller must guard it: host, origin and token. All connections
    /// share one page and one state, and their tabs are closed when the last agent has gone.
    pub fn http_routes(&self) -> Router {
        let server = self.clone();
        let when_empty = move || {
            let server = server.clone();
            async move { server.finish().await }.boxed()
        };
        let sessions = Arc::new(HttpSessions::new(when_empty));
        let mut server = self.clone();
        server.http = Some(sessions.clone());
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            sessions,
            StreamableHttpServerConfig::default(),
        );
        Router::new().route_service("/mcp", service)
    }

    async fn execute(
        &self,
        arguments: ExecuteArguments,
        context: &RequestContext<RoleServer>,
    ) -> Response {
        let progress = Progress::of_request(context);
        let mut resets = self.resets.subscribe();
        let mut session = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Error::Cancelled.into(),
            _ = resets.changed() => return Error::ResetBefore.into(),
            session = self.session.lock() => session,
        };
        if let Some(agent) = agent_name(context) {
            session.set_agent(agent);
        }
        let interrupted = async {
            tokio::select! {
                () = context.ct.cancelled() => Error::Cancelled,
                _ = resets.changed() => Error::Reset,
            }
        };
        let response = tokio::select! {
            biased;
            error = interrupted => {
                session.abort_call().await;
                error.into()
            }
            response = session.execute(&arguments.code, arguments.timeout(), &progress) => response,
        };
        drop(session);
        (self.settings.after_call)(arguments.code.len() + response.size());
        self.release_when_idle().await;
        response
    }

    /// Does not wait for running code, and cancels calls that are queued before it.
    async fn reset(&self, context: &RequestContext<RoleServer>) -> Response {
        self.resets.send_replace(());
        let progress = Progress::of_request(context);
        let mut session = tokio::select! {
            session = self.session.lock() => session,
            () = context.ct.cancelled() => return Error::Cancelled.into(),
        };
        let response = tokio::select! {
            response = session.reset(&progress) => response,
            () = context.ct.cancelled() => {
                // Half connected is not connected. The next call needs no note: a reset drops the
                // state anyway.
                session.end_worker().await;
                Error::Cancelled.into()
            }
        };
        drop(session);
        self.release_when_idle().await;
        response
    }

    /// The agent has gone: stops its code and closes its tabs.
    pub async fn finish(&self) {
        self.resets.send_replace(());
        let finishing = async { self.session.lock().await.finish().await };
        let _ = tokio::time::timeout(FINISH_TIMEOUT, finishing).await;
    }

    fn has_browser_tools(&self) -> bool {
        self.settings.browser_tools.is_some()
    }

    fn browser_call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Option<Result<BrowserCall, Error>> {
        let is_offered = self.has_browser_tools();
        is_offered.then(|| BrowserCall::parse(tool, arguments))?
    }

    /// Does not wait for running code, which may be what the agent wants to end.
    async fn manage_browsers(
        &self,
        call: BrowserCall,
        context: &RequestContext<RoleServer>,
    ) -> Response {
        let progress = Progress::of_request(context);
        let result = self.browsers.call(call, &progress).await;
        result.map_or_else(Response::from, Response::text)
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let mut tools = vec!["execute", "reset"];
        if self.has_browser_tools() {
            tools.extend(browser_tools::NAMES);
        }
        let tools = tools.join(", ");
        let text = format!("Unknown tool '{name}'. Available tools: {tools}.");
        ErrorData::invalid_params(text, None)
    }

    async fn release_when_idle(&self) {
        let (session, idle) = (self.session.clone(), self.settings.idle);
        let release = tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            // A call that holds the session schedules its own release when it is done.
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
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = tools::list();
        if self.has_browser_tools() {
            tools.extend(browser_tools::list());
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = match &self.http {
            Some(sessions) if !has_session(&context) => {
                Some(sessions.begin_without_session().await)
            }
            _ => None,
        };
        let arguments = request.arguments.unwrap_or_default();
        let response = match request.name.as_ref() {
            "execute" => match ExecuteArguments::parse(arguments) {
                Ok(arguments) => self.execute(arguments, &context).await,
                Err(error) => error.into(),
            },
            "reset" => self.reset(&context).await,
            other => match self.browser_call(other, arguments) {
                Some(Ok(call)) => self.manage_browsers(call, &context).await,
                Some(Err(error)) => error.into(),
                None => return Err(self.unknown_tool(other)),
            },
        };
        Ok(to_tool_result(response, self.has_browser_tools()).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method != stdin::UNPARSEABLE {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let reason = params
            .as_ref()
            .and_then(|params| params["reason"].as_str())
            .unwrap_or_default();
        Err(ErrorData::parse_error(
            format!("Cannot parse this message: {reason}."),
            None,
        ))
    }
}

/// Over HTTP, the SDK serves a request that describes its client without a session.
fn has_session(context: &RequestContext<RoleServer>) -> bool {
    let missing = context
        .meta
        .missing_required_keys(&ProtocolVersion::V_2026_07_28);
    !missing.is_empty()
}

/// What the agent's host calls itself, such as `claude-code 2.1`.
fn agent_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let info = context.peer.peer_info()?;
    let Implementation { name, version, .. } = &info.client_info;
    Some(format!("{name} {version}"))
}

fn to_tool_result(response: Response, has_browser_tools: bool) -> CallToolResult {
    let mut report = response
        .failure
        .map(|failure| failure.report(Audience::Agent));
    if let Some(report) = report.as_mut().filter(|_| has_browser_tools) {
        browser_tools::add_remedy(report);
    }
    let mut text = response.text;
    if let Some(report) = &report {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&report.text());
    } else if text.is_empty() && response.images.is_empty() {
        text.push_str(if response.has_value {
            "The value is an empty string."
        } else {
            "Done; no value."
        });
    }
    let text = (!text.is_empty()).then(|| ContentBlock::text(text));
    let images = response
        .images
        .into_iter()
        .map(|image| ContentBlock::image(image.data, image.mime_type));
    let content = text.into_iter().chain(images).collect();
    match report {
        None => CallToolResult::success(content),
        Some(report) => {
            let mut result = CallToolResult::error(content);
            result.structured_content = Some(json!({ "error": report }));
            result
        }
    }
}
