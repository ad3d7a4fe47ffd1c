//! A CDP client driven by a test. It reads only when the test asks for a message, so it can also
//! act as a client that does not read.

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
    /// Messages that were read while the test waited for another one.
    inbox: VecDeque<Value>,
}

impl Client {
    pub async fn connect(relay: &Relay) -> Self {
        Self::connect_with(relay.port, &relay.token()).await
    }

    /// Connects to the browser with this name.
    pub async fn connect_to(relay: &Relay, browser: &str) -> Self {
        let path = format!("{}&browser={browser}", relay.cdp_path());
        Self::open(relay.port, &path, &[]).await
    }

    /// Connects with a name of its own.
    pub async fn connect_as(relay: &Relay, name: &str) -> Self {
        let headers = [("X-Tabwire-Client", name)];
        Self::open(relay.port, &relay.cdp_path(), &headers).await
    }

    pub async fn connect_with(port: u16, token: &str) -> Self {
        Self::open(port, &format!("/cdp?token={token}"), &[]).await
    }

    /// Connects to an address that the relay has published.
    pub async fn connect_url(url: &str) -> Self {
        let (port, path) = url
            .strip_prefix("ws://127.0.0.1:")
            .and_then(|rest| rest.split_at_checked(rest.find('/')?))
            .unwrap_or_else(|| panic!("not a relay's address: {url}"));
        Self::open(port.parse().unwrap(), path, &[]).await
    }

    async fn open(port: u16, path: &str, headers: &[(&str, &str)]) -> Self {
        let opened = link::open(port, path, headers).await;
        let socket = opened.unwrap_or_else(|status| panic!("{path} responded with {status}"));
        Self {
            socket,
            last_id: 0,
            inbox: VecDeque::new(),
        }
    }

    /// Sends a request on the root session and waits for its reply.
    pub async fn request(&mut self, method: &str, params: Value) -> Reply {
        let id = self.send(None, method, params).await;
        self.reply_to(id).await
    }

    pub async fn request_in(&mut self, session: &str, method: &str, params: Value) -> Reply {
        let id = self.send(Some(session), method, params).await;
        self.reply_to(id).await
    }

    /// Sends a request that must succeed.
    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        let reply = self.request(method, params).await;
        reply.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub async fn ok_in(&mut self, session: &str, method: &str, params: Value) -> Value {
        let reply = self.request_in(session, method, params).await;
        reply.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a request that must fail, and returns the error object.
    pub async fn error(&mut self, method: &str, params: Value) -> Value {
        expect_error(method, self.request(method, params).await)
    }

    pub async fn error_in(&mut self, session: &str, method: &str, params: Value) -> Value {
        expect_error(method, self.request_in(session, method, params).await)
    }

    /// Sends a request and returns its id.
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

    /// Ignores failures: after the relay has closed the connection, its close frame can still be
    /// read.
    pub async fn send_message(&mut self, message: Message) {
        let _ = within("send a message", self.socket.send(message)).await;
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

    /// Waits for the reply to a request that must fail.
    pub async fn error_of(&mut self, id: i64) -> Value {
        expect_error(&format!("request {id}"), self.reply_to(id).await)
    }

    /// The next error that belongs to no request, as the whole message.
    pub async fn reply_without_id(&mut self) -> Value {
        self.find("an error without an id", |message| {
            message.get("id").is_none() && message.get("error").is_some()
        })
        .await
    }

    /// The next event with this name, as the whole message.
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

    /// Sends a request and returns everything received from then on, up to and including the reply.
    pub async fn messages_until_reply(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Vec<Value> {
        self.inbox.clear();
        let id = self.send(session, method, params).await;
        let mut messages = Vec::new();
        loop {
            messages.push(self.next_message().await);
            if messages.last().is_some_and(|message| message["id"] == id) {
                return messages;
            }
        }
    }

    /// Returns all unread messages. A round trip makes sure that everything the relay has sent by
    /// now is among them.
    pub async fn drain(&mut self) -> Vec<Value> {
        let unread: Vec<Value> = self.inbox.drain(..).collect();
        let mut received = self
            .messages_until_reply(None, "Tabwire.unknown", json!({}))
            .await;
        received.pop();
        [unread, received].concat()
    }

    /// Reads until the relay closes the connection, and returns the code and reason of its close
    /// frame.
    pub async fn wait_for_close(&mut self) -> Option<(u16, String)> {
        let closing = async {
            loop {
                match self.read().await {
                    Ok(message) => self.inbox.push_back(message),
                    Err(close) => return close,
                }
            }
        };
        within("the relay closes the connection", closing).await
    }

    /// Sends a close frame, and returns the relay's once the connection has ended.
    pub async fn close(mut self) -> Option<(u16, String)> {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        let _ = self.socket.close(Some(frame)).await;
        let close = self.wait_for_close().await;
        let ended = async { while self.socket.next().await.is_some() {} };
        within("the connection ends", ended).await;
        close
    }

    /// Resets the TCP connection, without a close frame.
    pub fn reset(self) {
        self.socket.get_ref().set_zero_linger().unwrap();
    }

    /// The next message as text, because a debug build takes too long to parse a large one.
    pub async fn next_text(&mut self) -> String {
        loop {
            match within("receive a text message", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return text.to_string(),
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("not a text message: {other:?}"),
            }
        }
    }

    /// The next message from the socket, whatever it is.
    pub async fn next_message(&mut self) -> Value {
        let message = within("receive a message", self.read()).await;
        message.unwrap_or_else(|close| panic!("closed: {close:?}"))
    }

    async fn find(&mut self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.inbox.iter().position(&matches) {
            return self.inbox.remove(at).unwrap();
        }
        let finding = async {
            loop {
                match self.read().await {
                    Ok(message) if matches(&message) => return message,
                    Ok(message) => self.inbox.push_back(message),
                    Err(close) => panic!("{what}: closed: {close:?}"),
                }
            }
        };
        within(what, finding).await
    }

    async fn read(&mut self) -> Result<Value, Option<(u16, String)>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(link::code_and_reason(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }
}

fn expect_error(request: &str, reply: Reply) -> Value {
    match reply {
        Ok(result) => panic!("{request} succeeded: {result}"),
        Err(error) => error,
    }
}
