//! A CDP client that a test speaks through. It reads only when it is asked to, so it can also be one that does not read.

use std::collections::VecDeque;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::link::{self, Socket};
use crate::{Relay, within};

/// `result`, or the `error` object.
pub type Reply = Result<Value, Value>;

pub struct Client {
    socket: Socket,
    last_id: i64,
    /// Read, and not asked for yet.
    inbox: VecDeque<Value>,
}

impl Client {
    pub async fn connect(relay: &Relay) -> Self {
        Self::connect_with(relay.port, &relay.token()).await
    }

    pub async fn connect_with(port: u16, token: &str) -> Self {
        let opened = link::open(port, &format!("/cdp?token={token}"), &[]).await;
        let socket = opened.unwrap_or_else(|status| panic!("/cdp was refused: {status}"));
        Self {
            socket,
            last_id: 0,
            inbox: VecDeque::new(),
        }
    }

    /// One request on the root session, to its reply.
    pub async fn request(&mut self, method: &str, params: Value) -> Reply {
        let id = self.send(None, method, params).await;
        self.reply_to(id).await
    }

    pub async fn request_in(&mut self, session: &str, method: &str, params: Value) -> Reply {
        let id = self.send(Some(session), method, params).await;
        self.reply_to(id).await
    }

    /// A request that is to succeed.
    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params)
            .await
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub async fn ok_in(&mut self, session: &str, method: &str, params: Value) -> Value {
        self.request_in(session, method, params)
            .await
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub async fn send(&mut self, session: Option<&str>, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            request["sessionId"] = session.into();
        }
        self.send_text(request.to_string()).await;
        self.last_id
    }

    pub async fn send_text(&mut self, text: impl Into<String>) {
        self.send_message(Message::text(text.into())).await;
    }

    /// A send may fail because the relay has closed; what it said then is still there to be read.
    pub async fn send_message(&mut self, message: Message) {
        let _ = within("a message is sent", self.socket.send(message)).await;
    }

    pub async fn reply_to(&mut self, id: i64) -> Reply {
        let reply = self
            .find(&format!("the reply to {id}"), |message| message["id"] == id)
            .await;
        match reply.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(reply["result"].clone()),
        }
    }

    /// The whole message of the next reply to no request in particular.
    pub async fn reply_without_id(&mut self) -> Value {
        self.find("a reply without an id", |message| {
            message.get("id").is_none() && message.get("error").is_some()
        })
        .await
    }

    /// The next event of this name, as the whole message.
    pub async fn event(&mut self, method: &str) -> Value {
        self.find(method, |message| message["method"] == method)
            .await
    }

    pub async fn event_in(&mut self, session: &str, method: &str) -> Value {
        self.find(method, |message| {
            message["method"] == method && message["sessionId"] == session
        })
        .await
    }

    /// Everything up to the reply to this request, in the order it came; what was there before is not in it.
    pub async fn through_reply(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Vec<Value> {
        self.inbox.clear();
        let id = self.send(session, method, params).await;
        let mut came = Vec::new();
        while came
            .last()
            .is_none_or(|message: &Value| message["id"] != id)
        {
            let message = within(method, self.read()).await;
            came.push(message.unwrap_or_else(|close| panic!("{method}: closed, {close:?}")));
        }
        came
    }

    /// All that the relay has said before it answers one more request: what is not in it was not said.
    pub async fn said_so_far(&mut self) -> Vec<Value> {
        let before: Vec<Value> = self.inbox.drain(..).collect();
        let mut said = self.through_reply(None, "Tabwire.unknown", json!({})).await;
        said.pop();
        [before, said].concat()
    }

    /// Reads until the relay closes.
    pub async fn closed(&mut self) -> Option<(u16, String)> {
        let closing = async {
            loop {
                match self.read().await {
                    Ok(message) => self.inbox.push_back(message),
                    Err(close) => return close,
                }
            }
        };
        within("the relay closes", closing).await
    }

    /// Says goodbye and waits for the relay's.
    pub async fn close(mut self) -> Option<(u16, String)> {
        let goodbye = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        let _ = self.socket.close(Some(goodbye)).await;
        self.closed().await
    }

    /// Pulls the cable: no close frame, no end of the stream, only a reset.
    pub fn cut(self) {
        self.socket.get_ref().set_zero_linger().unwrap();
    }

    /// The next message as text, for what is too large to be read as JSON in a debug build.
    pub async fn next_text(&mut self) -> String {
        match within("a text", self.socket.next()).await {
            Some(Ok(Message::Text(text))) => text.to_string(),
            other => panic!("no text: {other:?}"),
        }
    }

    async fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.inbox.iter().position(&fits) {
            return self.inbox.remove(at).unwrap();
        }
        let finding = async {
            loop {
                match self.read().await {
                    Ok(message) if fits(&message) => return message,
                    Ok(message) => self.inbox.push_back(message),
                    Err(close) => panic!("{what}: closed, {close:?}"),
                }
            }
        };
        within(what, finding).await
    }

    async fn read(&mut self) -> Result<Value, Option<(u16, String)>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(link::close_of(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }
}
