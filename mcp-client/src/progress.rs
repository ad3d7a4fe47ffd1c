//! Progress reports while a call runs: MCP notifications for an agent, lines on stderr for a shell
//! user.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tabwire_home::on_terminal;

const NOTIFY_TIMEOUT: Duration = Duration::from_millis(100);

pub struct Progress {
    receiver: Receiver,
    /// MCP requires a number that grows with every notification.
    count: AtomicU32,
}

enum Receiver {
    Agent(Peer<RoleServer>, ProgressToken),
    Stderr,
    None,
}

impl Progress {
    /// Reports to the agent that sent a request, if it asked for progress.
    pub fn of_request(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self::new(token.map_or(Receiver::None, |token| {
            Receiver::Agent(context.peer.clone(), token)
        }))
    }

    pub fn stderr() -> Self {
        Self::new(Receiver::Stderr)
    }

    pub fn silent() -> Self {
        Self::new(Receiver::None)
    }

    fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            count: AtomicU32::new(0),
        }
    }

    /// A step that every reader should see; it is logged if nobody asked for progress.
    pub async fn step(&self, text: &str) {
        if matches!(self.receiver, Receiver::Stderr) {
            // stderr may be closed.
            let mut stderr = std::io::stderr();
            let text = on_terminal(&stderr, text);
            let _ = writeln!(stderr, "tabwire: {text}");
        } else {
            tracing::info!("{text}");
        }
        self.notify(text).await;
    }

    /// A sign of life, for agents only.
    pub async fn notify(&self, text: &str) {
        if let Receiver::Agent(peer, token) = &self.receiver {
            let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            let notification =
                ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(text);
            // An agent that has disconnected or does not read must not block the call.
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, peer.notify_progress(notification)).await;
        }
    }
}
