//! A client inside this process: sends CDP requests to a hub and reads the replies, without a
//! socket.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::outbox::{Drain, outbox};
use crate::hub::{ConnectedTo, HubSender, ToHub, ToInbox};
use crate::registry::clients::ClientSlot;

/// The relay gives up on pages by itself; this is for navigations that a server never answers, and for
/// an extension that does not respond.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct LocalClient {
    slot: ClientSlot,
    hub: ToInbox,
    messages: Drain,
    last_id: i64,
}

pub enum RequestError {
    Cdp { message: String },
    Disconnected,
}

/// Why there is no outcome.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfinished {
    TimedOut,
    Failed,
}

#[derive(Deserialize)]
struct Message {
    id: Option<i64>,
    #[serde(default)]
    result: Value,
    error: Option<CdpError>,
}

#[derive(Deserialize)]
struct CdpError {
    message: String,
}

impl LocalClient {
    /// Connects, works for a limited time, and disconnects, even if whoever waits for it has left.
    pub async fn run<T: Send + 'static>(
        slot: ClientSlot,
        hub: HubSender,
        limit: usize,
        work: impl FnOnce(&mut Self) -> BoxFuture<'_, T> + Send + 'static,
    ) -> Result<T, Unfinished> {
        let running = tokio::spawn(async move {
            let mut client = Self::connect(slot, hub.for_client(), limit).await;
            let outcome = tokio::time::timeout(TIMEOUT, work(&mut client)).await;
            client.close().await;
            outcome.map_err(|_| Unfinished::TimedOut)
        });
        running.await.unwrap_or(Err(Unfinished::Failed))
    }

    async fn connect(slot: ClientSlot, hub: ToInbox, limit: usize) -> Self {
        let (outbox, messages) = outbox(limit);
        slot.open(outbox.clone());
        let _ = hub
            .send(ToHub::ClientOpened(
                slot.client,
                ConnectedTo::Request,
                outbox,
            ))
            .await;
        Self {
            slot,
            hub,
            messages,
            last_id: 0,
        }
    }

    /// Sends a request and waits for its reply. Events are skipped.
    pub async fn request(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, RequestError> {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if let (Some(session), Some(request)) = (session, request.as_object_mut()) {
            request.insert("sessionId".to_owned(), session.into());
        }
        let text = ToHub::ClientText(self.slot.client, request.to_string());
        let sent = self.hub.send(text).await;
        sent.map_err(|_| RequestError::Disconnected)?;
        while let Some(text) = self.messages.next_text().await {
            match serde_json::from_str::<Message>(&text) {
                Ok(message) if message.id == Some(self.last_id) => {
                    return match message.error {
                        Some(CdpError { message }) => Err(RequestError::Cdp { message }),
                        None => Ok(message.result),
                    };
                }
                _ => {}
            }
        }
        Err(RequestError::Disconnected)
    }

    async fn close(self) {
        let _ = self.hub.send(ToHub::ClientClosed(self.slot)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::ClientMode;
    use crate::http::guard::Admission;
    use crate::hub::inbox;
    use crate::registry::clients::{ClientInfo, Clients};
    use crate::registry::connections::Connections;

    #[tokio::test(start_paused = true)]
    async fn request_that_is_never_answered_ends_and_frees_its_slot() {
        let connections = Connections::new(
            ClientMode::SingleActive,
            Arc::default(),
            Arc::default(),
            Arc::default(),
        );
        let connections = Arc::new(connections);
        let info = ClientInfo {
            name: String::new(),
            names_itself: false,
            process: None,
            peer: None,
            admission: Admission::Token { generation: 1 },
            identity: None,
            named_browser: false,
        };
        let slot = Clients::take_slot(&connections, info).unwrap();
        let (hub, mut messages) = inbox();
        let running = LocalClient::run(slot, hub, 1 << 10, |client| {
            Box::pin(client.request(None, "Some.method", json!({})))
        });
        assert_eq!(running.await.err(), Some(Unfinished::TimedOut));
        let mut received = Vec::new();
        while let Some(message) = messages.next().await {
            received.push(match message {
                ToHub::ClientOpened(..) => "opened",
                ToHub::ClientText(..) => "text",
                ToHub::ClientClosed(_) => "closed",
                _ => "other",
            });
        }
        assert_eq!(received, ["opened", "text", "closed"]);
        assert_eq!(connections.client_count(), 0);
    }
}
