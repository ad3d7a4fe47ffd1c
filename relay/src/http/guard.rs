//! Decides which requests are admitted, in front of every route and every upgrade. It looks only at
//! the request, its peer, the token and the configuration.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Extensions, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tabwire_home::Token;

use crate::app::App;
use crate::config::Config;
use crate::http::entrance::Entrance;
use crate::http::peer::Peer;

pub mod open_port;
mod program;
mod rules;

pub use rules::{Refusal, refusal, refusal_with};

use rules::{Rules, presented_token};

/// What admitted a request. Requests that needed nothing do not have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The token. Counts the tokens this relay has had.
    Token { generation: u64 },
    /// The open port, by the id of its opening.
    OpenPort(u64),
}

pub async fn check(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let token = presented_token(request.uri(), request.headers());
    let token = token.and_then(|token| app.secrets.check_token(&token));
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let rules = rules_of(&app.config);
    let admitted = check_owner(uri, request.extensions())
        .and_then(|()| rules::admit(rules, method, uri, headers, token.is_some()));
    match admitted {
        Ok(()) => {
            if let Some(generation) = token {
                request
                    .extensions_mut()
                    .insert(Admission::Token { generation });
            }
            let entrance = Entrance::main(app.config.port);
            request.extensions_mut().insert(entrance);
            next.run(request).await
        }
        Err(refused) => refuse(&request, refused),
    }
}

fn rules_of(config: &Config) -> Rules<'_> {
    Rules {
        port: config.port,
        extension_ids: &config.extension_ids,
        debug_http: config.debug_http,
    }
}

fn refuse(request: &Request, refused: Refusal) -> Response {
    tracing::debug!(path = request.uri().path(), status = %refused.0, "request refused");
    // Close the connection, so that it does not take the place of another.
    ([(header::CONNECTION, "close")], refused).into_response()
}

/// The extension authenticates itself after the upgrade, and `/` contains nothing private. For
/// everything else the owner of the connection must be known.
fn check_owner(uri: &Uri, extensions: &Extensions) -> Result<(), Refusal> {
    match uri.path().trim_end_matches('/') {
        "" | "/extension" => Ok(()),
        _ => refuse_unknown_owner(extensions),
    }
}

/// Refuses the peers that the listener serves only in WSL.
fn refuse_unknown_owner(extensions: &Extensions) -> Result<(), Refusal> {
    let peer = extensions.get::<Peer>();
    if peer.is_some_and(|peer| !peer.is_restricted()) {
        return Ok(());
    }
    Err(refusal(
        StatusCode::FORBIDDEN,
        "The user at the other end of this connection is unknown. With mirrored networking in WSL, Windows programs cannot be identified, so only the Tabwire extension may connect from there. Run this client inside WSL.",
    ))
}

/// Guards `tabwire mcp --http`.
pub fn admit_agent(port: u16, token: &Token, request: &Request) -> Result<(), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    refuse_unknown_owner(request.extensions())?;
    let presented = presented_token(uri, headers);
    let has_token = presented.is_some_and(|presented| token.matches(&presented));
    rules::admit_agent(port, uri, headers, has_token)
}

#[cfg(test)]
mod tests;
