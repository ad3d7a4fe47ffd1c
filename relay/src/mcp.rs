//! `tabwire mcp`, and its short forms for a shell: `exec`, `snapshot`, `screenshot`, `tabs`. What they do is in
//! `tabwire-mcp`; here it gets the home, the token and the gate.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use serde_json::json;
use tabwire_mcp::Settings;
use tabwire_mcp::exec::{self, Images, Run};

use crate::cli::{ExecOptions, McpOptions, ScreenshotOptions, SessionOptions, SnapshotOptions, TabsOptions};
use crate::home::Home;
use crate::serve::{StopSignals, explain_bind};
use crate::token::Token;
use crate::{guard, server};

/// Agents keep their connections, and a call may take its time.
const HTTP_CONNECTION_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);
/// For the short forms, which do one thing.
const SHORT_TIMEOUT: Duration = Duration::from_secs(30);
const EXIT_NOT_READY: u8 = 3;

pub async fn serve(options: &McpOptions) -> anyhow::Result<ExitCode> {
    let settings = Settings {
        idle: Duration::from_secs_f64(options.idle),
        output_limit: options.output_limit,
        image_limit: options.image_limit,
        ..settings(&options.session)?
    };
    if options.install {
        let folder = tabwire_mcp::install(&settings).await.map_err(|error| anyhow::anyhow!("{error}. {}", error.next()))?;
        println!("Ready: {}", folder.display());
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
    let token = Token::of(&Home::open()?)?;
    let listener = server::bind(port).await.map_err(|error| explain_bind(port, error))?;
    let port = listener.local_addr()?.port();
    let gate = from_fn(move |request: Request, next: Next| {
        let admitted = guard::admit_agent(port, &token, request.uri(), request.headers());
        async move {
            match admitted {
                Ok(()) => next.run(request).await,
                Err(refused) => refused.into_response(),
            }
        }
    });
    println!("Tabwire MCP on http://127.0.0.1:{port}/mcp. The token is in {}.", settings.home.join("auth-token").display());
    server::accept(listener, tabwire_mcp::http_routes(settings).layer(gate), HTTP_CONNECTION_WITHIN).await;
    Ok(())
}

pub async fn exec(options: &ExecOptions) -> anyhow::Result<ExitCode> {
    let run = Run {
        code: code(options)?,
        timeout: Duration::from_secs_f64(options.timeout),
        tab: options.tab.clone(),
        json: options.json,
        images: Images::Into(options.images.clone()),
    };
    run_once(&options.session, run).await
}

fn code(options: &ExecOptions) -> anyhow::Result<String> {
    if let Some(code) = &options.eval {
        return Ok(code.clone());
    }
    if let Some(file) = options.file.as_deref().filter(|file| file.as_os_str() != "-") {
        return std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    }
    let mut code = String::new();
    std::io::stdin().read_to_string(&mut code).context("cannot read the code from stdin")?;
    Ok(code)
}

pub async fn snapshot(options: &SnapshotOptions) -> anyhow::Result<ExitCode> {
    let (tab, images) = (Some(options.tab.clone()), Images::Into(".".into()));
    run_once(&options.session, Run { code: "snapshot()".into(), timeout: SHORT_TIMEOUT, tab, json: options.json, images }).await
}

pub async fn screenshot(options: &ScreenshotOptions) -> anyhow::Result<ExitCode> {
    let code = format!("await screenshot({})", json!({ "fullPage": options.full_page, "labels": options.labels }));
    let images = options.output.clone().map_or_else(|| Images::Into(".".into()), Images::File);
    run_once(&options.session, Run { code, timeout: SHORT_TIMEOUT, tab: Some(options.tab.clone()), json: options.json, images }).await
}

pub async fn tabs(options: &TabsOptions) -> anyhow::Result<ExitCode> {
    match exec::tabs(settings(&options.session)?, options.json).await {
        Ok(outcome) => Ok(outcome.exit_code().into()),
        Err(error) => {
            eprintln!("Error: {error}\nNext: {}", error.next());
            Ok(EXIT_NOT_READY.into())
        }
    }
}

async fn run_once(options: &SessionOptions, run: Run) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::new()?;
    let outcome = exec::run(settings(options)?, run, stop.recv()).await?;
    Ok(outcome.exit_code().into())
}

/// For a shell, where nothing is cut and nothing is scaled: it has files, and asked for all of it.
fn settings(options: &SessionOptions) -> anyhow::Result<Settings> {
    let home = Home::open()?;
    Ok(Settings {
        home: home.path().to_owned(),
        program: std::env::current_exe().context("this program does not know where it is")?,
        port: options.port,
        token: tabwire_mcp::Token(Token::of(&home)?.reveal().to_owned()),
        standby: Duration::from_secs_f64(options.standby),
        idle: Duration::ZERO,
        output_limit: usize::MAX >> 12,
        image_limit: usize::MAX >> 12,
        memory_mib: options.memory,
    })
}
