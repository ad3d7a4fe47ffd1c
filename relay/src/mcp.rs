//! `tabwire mcp`, and its short forms for a shell: `exec`, `snapshot`, `screenshot`, `tabs`. What they do is in
//! `tabwire-mcp`; here it gets the home, the token and the gate.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONNECTION;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use serde_json::json;
use tabwire_mcp::exec::{self, Images, Run, Text};
use tabwire_mcp::{Error, Settings};

use crate::cli::{
    ExecOptions, McpOptions, PictureKind, ScreenshotOptions, SessionOptions, SnapshotOptions,
    TabsOptions,
};
use crate::home::Home;
use crate::memory::Memory;
use crate::serve::{StopSignals, explain_bind};
use crate::token::Token;
use crate::{guard, server};

/// Agents keep their connections, and a call may take its time.
const HTTP_CONNECTION_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);
/// For the short forms, which do one thing.
const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

pub async fn serve(options: &McpOptions) -> anyhow::Result<ExitCode> {
    let memory = Memory::look_after();
    let settings = Settings {
        after_call: Arc::new(move |size| memory.on_message(size)),
        idle: Duration::from_secs_f64(options.idle),
        output_limit: options.output_limit,
        image_limit: Some(options.image_limit),
        ..settings(&options.session)?
    };
    if options.install {
        let folder = tabwire_mcp::install(&settings)
            .await
            .map_err(|error| anyhow::anyhow!("{error}. {}", error.next()))?;
        say!("Ready: {}", folder.display());
        return Ok(ExitCode::SUCCESS);
    }
    if options.http.is_none() && std::io::stdin().is_terminal() {
        eprintln!(
            "This speaks MCP on stdin and stdout: an agent starts it. README, For agents, says how to add it to yours. Ctrl-C stops."
        );
    }
    let mut stop = StopSignals::new()?;
    let served = async {
        match options.http {
            Some(address) => serve_http(settings, address.port()).await,
            None => Ok(tabwire_mcp::serve_stdio(settings).await?),
        }
    };
    tokio::select! {
        outcome = served => outcome?,
        () = stop.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(settings: Settings, port: u16) -> anyhow::Result<()> {
    let home = Home::open()?;
    Token::of(&home)?;
    let listener = server::bind(port)
        .await
        .map_err(|error| explain_bind(port, error))?;
    let port = listener.local_addr()?.port();
    let gate = from_fn(move |request: Request, next: Next| {
        // As it is now: whoever makes a new one wants the one before to open nothing.
        let token = Token::read(&home);
        async move {
            let admitted = match &token {
                Ok(token) => guard::admit_agent(port, token, request.uri(), request.headers())
                    .map_err(IntoResponse::into_response),
                Err(error) => {
                    tracing::warn!("nobody is let in: {error:#}");
                    Err((
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "the token of Tabwire's home cannot be read",
                    )
                        .into_response())
                }
            };
            match admitted {
                Ok(()) => next.run(request).await,
                // One that is not let in has no use for its connection, and may not keep a place.
                Err(refused) => ([(CONNECTION, "close")], refused).into_response(),
            }
        }
    });
    say!(
        "Tabwire MCP on http://127.0.0.1:{port}/mcp. The token is in {}.",
        settings.home.join("auth-token").display()
    );
    server::accept(
        listener,
        tabwire_mcp::http_routes(settings).layer(gate),
        HTTP_CONNECTION_WITHIN,
    )
    .await;
    Ok(())
}

pub async fn exec(options: &ExecOptions) -> anyhow::Result<ExitCode> {
    let code = match code(options) {
        Ok(code) => code,
        Err(error) => return Ok(exec::fail(error, options.json).exit_code().into()),
    };
    let run = Run {
        code,
        timeout: Duration::from_secs_f64(options.timeout),
        tab: options.tab.clone(),
        json: options.json,
        images: Images::Into(options.images.clone()),
        text: Text::Answer,
    };
    run_once(&options.session, run).await
}

fn code(options: &ExecOptions) -> Result<String, Error> {
    if let Some(code) = &options.eval {
        return Ok(code.clone());
    }
    let file = options
        .file
        .as_deref()
        .filter(|file| file.as_os_str() != "-");
    let read = file.map_or_else(
        || std::io::read_to_string(std::io::stdin()),
        std::fs::read_to_string,
    );
    read.map_err(|reason| Error::Unreadable {
        what: file.map_or("stdin".into(), |file| file.display().to_string()),
        reason,
    })
}

pub async fn snapshot(options: &SnapshotOptions) -> anyhow::Result<ExitCode> {
    let run = Run {
        code: "snapshot()".into(),
        timeout: SHORT_TIMEOUT,
        tab: Some(options.tab.clone()),
        json: options.json,
        images: Images::Into(".".into()),
        text: Text::Answer,
    };
    run_once(&options.session, run).await
}

pub async fn screenshot(options: &ScreenshotOptions) -> anyhow::Result<ExitCode> {
    let (kind, images) = match &options.output {
        Some(output) => (output.kind, Images::File(output.path.clone())),
        None => (PictureKind::Png, Images::Into(".".into())),
    };
    let what =
        json!({ "fullPage": options.full_page, "labels": options.labels, "type": kind.name() });
    let run = Run {
        code: format!("await screenshot({what})"),
        timeout: SHORT_TIMEOUT,
        tab: Some(options.tab.clone()),
        json: options.json,
        images,
        text: Text::Notes,
    };
    run_once(&options.session, run).await
}

pub async fn tabs(options: &TabsOptions) -> anyhow::Result<ExitCode> {
    let outcome = match settings(&options.session) {
        Ok(settings) => exec::tabs(settings, options.json).await,
        Err(error) => exec::fail(error, options.json),
    };
    Ok(outcome.exit_code().into())
}

async fn run_once(options: &SessionOptions, run: Run) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::new()?;
    let outcome = match settings(options) {
        Ok(settings) => exec::run(settings, run, stop.recv()).await,
        Err(error) => exec::fail(error, run.json),
    };
    Ok(outcome.exit_code().into())
}

/// For a shell, where nothing is cut and nothing is scaled: it has files, and asked for all of it.
fn settings(options: &SessionOptions) -> Result<Settings, Error> {
    let unusable = |error: anyhow::Error| Error::Home(std::io::Error::other(format!("{error:#}")));
    let home = Home::open().map_err(unusable)?;
    let folder = home.path().to_owned();
    let token = move || {
        Ok(tabwire_mcp::Token(
            Token::of(&home).map_err(unusable)?.reveal().to_owned(),
        ))
    };
    token()?;
    Ok(Settings {
        home: folder,
        program: std::env::current_exe()?,
        port: options.port,
        token: Arc::new(token),
        standby: Duration::from_secs_f64(options.standby),
        idle: Duration::ZERO,
        output_limit: usize::MAX >> 12,
        image_limit: None,
        memory_mib: options.memory,
        after_call: Arc::new(|_| {}),
    })
}
