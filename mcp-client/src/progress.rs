//! Telling the one who waits what is being done: an agent by MCP progress, a person on stderr.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

const NOTIFY_WITHIN: Duration = Duration::from_millis(100);

pub struct Progress {
    to: Listener,
    /// MCP wants a number that grows with every word.
    said: AtomicU32,
}

enum Listener {
    Agent(Peer<RoleServer>, ProgressToken),
    Stderr,
    Nobody,
}

impl Progress {
    /// To the agent that made a request, if it asked for progress.
    pub fn of_request(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self::to(token.map_or(Listener::Nobody, |token| {
            Listener::Agent(context.peer.clone(), token)
        }))
    }

    pub fn stderr() -> Self {
        Self::to(Listener::Stderr)
    }

    pub fn silent() -> Self {
        Self::to(Listener::Nobody)
    }

    fn to(to: Listener) -> Self {
        Self {
            to,
            said: AtomicU32::new(0),
        }
    }

    /// Something that is worth knowing wherever one looks.
    pub async fn step(&self, text: &str) {
        if matches!(self.to, Listener::Stderr) {
            // Nobody may be reading.
            let _ = writeln!(std::io::stderr(), "tabwire: {text}");
        } else {
            tracing::info!("{text}");
        }
        self.notify(text).await;
    }

    /// A sign of life, for an agent only.
    pub async fn notify(&self, text: &str) {
        if let Listener::Agent(peer, token) = &self.to {
            let number = self.said.fetch_add(1, Ordering::Relaxed) + 1;
            let words =
                ProgressNotificationParam::new(token.clone(), f64::from(number)).with_message(text);
            // An agent that has gone, or does not read, holds nothing up.
            let _ = tokio::time::timeout(NOTIFY_WITHIN, peer.notify_progress(words)).await;
        }
    }
}
