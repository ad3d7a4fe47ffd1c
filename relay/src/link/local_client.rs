//! A client inside this process: sends CDP requests to a hub and reads the replies, without a
//! socket.

use serde::Deserialize;
use serde_json::{Value, json};

use super::outbox::{Drain, outbox};
use crate::hub::{ConnectedTo, HubSender, ToHub};
use crate::registry::clients::ClientSlot;

pub struct LocalClient {
    slot: ClientSlot,
    hub: HubSender,
    messages: Drain,
    last_id: i64,
}

pub enum RequestError {
    Cdp { message: String },
    Disconnected,
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
    /// Call `close` when done.
    pub async fn connect(slot: ClientSlot, hub: HubSender, limit: usize) -> Self {
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

    pub async fn close(self) {
        let _ = self.hub.send(ToHub::ClientClosed(self.slot.client)).await;
    }
}
