//! `tabwire mcp`: an MCP server on stdin and stdout, or over HTTP behind the guard. The server
//! itself is `tabwire-mcp`.

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONNECTION;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use clap::Args;
use tabwire_home::{Home, Token};
use tabwire_mcp::{InstalledBrowser, InstalledBrowsers, Server, Settings};

use crate::browser::detect::Installation;
use crate::commands::browsers;
use crate::commands::session::{SessionOptions, seconds};
use crate::error::Error;
use crate::http::guard::{self, Refusal, refusal};
use crate::http::listener::{self, Places, Serving};
use crate::http::peer::Owners;
use crate::memory::Memory;
use crate::signals::StopSignals;

/// Agents keep their connections open, and a call may take long.
const HTTP_CONNECTION_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone, Args)]
pub struct McpOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// Serve streamable HTTP at http://ADDRESS/mcp instead of stdin and stdout. Agents need the
    /// token
    #[arg(long, value_name = "127.0.0.1:PORT", value_parser = loopback)]
    pub http: Option<SocketAddrV4>,
    /// Release the browser after this many idle seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, value_parser = seconds)]
    pub idle: f64,
    /// Longest text of a response, in characters. An agent can request the rest
    #[arg(long, value_name = "CHARACTERS", default_value_t = 20_000)]
    pub output_limit: usize,
    /// Largest image of a response, in bytes. Larger ones are scaled down
    #[arg(long, value_name = "BYTES", default_value_t = 600_000)]
    pub image_limit: usize,
    /// Also offer tools that list, launch, stop and restart browsers
    #[arg(long)]
    pub browser_tools: bool,
    /// Install the packages that running code needs, then exit
    #[arg(long)]
    pub install: bool,
}

pub async fn run(options: &McpOptions) -> Result<ExitCode, Error> {
    let memory = Memory::watch();
    let settings = Settings {
        after_call: Arc::new(move |size| memory.on_message(size)),
        idle: Duration::from_secs_f64(options.idle),
        output_limit: options.output_limit,
        image_limit: Some(options.image_limit),
        browser_tools: options.browser_tools.then(|| {
            let installed: InstalledBrowsers = Arc::new(|| Box::pin(installed_browsers()));
            installed
        }),
        ..options.session.settings("tabwire mcp")?
    };
    if options.install {
        let folder = tabwire_mcp::install(&settings).await?;
        print_line!("Ready: {}", folder.display());
        return Ok(ExitCode::SUCCESS);
    }
    if options.http.is_none() && std::io::stdin().is_terminal() {
        eprintln!(
            "This is an MCP server on stdin and stdout. Add it to your agent with `tabwire setup` instead of running it here. Press Ctrl-C to stop."
        );
    }
    let mut stop = StopSignals::new()?;
    match options.http {
        None => tabwire_mcp::serve_stdio(settings, stop.recv()).await?,
        Some(address) => {
            let home = settings.home.clone();
            let server = Server::new(settings);
            let outcome = tokio::select! {
                outcome = serve_http(&server, home, address.port()) => outcome,
                () = stop.recv() => Ok(()),
            };
            server.finish().await;
            outcome?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn installed_browsers() -> Vec<InstalledBrowser> {
    let installed = browsers::installed().await.into_iter();
    let describe = |(browser, version): (Installation, Option<String>)| InstalledBrowser {
        name: browser.name.to_owned(),
        version,
        path: browser.path.display().to_string(),
        running: browser.running,
    };
    installed.map(describe).collect()
}

async fn serve_http(server: &Server, home: Home, port: u16) -> Result<(), Error> {
    let listener = listener::bind(port, "--http").await?;
    let port = listener.local_addr()?.port();
    print_line!(
        "Tabwire MCP server on http://127.0.0.1:{port}/mcp. The token is in {}.",
        home.auth_token_file().display()
    );
    let guard = from_fn(move |request: Request, next: Next| {
        let admitted = admit(&home, port, &request);
        async move {
            match admitted {
                Ok(()) => next.run(request).await,
                // Close the connection, so that it does not take the place of another.
                Err(refused) => ([(CONNECTION, "close")], refused).into_response(),
            }
        }
    });
    let routes = server.http_routes().layer(guard);
    let serving = Serving {
        routes,
        http_timeout: HTTP_CONNECTION_TIMEOUT,
        owners: Owners::WithProof,
        places: Places::new(),
    };
    listener::accept(listener, serving).await;
    Ok(())
}

fn admit(home: &Home, port: u16, request: &Request) -> Result<(), Refusal> {
    // Read each time: a user who replaces the token wants the old one to stop working.
    let token = Token::load(home).map_err(|error| {
        tracing::warn!("Requests are refused: {error}");
        refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Cannot read the token in Tabwire's home.",
        )
    })?;
    guard::admit_agent(port, &token, request)
}

/// Tabwire never listens on the network.
fn loopback(text: &str) -> Result<SocketAddrV4, String> {
    let address = text
        .parse::<SocketAddrV4>()
        .map_err(|_| "must be an address such as 127.0.0.1:19333".to_owned())?;
    if *address.ip() == Ipv4Addr::LOCALHOST {
        Ok(address)
    } else {
        Err("Tabwire listens on 127.0.0.1 only".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_address_must_be_loopback() {
        assert!(loopback("127.0.0.1:4000").is_ok());
        for elsewhere in ["0.0.0.0:4000", "192.0.2.1:4000", "127.0.0.2:4000", "4000"] {
            assert!(loopback(elsewhere).is_err(), "{elsewhere}");
        }
    }
}
